// State folders, claude, and the catch-up itself.

import { join } from "@std/path/join";
import { formatDuration } from "../duration.ts";
import { formatInstant } from "../instant.ts";
import {
  type AgentFile,
  isCatchup,
  type LaunchAgent,
} from "../launch_agent.ts";
import { findRealClaude, LAUNCHD_PATH } from "../real_claude.ts";
import { reasonOf } from "../reason.ts";
import { ENV } from "../settings.ts";
import { shimPath } from "../shim.ts";
import { readCircuit } from "../state.ts";
import { unknownWordings } from "../unknown_log.ts";
import { CATCHUP_LABEL } from "./catchup_agent.ts";
import { type Finding, note, ok, wrong } from "./finding.ts";
import { typed } from "./guard_path.ts";
import type { Guarded } from "./guarded.ts";
import type { SetupWorld } from "./setup_world.ts";
import { booksOf, jsonProblem } from "./state_look.ts";

/** A round is late after so many intervals. */
const LATE_INTERVALS = 3;

/** The real claude, as each environment of a job finds it. */
export function checkClaude(
  world: SetupWorld,
  jobs: readonly Guarded[],
): Finding[] {
  const home = world.host.env("HOME") ?? "";
  const found = new Map<string, string[]>();
  const findings: Finding[] = [];
  for (const { agent, folder, start } of jobs) {
    const env: Record<string, string> = {
      HOME: home,
      PATH: LAUNCHD_PATH,
      ...agent.environment,
    };
    const own = [shimPath(folder), ...start.slice(-1)];
    const claude = findRealClaude((name) => env[name] || undefined, own);
    const named = env[ENV.realClaude];
    if (named && named !== claude) {
      findings.push(
        note(
          agent.label,
          `${ENV.realClaude} names "${named}", which is passed over`,
          "name the real claude by its whole path, or take it out",
        ),
      );
    }
    if (claude === null) {
      findings.push(
        wrong(
          agent.label,
          "there is no claude where it looks: its PATH, ~/.local/bin, ~/.claude/local, /opt/homebrew/bin, /usr/local/bin",
          `install claude, or name it in EnvironmentVariables as ${ENV.realClaude}`,
        ),
      );
    } else found.set(claude, [...found.get(claude) ?? [], agent.label]);
  }
  for (const [claude, labels] of found) {
    const jobs = found.size === 1 ? "" : ` (${labels.join(", ")})`;
    findings.push(ok("claude", `the real one is "${claude}"${jobs}`));
  }
  return findings;
}

/** The state folders that jobs use, each by itself and against each other. */
export async function checkFolders(
  world: SetupWorld,
  jobs: readonly Guarded[],
  agents: readonly LaunchAgent[],
): Promise<Finding[]> {
  const folders = new Map<string, Guarded[]>();
  for (const job of jobs) {
    folders.set(job.folder, [...folders.get(job.folder) ?? [], job]);
  }
  const findings: Finding[] = [];
  const here = world.host.env(ENV.folder);
  if (here !== undefined && jobs.length > 0 && !folders.has(world.folder)) {
    findings.push(
      wrong(
        "state",
        `${ENV.folder} in this terminal is "${here}", and no job uses that folder`,
        `unset ${ENV.folder}, or put it into EnvironmentVariables of the jobs`,
      ),
    );
  }
  if (folders.size > 1) {
    findings.push(
      note(
        "state",
        `${folders.size} state folders are in use: ${
          [...folders].map(([folder, jobs]) => `"${folder}" by ${names(jobs)}`)
            .join("; ")
        }`,
        "fine for as many accounts; else take CLAUDE_QUOTA_DIR out of the plists",
      ),
    );
  }
  for (const folder of new Set([...folders.keys(), world.folder])) {
    findings.push(
      ...await checkFolder(world, folder, folders.get(folder) ?? [], agents),
    );
  }
  return findings;
}

function names(jobs: readonly Guarded[]): string {
  return jobs.map(({ agent }) => agent.label).join(", ");
}

