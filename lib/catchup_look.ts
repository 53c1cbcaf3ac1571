import { type Books, emptyBooks } from "./books.ts";
import {
  type Candidate,
  findCandidates,
  type Finding,
  type Judgement,
} from "./candidate.ts";
import type { CatchupOptions, CatchupWorld } from "./catchup_world.ts";
import { type Circuit, closedCircuit } from "./circuit.ts";
import { whyNotByLaunchd, whyNotNow } from "./kickable.ts";
import type { AgentFile, LaunchAgent } from "./launch_agent.ts";
import { launchctlStatus } from "./launchctl.ts";
import type { ServiceStatus } from "./service.ts";
import { ENV } from "./settings.ts";
import { readBooks, readCircuit, stateFolder } from "./state.ts";

/** One look at everything, without the lock. */
export class Look {
  readonly #circuits = new Map<string, Circuit>();
  readonly #books = new Map<string, Books>();

  /** Reads the state of each folder once. */
  static async at(world: CatchupWorld, folders: Set<string>): Promise<Look> {
    const look = new Look();
    for (const folder of folders) {
      look.#circuits.set(folder, await readCircuit(folder, world.host));
      look.#books.set(folder, await readBooks(folder, world.host));
    }
    return look;
  }

  /** The circuit in a state folder. */
  circuit(folder: string): Circuit {
    return this.#circuits.get(folder) ?? closedCircuit();
  }

  /** The books in a state folder. */
  books(folder: string): Books {
    return this.#books.get(folder) ?? emptyBooks();
  }
}

/** An agent's state folder: from its own environment, since launchd's jobs share none. */
export function folderOf(world: CatchupWorld, agent: LaunchAgent): string {
  const set = agent.environment[ENV.folder];
  return set ? stateFolder(() => set) : world.folder;
}

/** Judges all plists as things stand. */
export async function judgeAll(
  world: CatchupWorld,
  options: CatchupOptions,
  files: readonly AgentFile[],
): Promise<{ findings: Finding[]; look: Look }> {
  const agents = files.flatMap((file) => "agent" in file ? [file.agent] : []);
  const look = await Look.at(
    world,
    new Set([world.folder, ...agents.map((agent) => folderOf(world, agent))]),
  );
  const judgement: Judgement = {
    now: world.host.now(),
    timeZone: world.host.timeZone(),
    window: options.window,
    folderOf: (agent) => folderOf(world, agent),
    booksOf: (folder) => look.books(folder),
  };
  return { findings: findCandidates(files, judgement), look };
}

/** A candidate, and what speaks against kicking it now. */
export interface Checked {
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
  disabled: ReadonlyMap<string, boolean> | null,
): Promise<Checked> {
  const { host, launchctl } = world;
  const onBooks = whyNotNow(candidate, books, host.now(), host.timeZone());
  if (onBooks !== null) return { candidate, whyNot: onBooks, status: null };
  if (launchctl === null) {
    const whyNot = "there is no launchctl here to start it with";
    return { candidate, whyNot, status: null };
  }
  const status = await launchctlStatus(launchctl, candidate.agent.label);
  const kick = books.kicks.get(candidate.options.label);
  const whyNot = whyNotByLaunchd(candidate, status, disabled, kick);
  return { candidate, whyNot, status };
}
