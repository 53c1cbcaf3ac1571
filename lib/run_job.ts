import { type JobEntry, recordJob } from "./books.ts";
import { type ChildEnd, runInherited } from "./child.ts";
import { circuitStatus } from "./circuit.ts";
import {
  circuitNow,
  claimPriorityProbe,
  EXIT_OWN_TROUBLE,
  type Guard,
  isOpen,
  lockWait,
  namedHost,
  refusalOf,
  say,
  sayTrouble,
} from "./guard.ts";
import type { Job } from "./guard_arguments.ts";
import { writeStderr } from "./host.ts";
import {
  priorityProbeMarker,
  ranMarker,
  refusedMarker,
  skippedMarker,
} from "./marker.ts";
import { reasonOf } from "./reason.ts";
import { endRun, readOwnRun, sweepRuns } from "./run_file.ts";
import { LOCK_WAIT, updateState } from "./state.ts";
import { type Tally, verdict, worstEnding } from "./tally.ts";
import { prepareRun, runEnvironment, type Watch } from "./watch.ts";

/** A skip that a busy lock keeps off the books stands in the log. */
const SKIP_LOCK_WAIT = 2.5;
const NO_CALLS: Tally = { probe: false, calls: [] };

/**
 * Runs a job, or skips it while the circuit is open, and says in its log which.
 *
 * @returns The job's exit code; that of a skip if it was skipped
 */
export async function runJob(guard: Guard, job: Job): Promise<number> {
  const circuit = await circuitNow(guard);
  const now = guard.host.now();
  if (!circuitStatus(circuit, now).is_open) {
    guard.signals.listen();
    return await startJob(guard, job, prepareRun(guard, false, job), false);
  }
  const refusal = refusalOf(circuit, now);
  if (job.priority) guard.signals.listen();
  const claimed = job.priority ? await claimPriorityProbe(guard) : false;
  if (claimed === true && guard.signals.code === null) {
    const run = prepareRun(guard, true, job);
    // Unwatched it could tell nothing, and would be owed even if it was answered.
    if (run.id !== null) {
      guard.host.say(
        priorityProbeMarker(job.label, refusal, guard.host.now()),
      );
      return await startJob(guard, job, run, true);
    }
  }
  const ts = Math.floor(guard.host.now());
  writeJobMarker(skippedMarker(job.label, refusal, ts));
  await recordOutcome(guard, job.label, {
    outcome: "skipped",
    ts,
    exit: null,
    reason: refusal.reason,
    ending: null,
    calls: 0,
    seconds: null,
    owed_from: null,
  }, claimed === null ? 0 : SKIP_LOCK_WAIT);
  return guard.signals.code ?? job.skipExit;
}

async function recordOutcome(
  guard: Guard,
  label: string,
  entry: JobEntry,
  seconds: number,
): Promise<void> {
  if (guard.folder === null) return;
  const recorded = await updateState(
    guard.folder,
    namedHost(guard),
    (state) => ({
      books: recordJob(state.books, label, entry),
      quick: true,
      result: null,
    }),
    lockWait(guard, seconds),
  );
  if (!recorded.done) {
    sayTrouble(
      guard,
      `job ${label} is in its log but not on the books: ${recorded.why}`,
    );
  }
}

async function startJob(
  guard: Guard,
  job: Job,
  run: Watch,
  probe: boolean,
): Promise<number> {
  const { host, folder, signals } = guard;
  using _held = run.held;
  const started = host.monotonic();
  const env = runEnvironment(guard, job.label, run, probe);
  const attempt = async (): Promise<ChildEnd> => {
    const { command, timeout } = job;
    const isClaude = command[0] === "claude" || command[0] === run.shim;
    const end = isClaude && run.shim !== null
      ? await claudeItself(guard, job, env)
      : await runInherited(command, signals, { env, timeout });
    sayEnd(guard, job, end);
    return end;
  };
  const { gate } = job;
  const end = gate === null
    ? await attempt()
    : await import("./attempts.ts").then(({ runAttempts }) =>
      runAttempts(guard, gate, run.id, attempt)
    );
  const tally = tallyOf(guard, run);
  const circuitOpen = probe && end.code !== 0 && tally.calls.length === 0 &&
    await isOpen(guard);
  const outcome = verdict(tally, {
    exit: end.code,
    heldProbe: probe,
    circuitOpen,
    once: job.once,
    resumable: job.resumable,
    started: end.started,
  });
  const ts = Math.floor(host.now());
  const skipped = outcome.kind === "SKIPPED";
  if (!skipped && outcome.end === "budget") {
    say(guard, "budget stop: raise --max-budget-usd or do fewer items a run");
  }
  // The marker first: the log has it whatever happens to the books.
  writeJobMarker(
    skipped
      ? refusedMarker(job.label, outcome.reason, end.code, ts)
      : ranMarker(job.label, end.code, outcome.end, ts),
  );
  if (folder !== null && run.id !== null) endRun(folder, run.id);
  await recordOutcome(guard, job.label, {
    outcome: skipped ? "skipped" : "ran",
    ts,
    exit: end.code,
    reason: skipped ? outcome.reason : null,
    ending: worstEnding(tally),
    calls: tally.calls.length,
    seconds: Math.round(host.monotonic() - started),
    owed_from: skipped ? outcome.owedFrom : null,
  }, LOCK_WAIT);
  // A job without a call shall cost as little as it can.
  if (folder !== null && tally.calls.length > 0) sweepRuns(folder, host);
  return end.code;
}

function tallyOf(guard: Guard, { id }: Watch): Tally {
  const { folder } = guard;
  if (folder === null || id === null) return NO_CALLS;
  const tally = readOwnRun(folder, id);
  if (tally === null) {
    const file = `"${folder}/runs/${id}"`;
    sayTrouble(guard, `what the job's calls met is not known: no ${file}`);
  }
  return tally ?? NO_CALLS;
}

/**
 * A job that is nothing but a run of claude: what the shim would start a second
 * guard for.
 *
 * @param env As the shim would find it
 */
async function claudeItself(
  guard: Guard,
  job: Job,
  env: Record<string, string>,
): Promise<ChildEnd> {
  const { runClaude } = await import("./run_claude.ts");
  const { host } = guard;
  const within = {
    ...host,
    env: (name: string) => (env[name] ?? host.env(name)) || undefined,
  };
  const [, ...args] = job.command;
  try {
    return await runClaude({ ...guard, host: within }, args, {
      env,
      timeout: job.timeout,
    });
  } catch (error) {
    say(guard, reasonOf(error));
    return { started: true, code: EXIT_OWN_TROUBLE, timedOut: false };
  }
}

function sayEnd(guard: Guard, job: Job, end: ChildEnd): void {
  if (!end.started) {
    say(
      guard,
      `job ${job.label}: cannot start "${job.command[0]}": ${end.why}`,
    );
  } else if (end.timedOut) {
    say(
      guard,
      `job ${job.label}: stopped after its --timeout of ${job.timeout} s`,
    );
  }
}

/**
 * Output may have ended without a newline, that of this run or of one before in
 * the same log: what is owed is read from the start of a line.
 */
function writeJobMarker(marker: string): void {
  const lead = Deno.stderr.isTerminal() ? "" : "\n";
  writeStderr(`${lead}${marker}\n`);
}
