import type { ChildEnd } from "./child.ts";
import type { CallRecord } from "./tally.ts";

/** A command may be tried again only while what it makes gets more. */
export interface Gate {
  /** How often it is tried at most. */
  attempts: number;
  /** Patterns of the files that are counted. */
  globs: string[];
}

/** One attempt: how it ended, and the calls that were seen in it. */
export interface GatedAttempt {
  /** Of its command. */
  end: ChildEnd;
  /** In their order; none of the attempts before. */
  calls: readonly CallRecord[];
}

/** What helps against a stop by policy, and what no retry does. */
export const STOP_REMEDY = "raise --max-budget-usd or do fewer items a run";

/** Says that another attempt would be in vain. */
export function noProgressLine(attempt: number, remedy = STOP_REMEDY): string {
  return `no forward progress after attempt ${attempt}: ${remedy}`;
}

const LOG_FILE = /\.(log|err)(\.\w+)*$/;

/** Does a file count? Logs and the guard's own state grow by every attempt. */
export function counts(path: string, stateFolder: string | null): boolean {
  return !LOG_FILE.test(path) &&
    (stateFolder === null || !path.startsWith(`${stateFolder}/`));
}

/** What follows an attempt. */
export type Next = "again" | "over" | "stuck";

/**
 * Is another attempt worth its cost? A stop by policy comes again at the same
 * place, so only more files than ever before make one.
 *
 * @param most The highest count before the attempt
 * @param count The count after it
 */
export function nextAttempt(
  { end, calls }: GatedAttempt,
  most: number,
  count: number,
): Next {
  const last = calls.at(-1)?.met;
  const limit = calls.some(({ met }) => met === "limit" || met === "refused");
  // Some versions of claude end with 0 at a stop by policy.
  const success = end.code === 0 && last !== "budget" && last !== "turns";
  if (!end.started || success || limit) return "over";
  return count > most ? "again" : "stuck";
}
