import { resolve } from "@std/path/resolve";
import { type Books, emptyBooks } from "./books.ts";
import {
  type Candidate,
  findCandidates,
  type Finding,
  type Judgement,
} from "./candidate.ts";
import type { CatchupOptions, CatchupWorld } from "./catchup_world.ts";
import { whyNotByLaunchd, whyNotNow } from "./kickable.ts";
import { type AgentFile, isGuarded, type LaunchAgent } from "./launch_agent.ts";
import { launchctlStatus } from "./launchctl.ts";
import type { ServiceStatus } from "./service.ts";
import { ENV } from "./settings.ts";
import { readBooks } from "./state.ts";
import { stateFolder } from "./state_folder.ts";

/** The books of each state folder, read once, without the lock. */
export class Look {
  readonly #books = new Map<string, Books>();

  /** Reads them. */
  static async at(world: CatchupWorld, folders: Set<string>): Promise<Look> {
    const look = new Look();
    for (const folder of folders) {
      look.#books.set(folder, await readBooks(folder, world.host));
    }
    return look;
  }

  /** The books in a state folder. */
  books(folder: string): Books {
    return this.#books.get(folder) ?? emptyBooks();
  }
}

/**
 * An agent's state folder: from its own environment, since launchd's jobs share
 * none.
 *
 * @param unnamed That of an agent that names none
 */
export function folderOf(agent: LaunchAgent, unnamed: string): string {
  const { [ENV.folder]: set, HOME } = agent.environment;
  // A relative one counts from where launchd starts the job.
  const whole = (path: string): string =>
    resolve("/", agent.workingDirectory ?? "/", path);
  if (set) return whole(set);
  return HOME
    ? stateFolder((name) => name === "HOME" ? whole(HOME) : undefined)
    : unnamed;
}

/**
 * The state folder that is seen under launchd if nothing names one: a variable
 * of this terminal does not reach it.
 */
export function ownFolder({ host }: Pick<CatchupWorld, "host">): string {
  return stateFolder((name) => name === "HOME" ? host.env(name) : undefined);
}

/** The state folders of guarded jobs, and this world's own. */
export function stateFolders(
  world: Pick<CatchupWorld, "folder" | "host">,
  files: readonly AgentFile[],
): Set<string> {
  const unnamed = folderOfUnnamed(world, files);
  const agents = guardedAgents(files);
  return new Set([
    world.folder,
    ...agents.map((agent) => folderOf(agent, unnamed)),
  ]);
}

function guardedAgents(files: readonly AgentFile[]): LaunchAgent[] {
  return files.flatMap((file) =>
    "agent" in file && isGuarded(file.agent) ? [file.agent] : []
  );
}

/**
 * The state folder of jobs that name none. It is this world's, by `launchctl
 * setenv` say, unless other jobs name that one: then somebody looks at a second
 * account.
 */
function folderOfUnnamed(
  world: Pick<CatchupWorld, "folder" | "host">,
  files: readonly AgentFile[],
): string {
  const named = guardedAgents(files).some((agent) =>
    folderOf(agent, "") === world.folder
  );
  return named && world.host.env("HOME") ? ownFolder(world) : world.folder;
}

/** What was found out once for the whole round. */
export interface Survey {
  /** When it began, epoch seconds. */
  begun: number;
  /** The plists of each label: launchd has a job from one of them only. */
  paths: ReadonlyMap<string, readonly string[]>;
  /** By `launchctl disable` and `enable`; null if launchd could not be asked. */
  disabled: ReadonlyMap<string, boolean> | null;
}

/** Judges plists as things stand. */
export async function judgeAll(
  world: CatchupWorld,
  options: CatchupOptions,
  files: readonly AgentFile[],
  begun: number,
): Promise<{ findings: Finding[]; look: Look }> {
  const look = await Look.at(world, stateFolders(world, files));
  const unnamed = folderOfUnnamed(world, files);
  const judgement: Judgement = {
    now: world.host.now(),
    begun,
    timeZone: world.host.timeZone(),
    window: options.window,
    folderOf: (agent) => folderOf(agent, unnamed),
    booksOf: (folder) => look.books(folder),
  };
  return { findings: findCandidates(files, judgement), look };
}

/** A candidate, and what speaks against kicking it now. */
export interface Checked {
  /** The job and its skip. */
  candidate: Candidate;
  /** Null if nothing does. */
  whyNot: string | null;
  /** Null if launchd was not asked. */
  status: ServiceStatus | null;
}

/** Sees what speaks against kicking a candidate now: first the books, then launchd. */
export async function check(
  world: CatchupWorld,
  candidate: Candidate,
  books: Books,
  survey: Survey,
): Promise<Checked> {
  const { host, launchctl } = world;
  const { label, path } = candidate.agent;
  const moment = { now: host.now(), timeZone: host.timeZone() };
  const onBooks = whyNotNow(candidate, books, moment);
  if (onBooks !== null) return { candidate, whyNot: onBooks, status: null };
  if (launchctl === null) {
    const whyNot = "there is no launchctl here to start it with";
    return { candidate, whyNot, status: null };
  }
  const status = await launchctlStatus(launchctl, label);
  const overruledBy = plistInForce(survey.paths.get(label) ?? [], path, status);
  const view = { status, disabled: survey.disabled, overruledBy };
  const whyNot = whyNotByLaunchd(candidate, view, books, moment);
  return { candidate, whyNot, status };
}

/** Of several plists with one label, the one that launchd has loaded, if it is not this. */
function plistInForce(
  paths: readonly string[],
  path: string,
  status: ServiceStatus,
): string | null {
  if (paths.length < 2) return null;
  const inForce = status.path ?? paths[0] ?? path;
  return sameFile(inForce, path) ? null : inForce;
}

/** launchd may know a file by another of its names. */
export function sameFile(one: string, other: string): boolean {
  if (one === other) return true;
  try {
    return Deno.realPathSync(one) === Deno.realPathSync(other);
  } catch {
    return false;
  }
}
