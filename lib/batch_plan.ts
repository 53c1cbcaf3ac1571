import type { DoneMarker } from "./batch_record.ts";
import { STOP_REMEDY } from "./progress_gate.ts";
import type { CallRecord } from "./tally.ts";

/** How one attempt at an item ended. */
export type Attempt =
  | { kind: "whole" }
  | { kind: "limit" }
  | { kind: "stopped"; why: string }
  | { kind: "crashed"; why: string };

/** Why an attempt failed that was stopped by policy. */
export const BUDGET_STOP = "budget stop";
const TURNS_STOP = "stopped by --max-turns";

/**
 * What an attempt came to, by its exit code and its calls. An answer that was
 * cut off must not pass for the item's result: some versions of claude end with
 * 0 at a limit or a budget stop, and print its words where the answer goes. So
 * the last call has to be answered, if there is one.
 */
export function judgeAttempt(
  exit: number,
  calls: readonly CallRecord[],
): Attempt {
  const last = calls.at(-1)?.met ?? "ok";
  switch (last) {
    case "limit":
    case "refused":
      return { kind: "limit" };
    case "budget":
      return { kind: "stopped", why: BUDGET_STOP };
    case "turns":
      return { kind: "stopped", why: TURNS_STOP };
  }
  if (exit === 0 && last === "ok") return { kind: "whole" };
  const call = last === "ok" ? "" : `, its last call: ${last}`;
  return { kind: "crashed", why: `exit code ${exit}${call}` };
}

/** What is known of several costs, in US dollars; null if nothing is. */
export function sumOf(costs: readonly (number | null)[]): number | null {
  const known = costs.filter((cost) => cost !== null);
  return known.length === 0 ? null : known.reduce((sum, cost) => sum + cost);
}

/** How an item ended in this run. */
export type ItemEnd =
  | { kind: "committed"; marker: DoneMarker }
  | {
    kind: "failed";
    why: string;
    attempts: number;
    cost: number | null;
  }
  /** A limit came: the item is as if it had never been tried. */
  | { kind: "limit"; cost: number | null }
  /** A signal came: as with a limit. */
  | { kind: "interrupted"; cost: number | null }
  /** Another batch works on it. */
  | { kind: "elsewhere" }
  /** Another batch got it done. */
  | { kind: "already" };

/** Why a batch stops before its end, but for a signal. */
export type Stop = "limit" | "stalled" | "enough";

/** A batch so far. */
export interface Standing {
  /** Items in the list. */
  total: number;
  /** Items with a marker. */
  done: number;
  /** Commits of this run. */
  committed: number;
  /** Items that failed in this run. */
  failed: number;
  /** Items in a row that ended uncommitted. */
  row: number;
  /** Attempts since the last commit. */
  attempts: number;
  /** Why an item failed since the last commit: a stop by policy, else the newest reason. */
  why: string | null;
  /** US dollars of this run; null while none are known. */
  cost: number | null;
  /** Null while it goes on. */
  stop: Stop | null;
}

/** A batch at its begin. */
export function newStanding(total: number, done: number): Standing {
  return {
    total,
    done,
    committed: 0,
    failed: 0,
    row: 0,
    attempts: 0,
    why: null,
    cost: null,
    stop: null,
  };
}

/** The batch after one more item. A limit is the gravest reason to stop. */
export function settle(
  before: Standing,
  end: ItemEnd,
  limits: { stall: number; maxItems: number | null },
): Standing {
  const stop = (reason: Stop): Stop => before.stop ?? reason;
  const spent = (cost: number | null): number | null =>
    sumOf([before.cost, cost]);
  switch (end.kind) {
    case "committed": {
      const committed = before.committed + 1;
      return {
        ...before,
        done: before.done + 1,
        committed,
        row: 0,
        attempts: 0,
        why: null,
        cost: spent(end.marker.cost_usd),
        stop: committed === limits.maxItems ? stop("enough") : before.stop,
      };
    }
    case "failed": {
      const row = before.row + 1;
      return {
        ...before,
        failed: before.failed + 1,
        row,
        attempts: before.attempts + end.attempts,
        why: stoppedByPolicy(before.why) ? before.why : end.why,
        cost: spent(end.cost),
        stop: row >= limits.stall ? stop("stalled") : before.stop,
      };
    }
    case "limit":
      return { ...before, cost: spent(end.cost), stop: "limit" };
    case "interrupted":
      return { ...before, cost: spent(end.cost) };
    case "already":
      return { ...before, done: before.done + 1 };
    case "elsewhere":
      return before;
  }
}

function stoppedByPolicy(why: string | null): boolean {
  return why === BUDGET_STOP || why === TURNS_STOP;
}

/** What to do about items that failed. */
export function stallRemedy({ why }: Standing): string {
  return why === null || stoppedByPolicy(why)
    ? STOP_REMEDY
    : `the last item failed: ${why}; see to that first`;
}

/** Exit code of a batch: 0 all done or enough for one run, 75 a limit, 1 something failed. */
export function batchExit({ stop, failed }: Standing): number {
  switch (stop) {
    case "limit":
      return 75;
    case "enough":
      return 0;
    case "stalled":
      return 1;
    case null:
      return failed > 0 ? 1 : 0;
  }
}

/** An amount of US dollars: cents, and what is below them only where they say too little. */
export function dollars(amount: number): string {
  const digits = amount >= 1 ? 2 : 4;
  const exact = amount.toFixed(digits);
  return `$${exact.replace(/(\.\d\d\d*?)0+$/, "$1")}`;
}

/** The last line of a batch. What is not known is left out. */
export function summaryLine(
  { total, done, failed, cost }: Standing,
  worst: number | null,
): string {
  return [
    `done=${done}/${total}`,
    `failed=${failed}`,
    // What failed here another batch may have done since.
    `left=${Math.max(0, total - done - failed)}`,
    ...(cost === null ? [] : [`cost=${dollars(cost)}`]),
    ...(worst === null ? [] : [
      `worst=${dollars(worst)}`,
      // An item's worst cost, and as much again to spare.
      `suggested --max-budget-usd ${dollars(2 * worst)}`,
    ]),
  ].join(" ");
}
