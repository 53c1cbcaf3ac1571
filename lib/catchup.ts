import { settleBrokenRuns } from "./broken_run.ts";
import type { Candidate, Finding, GuardedJob } from "./candidate.ts";
import {
  check,
  type Checked,
  judgeAll,
  sameFile,
  stateFolders,
  type Survey,
} from "./catchup_look.ts";
import {
  type AgentVerdict,
  type CatchupOptions,
  type CatchupWorld,
  EXIT,
  type RoundResult,
} from "./catchup_world.ts";
import { circuitStatus } from "./circuit.ts";
import { formatInstant } from "./instant.ts";
import { slotWasMissed } from "./kickable.ts";
import { type AgentFile, readLaunchAgents } from "./launch_agent.ts";
import { disabledLabels } from "./launchctl.ts";
import { Round } from "./round.ts";
import { readCircuit, SHORT_LOCK_WAIT, updateState } from "./state.ts";
import { stopCode } from "./stop.ts";
import { WakeWatch } from "./wake.ts";

/**
 * One round: finds the jobs that were skipped and could have run, makes sure
 * that the allowance is back, and starts them one after another. With nothing
 * to do it spends nothing.
 *
 * @throws {Error} If the plists cannot be listed.
 */
export async function run(
  world: CatchupWorld,
  options: CatchupOptions,
): Promise<RoundResult> {
  const begun = world.host.now();
  const files = await readLaunchAgents(world.agentsFolder);
  if (files.length === 0) {
    world.tell(`no LaunchAgents in "${world.agentsFolder}"`);
  }
  const folders = stateFolders(world, files);
  for (const folder of folders) await settleBrokenRuns(folder, world.host);
  const { findings, look } = await judgeAll(world, options, files, begun);
  const candidates = inOrder(findings.flatMap((f) => f.candidate ?? []));
  const survey: Survey = {
    begun,
    paths: pathsByLabel(files),
    disabled: candidates.length > 0 && world.launchctl !== null
      ? await disabledLabels(world.launchctl)
      : null,
  };
  const checked: Checked[] = [];
  for (const candidate of candidates) {
    if (world.stop.aborted) break;
    const books = look.books(candidate.folder);
    checked.push(await check(world, candidate, books, survey));
  }
  dropTwins(checked);
  const waits = new Map<string, string | null>();
  for (const { folder } of candidates) {
    waits.set(folder, await openWords(world, folder));
  }
  const result: RoundResult = {
    candidates: candidates.map((candidate) => candidate.agent.label),
    kicked: 0,
    failed: 0,
    agents: findings.map((finding) =>
      verdictOn(finding, checked, survey, waits)
    ),
    exit: EXIT.done,
    findings,
  };
  if (options.dryRun) return result;
  const stopped = stopCode(world.stop);
  if (stopped !== null) return { ...result, exit: stopped };
  for (const { candidate, whyNot } of checked) {
    if (whyNot !== null) world.tell(`${candidate.agent.label}: ${whyNot}`);
  }
  const jobs = findings.flatMap((finding) => finding.job ?? []);
  const ready = checked.filter((one) => one.whyNot === null);
  if (ready.length > 0) {
    const moment = { now: begun, timeZone: world.host.timeZone() };
    const lastRound = look.books(world.folder).heartbeats.get("catchup");
    const wakes = new WakeWatch(
      world.host,
      ready.some((one) => slotWasMissed(one.candidate, lastRound, moment)),
    );
    const rounds = [...folders].map((folder) => ({
      round: new Round(world, options, folder, survey, wakes, result),
      jobs: jobs.filter((job) => job.folder === folder),
      owed: ready.filter((one) => one.candidate.folder === folder),
    }));
    await workThrough(rounds);
  }
  for (const folder of folders) await beat(world, folder, begun);
  return result;
}

function pathsByLabel(files: readonly AgentFile[]): Map<string, string[]> {
  const paths = new Map<string, string[]>();
  for (const file of files) {
    if (!("agent" in file)) continue;
    const { label } = file.agent;
    paths.set(label, [...paths.get(label) ?? [], file.path]);
  }
  return paths;
}

/** First what earlier rounds left running, in every folder, then what is owed. */
async function workThrough(
  rounds: { round: Round; jobs: GuardedJob[]; owed: Checked[] }[],
): Promise<void> {
  for (const { round, jobs } of rounds) {
    if (!await round.awaitLeftovers(jobs)) return;
  }
  for (const { round, owed } of rounds) {
    if (!await round.work(owed)) return;
  }
}

/** Priority jobs first, then the oldest skip. */
function inOrder(candidates: readonly Candidate[]): Candidate[] {
  return [...candidates].sort((a, b) =>
    Number(b.options.priority) - Number(a.options.priority) ||
    a.skip.ts - b.skip.ts
  );
}

/** Two plists whose jobs share a marker label share their skip: one kick makes up both. */
function dropTwins(checked: Checked[]): void {
  const seen = new Map<string, string>();
  for (const one of checked) {
    if (one.whyNot !== null) continue;
    const { folder, options, agent } = one.candidate;
    const key = JSON.stringify([folder, options.label]);
    const twin = seen.get(key);
    if (twin === undefined) seen.set(key, agent.label);
    else one.whyNot = `shares the job label of ${twin}, which is kicked`;
  }
}

/** What the circuit in a folder says to candidates that are ready; null if it is closed. */
async function openWords(
  { host }: CatchupWorld,
  folder: string,
): Promise<string | null> {
  const circuit = await readCircuit(folder, host);
  const now = host.now();
  if (!circuitStatus(circuit, now).is_open) return null;
  const until = formatInstant(circuit.open_until, now, host.timeZone());
  return `waits until the circuit closes, ${until} at the latest`;
}

function verdictOn(
  finding: Finding,
  checked: readonly Checked[],
  { paths }: Survey,
  waits: ReadonlyMap<string, string | null>,
): AgentVerdict {
  const one = checked.find((c) => c.candidate === finding.candidate);
  const { label, path } = finding;
  const others = (paths.get(label) ?? []).filter((other) => other !== path);
  const inForce = one?.status?.path ?? null;
  const why = [
    finding.why,
    one?.whyNot,
    one?.whyNot === null ? waits.get(one.candidate.folder) : null,
    others.length > 0
      ? `its label is that of "${others.join('", "')}" too`
      : "",
    one?.whyNot === null && inForce !== null && !sameFile(inForce, path)
      ? `launchd has it from "${inForce}"`
      : "",
  ].filter(Boolean).join("; ");
  return {
    label,
    path,
    candidate: one !== undefined,
    kickable: one !== undefined && one.whyNot === null,
    why,
  };
}

/** Leaves the time of this round on the books; not written, nothing is lost. */
async function beat(
  { host }: CatchupWorld,
  folder: string,
  begun: number,
): Promise<void> {
  await updateState(folder, host, ({ books }) => ({
    books: {
      ...books,
      heartbeats: new Map(books.heartbeats).set("catchup", Math.floor(begun)),
    },
    result: null,
  }), SHORT_LOCK_WAIT);
}
