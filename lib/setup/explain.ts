import type { Books } from "../books.ts";
import { describeSchedule } from "../calendar.ts";
import type { Finding } from "../candidate.ts";
import { run } from "../catchup.ts";
import type { AgentVerdict } from "../catchup_world.ts";
import { type Circuit, circuitStatus } from "../circuit.ts";
import { formatDuration } from "../duration.ts";
import { formatInstant, zoned } from "../instant.ts";
import { kicksToday } from "../kickable.ts";
import { type LaunchAgent, logPaths } from "../launch_agent.ts";
import { launchctlStatus } from "../launchctl.ts";
import { latestMarkerInLog } from "../log_tail.ts";
import type { JobMarker } from "../marker.ts";
import { reasonOf } from "../reason.ts";
import type { ServiceStatus } from "../service.ts";
import { nextSlot, whyNoSlotPassed } from "../slot.ts";
import { readCircuit } from "../state.ts";
import type { CommandOf } from "./arguments.ts";
import { agentFiles, findFile } from "./find_agents.ts";
import { typed } from "./guard_path.ts";
import { type Guarded, guardedJobs } from "./guarded.ts";
import { Refusal, SETUP_EXIT, type SetupWorld } from "./setup_world.ts";
import { booksOf } from "./state_look.ts";

/** A fact, and what it is about. */
type Fact = [about: string, words: string];

/**
 * Shows the chain of facts behind what the next round would do with one job;
 * the exit code.
 */
export async function explain(
  world: SetupWorld,
  command: CommandOf<"explain">,
): Promise<number> {
  const files = await agentFiles(world);
  let path: string;
  try {
    path = findFile(world, files, command.label);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    world.tell(error.message);
    return SETUP_EXIT.wrong;
  }
  const file = files.find((file) => file.path === path);
  const facts: Fact[] = [["plist", path]];
  if (file === undefined) {
    facts.push(["next round", `it is not in "${world.agentsFolder}"`]);
  } else if ("error" in file) {
    facts.push(["next round", `nothing: cannot be read: ${file.error}`]);
  } else {
    facts.push(...await factsOf(world, file.agent, command.window));
  }
  const width = Math.max(...facts.map(([about]) => about.length));
  world.tell([
    command.label,
    ...facts.map(([about, words]) => `  ${about.padEnd(width)}  ${words}`),
  ].join("\n"));
  return SETUP_EXIT.done;
}

async function factsOf(
  world: SetupWorld,
  agent: LaunchAgent,
  window: number | null,
): Promise<Fact[]> {
  const { host } = world;
  const now = host.now();
  const here = zoned(now, host.timeZone());
  const at = (ts: number): string => formatInstant(ts, now, host.timeZone());
  const next = nextSlot(agent.calendar, here);
  const facts: Fact[] = [[
    "starts",
    describeSchedule(agent) +
    (next === null ? "" : `; next ${at(next.epochMilliseconds / 1000)}`),
  ]];
  const [job] = guardedJobs(world, [{ path: agent.path, agent }]);
  if (job === undefined) {
    facts.push(
      ["guard", "not started through it"],
      [
        "next round",
        `nothing; ${
          typed(world, "quota_catchup")
        } --wrap ${agent.label} puts it there`,
      ],
    );
    return facts;
  }
  const books = await booksOf(world, job.folder);
  const circuit = await readCircuit(job.folder, host);
  const round = await run(world.round(), {
    dryRun: true,
    noProbe: true,
    window,
  });
  const verdict = round.agents.find(({ path }) => path === agent.path);
  const finding = round.findings.find(({ path }) => path === agent.path);
  facts.push(
    ["guard", guardWords(job)],
    ["state", job.folder],
    ...logFacts(job, at),
    ["books", booksWords(job, books, at)],
    ["newest", finding?.outcome ? markerWords(finding.outcome, at) : "nothing"],
    [
      "slot",
      whyNoSlotPassed(agent, here) ?? "one has passed today",
    ],
    ["launchd", await launchdWords(world, agent)],
    ["kicks", kickWords(job, books, now, host.timeZone(), at)],
    ["circuit", circuitWords(circuit, now, at)],
    ["next round", roundWords(verdict, finding, circuit, now, at)],
  );
  return facts;
}

