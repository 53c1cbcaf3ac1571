// Reading the fields of JSON that anybody may have edited.

/** A JSON object as it comes from `JSON.parse`. */
export type Fields = Record<string, unknown>;

/** True for an object that is no array. */
export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A finite number, also one written as a string; else `fallback`. */
export function numberOr<F>(value: unknown, fallback: F): number | F {
  const n = typeof value === "string" && value.trim() !== ""
    ? Number(value)
    : value;
  return typeof n === "number" && Number.isFinite(n) ? n : fallback;
}

/** Through the year 9999; beyond the calendar's own end a time cannot be shown. */
const LAST_INSTANT = 253_402_300_799;

/** An instant in epoch seconds that a calendar has; else `fallback`. */
export function instantOr<F>(value: unknown, fallback: F): number | F {
  const seconds = numberOr(value, null);
  return seconds !== null && seconds >= 0 && seconds <= LAST_INSTANT
    ? seconds
    : fallback;
}

/** A string; else `fallback`. */
export function stringOr<F>(value: unknown, fallback: F): string | F {
  return typeof value === "string" ? value : fallback;
}

/**
 * An object's entries as a map of what `read` makes of each; entries of which
 * it makes null are dropped. A map, since a key may be called `__proto__`.
 */
export function mapOf<T>(
  value: unknown,
  read: (entry: unknown) => T | null,
): Map<string, T> {
  const map = new Map<string, T>();
  if (!isFields(value)) return map;
  for (const [key, entry] of Object.entries(value)) {
    const item = read(entry);
    if (item !== null) map.set(key, item);
  }
  return map;
}

/** The fields that are not in `known`, kept for whoever wrote them. */
export function unknownFields(
  fields: Fields,
  known: readonly string[],
): [string, unknown][] {
  return Object.entries(fields).filter(([key]) => !known.includes(key));
}
