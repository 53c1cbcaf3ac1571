import {
  BUDGET_STOP,
  dollars,
  type ItemEnd,
  type Standing,
} from "./batch_plan.ts";
import { formatDuration } from "./duration.ts";
import { STOP_REMEDY } from "./progress_gate.ts";
import { printable } from "./terminal.ts";

const BAR_CELLS = 20;
const GREEN = "\x1b[32m";
const PLAIN = "\x1b[39m";

/** The line about an item that has ended; null if there is nothing to say. */
export function itemLine(
  item: string,
  end: ItemEnd,
  { done, total }: Standing,
): string | null {
  const name = printable(JSON.stringify(item));
  switch (end.kind) {
    case "committed": {
      const { attempts, cost_usd: cost } = end.marker;
      const tries = attempts === 1 ? "" : `, ${attempts} attempts`;
      const spent = cost === null ? "" : `, ${dollars(cost)}`;
      return `${done}/${total} ${name}: done${tries}${spent}`;
    }
    case "failed": {
      const tries = end.attempts > 1 ? ` after ${end.attempts} attempts` : "";
      const remedy = end.why === BUDGET_STOP ? `; ${STOP_REMEDY}` : "";
      return `${done}/${total} ${name}: failed${tries}: ${end.why}${remedy}`;
    }
    case "limit":
      return `${done}/${total} ${name}: left as it was, the limit is reached`;
    case "interrupted":
      return `${done}/${total} ${name}: left as it was, interrupted`;
    case "elsewhere":
      return `${done}/${total} ${name}: left to another batch`;
    case "already":
      return null;
  }
}

/**
 * The progress line for a terminal: bar, rate, time left.
 *
 * @param elapsed Seconds since the batch began
 */
export function barLine(
  { done, total, failed, committed, cost }: Standing,
  elapsed: number,
  color: boolean,
): string {
  const filled = total === 0 ? BAR_CELLS : Math.floor(BAR_CELLS * done / total);
  const full = "█".repeat(filled);
  const empty = "░".repeat(BAR_CELLS - filled);
  const words = [`${done}/${total}`];
  if (failed > 0) words.push(`${failed} failed`);
  if (committed > 0 && elapsed > 0) {
    const left = (total - done - failed) * elapsed / committed;
    words.push(`${(committed * 60 / elapsed).toFixed(1)} a minute`);
    words.push(`${formatDuration(left)} left`);
  }
  if (cost !== null) words.push(dollars(cost));
  const bar = (color ? GREEN + full + PLAIN : full) + empty;
  return `${bar} ${words.join(" · ")}`;
}
