import { discard } from "./atomic_file.ts";
import {
  type ItemPaths,
  partPath,
  readMarker,
  writeFailed,
} from "./batch_folder.ts";
import type { Batch } from "./batch_arguments.ts";
import {
  type Attempt,
  type ItemEnd,
  judgeAttempt,
  sumOf,
} from "./batch_plan.ts";
import { runInherited } from "./child.ts";
import { type Claim, claimItem } from "./claim.ts";
import { commitPart, PartError } from "./commit.ts";
import { type Guard, isOpen, say, sayTrouble } from "./guard.ts";
import type { ItemRuns } from "./item_runs.ts";
import { reasonOf } from "./reason.ts";
import { addCall } from "./run_file.ts";
import type { CallRecord } from "./tally.ts";

/** What the items of a batch share. */
export interface BatchWork {
  /** Signals, clock, state. */
  guard: Guard;
  /** `{}` in its arguments is the item. */
  command: readonly [string, ...string[]];
  /** Absolute path of the folder of the results. */
  dir: string;
  /** What the command line says about each item. */
  options: Pick<Batch, "stdout" | "attempts" | "endsWith">;
  /** The guard's runs of the items. */
  runs: ItemRuns;
  /** Run of the job that the batch is the command of: its calls count there too. */
  outerRun: string | null;
}

/** Passes a call on to the run of the job around the batch: what that job is owed goes by its calls. */
export function noteInOuterRun(work: BatchWork, call: CallRecord): void {
  const { guard, outerRun } = work;
  if (guard.folder === null || outerRun === null) return;
  try {
    addCall(guard.folder, outerRun, call);
  } catch (error) {
    sayTrouble(guard, `a call is not on the job's tally: ${reasonOf(error)}`);
  }
}

/** `{}` in the arguments is the item; what the command prints may be the part. */
function commandFor(work: BatchWork, item: string): [string, ...string[]] {
  const [program, ...words] = work.command;
  const args = words.map((word) => word.replaceAll("{}", () => item));
  return work.options.stdout
    ? ["/bin/sh", "-c", 'exec "$@" > "$QUOTA_PART"', "sh", program, ...args]
    : [program, ...args];
}

/** One attempt, up to its part: what it came to, and its cost. */
async function attemptItem(
  work: BatchWork,
  item: string,
  probe: boolean,
  places: { QUOTA_PART: string; QUOTA_OUT: string },
): Promise<{ attempt: Attempt; cost: number | null }> {
  const { guard, runs } = work;
  const run = runs.start(probe);
  try {
    const end = await runInherited(commandFor(work, item), guard.signals, {
      stdin: "null",
      env: { ...run.env, QUOTA_ITEM: item, ...places },
    });
    const calls = runs.calls(run);
    for (const call of calls) noteInOuterRun(work, call);
    const attempt: Attempt = end.started
      ? judgeAttempt(end.code, calls)
      : { kind: "stopped", why: `cannot start: ${end.why}` };
    return { attempt, cost: sumOf(calls.map((call) => call.cost)) };
  } finally {
    runs.end(run);
  }
}

/** Commits a whole part; one that is not whole is as bad as a crash. */
async function commit(
  work: BatchWork,
  part: string,
  paths: ItemPaths,
  claim: Claim,
  facts: Parameters<typeof commitPart>[4],
): Promise<
  Extract<ItemEnd, { kind: "committed" }> | Extract<Attempt, { why: string }>
> {
  try {
    const { endsWith } = work.options;
    const marker = await commitPart(part, paths, claim, endsWith, facts);
    return { kind: "committed", marker };
  } catch (error) {
    const why = error instanceof PartError
      ? error.message
      : `cannot commit: ${reasonOf(error)}`;
    return { kind: "crashed", why };
  }
}

/** Tries until the item is committed or there is no point in another attempt. */
async function tryItem(
  work: BatchWork,
  item: string,
  paths: ItemPaths,
  claim: Claim,
  probe: boolean,
): Promise<ItemEnd> {
  const { guard, options } = work;
  let cost: number | null = null;
  for (let attempts = 1;; attempts++) {
    const part = partPath(work.dir, paths.name);
    const places = { QUOTA_PART: part, QUOTA_OUT: paths.out };
    let inPlace = false;
    try {
      const tried = await attemptItem(work, item, probe, places);
      cost = sumOf([cost, tried.cost]);
      // Whatever it made: after a signal nobody knows what it had in mind.
      if (guard.signals.code !== null) return { kind: "interrupted", cost };
      const end = tried.attempt.kind === "whole"
        ? await commit(work, part, paths, claim, {
          name: item,
          ended_at: guard.host.now(),
          attempts,
          cost_usd: cost,
        })
        : tried.attempt;
      inPlace = end.kind === "committed";
      if (end.kind === "committed") return end;
      if (end.kind === "limit") return { kind: "limit", cost };
      if (end.kind === "crashed" && await isOpen(guard)) {
        return { kind: "limit", cost };
      }
      if (end.kind === "stopped" || attempts >= options.attempts) {
        return failed(work, item, paths, { why: end.why, attempts, cost });
      }
    } finally {
      if (!inPlace) discard(part);
    }
  }
}

function failed(
  { guard }: BatchWork,
  item: string,
  paths: ItemPaths,
  end: { why: string; attempts: number; cost: number | null },
): ItemEnd {
  try {
    writeFailed(paths, {
      name: item,
      why: end.why,
      ended_at: Math.floor(guard.host.now()),
      attempts: end.attempts,
      cost_usd: end.cost,
    });
  } catch (error) {
    say(guard, `a failure is not recorded: ${reasonOf(error)}`);
  }
  return { kind: "failed", ...end };
}

/**
 * Sees to one item: claims it, tries it, commits it. Whatever happens, it ends
 * either with a done marker or as if its parts had never been.
 *
 * @param probe It is let through an open circuit.
 */
export async function runItem(
  work: BatchWork,
  item: string,
  paths: ItemPaths,
  probe: boolean,
): Promise<ItemEnd> {
  using claim = claimItem(work.dir, paths.name);
  if (claim === null) return { kind: "elsewhere" };
  // Another batch may have committed it since the markers were read.
  const marker = readMarker(paths);
  if (marker?.name === item) return { kind: "already" };
  if (marker !== null) {
    const why = `"${paths.done}" is the marker of item ${
      JSON.stringify(marker.name)
    }`;
    return { kind: "failed", why, attempts: 0, cost: null };
  }
  return await tryItem(work, item, paths, claim, probe);
}
