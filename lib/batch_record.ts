import { isFields, numberOr, stringOr } from "./lenient.ts";

/** That an item is done, as in `done/<name>.json`: nothing else says so. */
export interface DoneMarker {
  /** The item. */
  name: string;
  /** Size of its file. */
  bytes: number;
  /** Of its file, in hexadecimal digits. */
  sha256: string;
  /** Name of its file, beside the folder of the markers. */
  file: string;
  /** Epoch seconds, whole. */
  ended_at: number;
  /** How often it was tried in the run that got it done. */
  attempts: number;
  /** US dollars of all its attempts in that run; null if claude named none. */
  cost_usd: number | null;
}

/** That an item was tried in vain, as in `failed/<name>.json`. */
export interface FailedRecord {
  /** The item. */
  name: string;
  /** In words. */
  why: string;
  /** Epoch seconds, whole. */
  ended_at: number;
  /** How often it was tried in that run. */
  attempts: number;
  /** US dollars of all its attempts in that run; null if claude named none. */
  cost_usd: number | null;
}

/** A cost counts for the suggestion for so many seconds: 30 days. */
const COST_MEMORY = 30 * 86_400;

function fieldsOf(text: string): Record<string, unknown> | null {
  try {
    const json: unknown = JSON.parse(text);
    return isFields(json) ? json : null;
  } catch {
    return null;
  }
}

/**
 * Reads a done marker. One that holds no more than name and bytes, as another
 * tool may write it, is one too. Null if it is none.
 */
export function parseDoneMarker(text: string): DoneMarker | null {
  const fields = fieldsOf(text);
  const name = stringOr(fields?.name, null);
  const bytes = numberOr(fields?.bytes, null);
  if (fields === null || name === null || bytes === null) return null;
  return {
    name,
    bytes,
    sha256: stringOr(fields.sha256, ""),
    file: stringOr(fields.file, ""),
    ended_at: numberOr(fields.ended_at, 0),
    attempts: numberOr(fields.attempts, 1),
    cost_usd: numberOr(fields.cost_usd, null),
  };
}

/** Reads the record of an item that failed; null if it is none. */
export function parseFailedRecord(text: string): FailedRecord | null {
  const fields = fieldsOf(text);
  const name = stringOr(fields?.name, null);
  if (fields === null || name === null) return null;
  return {
    name,
    why: stringOr(fields.why, ""),
    ended_at: numberOr(fields.ended_at, 0),
    attempts: numberOr(fields.attempts, 1),
    cost_usd: numberOr(fields.cost_usd, null),
  };
}

/** What is still to be done, in the order of the list; what failed before comes last, the longest ago first. */
export function orderItems(
  items: readonly string[],
  done: ReadonlyMap<string, DoneMarker>,
  failed: ReadonlyMap<string, FailedRecord>,
): string[] {
  const failedAt = (item: string): number => failed.get(item)?.ended_at ?? -1;
  return items.filter((item) => !done.has(item))
    .sort((a, b) => failedAt(a) - failedAt(b));
}

/** The largest cost of an item within 30 days, in US dollars; null if none is known. */
export function worstCost(
  records: Iterable<{ ended_at: number; cost_usd: number | null }>,
  now: number,
): number | null {
  let worst: number | null = null;
  for (const { ended_at, cost_usd } of records) {
    if (cost_usd === null || ended_at < now - COST_MEMORY) continue;
    worst = Math.max(worst ?? 0, cost_usd);
  }
  return worst;
}
