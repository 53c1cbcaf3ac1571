import { levenshteinDistance } from "@std/text/levenshtein-distance";
import { isClaudeFlag } from "./call.ts";
import { UnknownFlagError, type UsageError } from "./usage.ts";

/** A prefix says what is meant from so many characters on, dashes aside. */
const LEAST_PREFIX = 2;
/** One mistake in so many characters. */
const MISTAKE_EVERY = 3;

/**
 * The word that was probably meant: one that begins like this, else one in which
 * few characters differ; null if nothing is near.
 */
export function nearest(
  word: string,
  known: readonly string[],
): string | null {
  const begun = word.replace(/^-+/, "").length >= LEAST_PREFIX;
  const whole = known.find((other) => begun && other.startsWith(word));
  if (whole !== undefined) return whole;
  const distances = known.map((other) => levenshteinDistance(word, other));
  const least = Math.min(...distances);
  return least <= word.length / MISTAKE_EVERY
    ? known[distances.indexOf(least)] ?? null
    : null;
}

/** The words of a usage error, with the nearest flag where one was mistyped. */
export function withSuggestion(error: UsageError): string {
  if (!(error instanceof UnknownFlagError)) return error.message;
  const flag = nearest(error.flag, error.known);
  return flag === null
    ? error.message
    : `${error.message}; did you mean ${flag}?`;
}

/** From so many characters on the beginning of a mode is no flag of claude's to come. */
const LEAST_OF_MODE = 4;
const MOST_MISTAKES = 2;

/**
 * Keeps a mistyped mode of the guard's from the real claude, which might take it
 * for a prompt and spend on it.
 *
 * @param flag The first argument
 * @throws {UnknownFlagError} If it is one, and no flag of claude's.
 */
export function refuseMistyped(flag: string, modes: readonly string[]): void {
  const word = flag.replace(/=.*$/s, "");
  if (isClaudeFlag(word)) return;
  const meant = modes.find((mode) =>
    mode.startsWith(word) && word.length >= LEAST_OF_MODE + "--".length ||
    levenshteinDistance(word, mode) <= MOST_MISTAKES
  );
  if (meant === undefined) return;
  throw new UnknownFlagError(word, "quota_guard or claude", [meant]);
}