function guardWords({ options }: Guarded): string {
  return [
    `--job ${options.label}`,
    ...(options.priority ? ["--priority: may send the probe"] : []),
    ...(options.expires === null ? [] : [
      options.expires === 0
        ? "--expires 0: never caught up"
        : `--expires: not caught up later than ${
          formatDuration(options.expires)
        } after a skip`,
    ]),
    ...(options.once ? ["--once: never owed once started"] : []),
    ...(options.resumable ? ["--resumable: owed after an answer, too"] : []),
  ].join(", ");
}

type At = (ts: number) => string;

function logFacts({ agent, options }: Guarded, at: At): Fact[] {
  const paths = logPaths(agent);
  if (paths.length === 0) {
    return [["log", "none: the books alone know what became of it"]];
  }
  return paths.map((path) => {
    let words: string;
    try {
      const marker = latestMarkerInLog(path, options.label);
      words = marker === null ? "no marker of it" : markerWords(marker, at);
    } catch (error) {
      words = reasonOf(error);
    }
    return ["log", `${path}: ${words}`];
  });
}

function markerWords(marker: JobMarker, at: At): string {
  const { kind, ts, reason, exit, end } = marker;
  return [
    `${kind} ${at(ts)}`,
    ...(reason === null ? [] : [`reason ${reason}`]),
    ...(exit === null ? [] : [`exit ${exit}`]),
    ...(end === null ? [] : [`end ${end}`]),
  ].join(", ");
}

function booksWords({ options }: Guarded, books: Books, at: At): string {
  const entry = books.jobs.get(options.label);
  if (entry === undefined) return "nothing of it";
  const { outcome, ts, calls, exit, reason } = entry;
  return [
    `${outcome} ${at(ts)}`,
    ...(reason === null ? [] : [`reason ${reason}`]),
    ...(exit === null ? [] : [`exit ${exit}`]),
    calls === 1 ? "1 call" : `${calls} calls`,
  ].join(", ");
}

async function launchdWords(
  world: SetupWorld,
  agent: LaunchAgent,
): Promise<string> {
  if (world.launchctl === null) return "there is no launchctl here";
  const status = await launchctlStatus(world.launchctl, agent.label);
  return status.found === "yes"
    ? `loaded, ${serviceWords(status)}`
    : status.problem ?? "does not answer";
}

function serviceWords(status: ServiceStatus): string {
  const { state, runs, lastExit, lastSignal, neverExited } = status;
  return [
    state ?? "state unknown",
    ...(runs === null ? [] : [runs === 1 ? "1 start" : `${runs} starts`]),
    ...(neverExited ? ["none has ended yet"] : []),
    ...(lastExit === null ? [] : [`last exit ${lastExit}`]),
    ...(lastSignal === null ? [] : [`ended by signal ${lastSignal}`]),
  ].join(", ");
}

function kickWords(
  { options }: Guarded,
  books: Books,
  now: number,
  timeZone: string,
  at: At,
): string {
  const kick = books.kicks.get(options.label);
  if (kick === undefined) return "none";
  return `last ${at(kick.at)} for the skip of ${at(kick.skip_ts)}, ${
    kicksToday(kick, kick.skip_ts, { now, timeZone })
  } today`;
}

function circuitWords(circuit: Circuit, now: number, at: At): string {
  const { is_open, reason, remaining_seconds } = circuitStatus(circuit, now);
  if (!is_open) return "closed";
  const by = circuit.opened_by?.job ?? null;
  return `open until ${at(circuit.open_until)} (${
    formatDuration(remaining_seconds)
  }), reason ${reason}${by === null ? "" : `, by job ${by}`}`;
}

function roundWords(
  verdict: AgentVerdict | undefined,
  finding: Finding | undefined,
  circuit: Circuit,
  now: number,
  at: At,
): string {
  if (verdict === undefined || finding === undefined) return "nothing";
  if (!verdict.candidate) return `nothing: ${verdict.why}`;
  if (!verdict.kickable) return `waits: ${verdict.why}`;
  return circuit.open_until > now
    ? `waits until the circuit closes, ${
      at(circuit.open_until)
    }: ${verdict.why}`
    : `kicks it if claude answers: ${verdict.why}`;
}