async function checkFolder(
  world: SetupWorld,
  folder: string,
  jobs: readonly Guarded[],
  agents: readonly LaunchAgent[],
): Promise<Finding[]> {
  let info: Deno.FileInfo;
  try {
    info = Deno.lstatSync(folder);
  } catch (error) {
    return error instanceof Deno.errors.NotFound
      ? [ok("state", `"${folder}" is made when the first job starts`)]
      : [wrong("state", `"${folder}": ${reasonOf(error)}`, "see who owns it")];
  }
  if (!info.isDirectory && !info.isSymlink) {
    return [wrong("state", `"${folder}" is no folder`, "move it away")];
  }
  const { uid } = world;
  if (uid !== null && info.uid !== null && info.uid !== uid) {
    return [
      wrong(
        "state",
        `"${folder}" belongs to user ${info.uid}`,
        `sudo chown -R ${uid} '${folder}'`,
      ),
    ];
  }
  const findings: Finding[] = [];
  for (const name of ["state.json", "jobs.json"]) {
    const problem = jsonProblem(join(folder, name));
    if (problem === null) continue;
    findings.push(
      wrong(
        "state",
        `"${
          join(folder, name)
        }" ${problem}: the next job moves it aside and begins anew`,
        "look at it while it is there",
      ),
    );
  }
  if (findings.length > 0) return findings;
  if (info.mode !== null && (info.mode & 0o077) !== 0 && !info.isSymlink) {
    findings.push(
      note("state", `"${folder}" is open to others`, `chmod 700 '${folder}'`),
    );
  }
  findings.push(...await checkContent(world, folder, jobs, agents));
  return findings;
}

async function checkContent(
  world: SetupWorld,
  folder: string,
  jobs: readonly Guarded[],
  agents: readonly LaunchAgent[],
): Promise<Finding[]> {
  const { host } = world;
  const now = host.now();
  const circuit = await readCircuit(folder, host);
  const books = await booksOf(world, folder);
  const claimed = new Set(jobs.map(({ options }) => options.label));
  const here = new Set(agents.map(({ label }) => label));
  const unclaimed = [...books.jobs.keys()].filter((job) => !claimed.has(job));
  const unwrapped = unclaimed.filter((job) => here.has(job));
  const strangers = unclaimed.filter((job) => !here.has(job));
  const unknown = unknownWordings(folder);
  const open = circuit.open_until > now;
  return [
    ok(
      "state",
      `"${folder}", circuit ${
        open
          ? `open until ${
            formatInstant(circuit.open_until, now, host.timeZone())
          }`
          : "closed"
      }`,
    ),
    ...(open && circuit.hold > now
      ? [
        note(
          "state",
          "the circuit is held open by hand",
          `${typed(world, "quota_guard")} --close ends that`,
        ),
      ]
      : []),
    ...(unwrapped.length > 0
      ? [
        note(
          "state",
          `no longer behind the guard: ${unwrapped.join(", ")}`,
          `${typed(world, "quota_catchup")} --wrap ${
            unwrapped.join(" ")
          } puts it back`,
        ),
      ]
      : []),
    ...(strangers.length > 0
      ? [
        note(
          "state",
          `on the books in "${folder}" without a plist: ${
            strangers.join(", ")
          }`,
          "renamed, removed, or started from elsewhere: nothing catches them up",
        ),
      ]
      : []),
    ...(unknown.length > 0
      ? [
        note(
          "state",
          `${unknown.length} refusals in no known wording, the newest "${
            unknown.at(-1)
          }"`,
          `see "${join(folder, "unknown.log")}"; if one is a limit, report it`,
        ),
      ]
      : []),
  ];
}

/** Whether anything catches up. */
export async function checkCatchup(
  world: SetupWorld,
  files: readonly AgentFile[],
): Promise<Finding[]> {
  const agents = files.flatMap((file) =>
    "agent" in file && isCatchup(file.agent) ? [file.agent] : []
  );
  const [agent, second] = agents;
  if (agent === undefined) {
    return [
      wrong(
        "catch-up",
        `no agent in "${world.agentsFolder}" starts it: nothing is caught up`,
        `${typed(world, "quota_catchup")} --install`,
      ),
    ];
  }
  if (second !== undefined) {
    return [
      note(
        "catch-up",
        `started by more than one agent: ${
          agents.map(({ label }) => label).join(", ")
        }`,
        `keep one of them, such as ${CATCHUP_LABEL}`,
      ),
    ];
  }
  const { startInterval, label } = agent;
  if (startInterval === null) return [ok("catch-up", `started by ${label}`)];
  const now = world.host.now();
  const books = await booksOf(world, world.folder);
  const last = books.heartbeats.get("catchup") ?? 0;
  const every = `every ${formatDuration(startInterval)} by ${label}`;
  if (last === 0) {
    return [
      note(
        "catch-up",
        `started ${every}; it has not come by yet`,
        "if that stays so, see its log",
      ),
    ];
  }
  const ago = `${formatDuration(now - last)} ago`;
  return now - last > LATE_INTERVALS * startInterval
    ? [
      note(
        "catch-up",
        `started ${every}, but was here last ${ago}`,
        "fine if the Mac slept; else see its log",
      ),
    ]
    : [ok("catch-up", `started ${every}, was here ${ago}`)];
}
