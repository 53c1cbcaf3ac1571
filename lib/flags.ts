import { parseArgs } from "@std/cli/parse-args";
import { parseDuration } from "./duration.ts";
import { UnknownFlagError, UsageError } from "./usage.ts";

/** The flags of a command, without their dashes; a string flag takes a value. */
export interface FlagSpec {
  /** Flags without a value. */
  boolean: string[];
  /** Flags that take a value. */
  string: string[];
  /** Those of the string flags that may be given more than once. */
  collect?: string[];
}

/** Arguments as read; each reader throws a {@linkcode UsageError} on a bad value. */
export interface Flags {
  /** What is no flag and no flag's value. */
  words: string[];
  /** True if the flag is given. */
  is(flag: string): boolean;
  /** The flag's value; null if it is not given. */
  text(flag: string): string | null;
  /** The values of a flag that may be given more than once. */
  all(flag: string): string[];
  /** A whole number from 0 to `most`. */
  whole(flag: string, most: number): number | null;
  /** A length of time, in seconds. */
  seconds(flag: string): number | null;
}

/**
 * Reads the arguments of a command.
 *
 * @param command For messages, such as `--job`
 * @param mostWords How many words may stand beside the flags
 * @throws {UsageError} On an unknown flag or a word too many.
 */
export function readFlags(
  command: string,
  spec: FlagSpec,
  args: readonly string[],
  mostWords: number,
): Flags {
  const parsed = parseArgs(args, {
    boolean: spec.boolean,
    // Words too: a file may be called 007.
    string: [...spec.string, "_"],
    collect: spec.collect ?? [],
    unknown: (arg, key) => {
      if (key === undefined) return true;
      const known = [...spec.boolean, ...spec.string].map((flag) =>
        `--${flag}`
      );
      throw new UnknownFlagError(arg.split("=")[0] ?? arg, command, known);
    },
  });
  const words = parsed._.map(String);
  const extra = words[mostWords];
  if (extra !== undefined) {
    throw new UsageError(
      command === "--job"
        ? `"${extra}" stands before the --; the command comes after it`
        : `"${extra}" is one word too many for ${command}`,
    );
  }
  const given = (flag: string, value: unknown): string => {
    if (typeof value === "string" && value !== "") return value;
    throw new UsageError(`--${flag} needs a value`);
  };
  const text = (flag: string): string | null => {
    const value = parsed[flag];
    return value === undefined ? null : given(flag, value);
  };
  return {
    words,
    is: (flag) => parsed[flag] === true,
    text,
    all: (flag) =>
      [parsed[flag] ?? []].flat().map((value) => given(flag, value)),
    whole: (flag, most) => {
      const value = text(flag);
      if (value === null) return null;
      const n = /^\d+$/.test(value) ? Number(value) : NaN;
      if (n <= most) return n;
      throw new UsageError(
        `--${flag} takes a whole number from 0 to ${most}, not "${value}"`,
      );
    },
    seconds: (flag) => {
      const value = text(flag);
      if (value === null) return null;
      const n = parseDuration(value);
      if (n !== null) return n;
      throw new UsageError(
        `--${flag} takes a length of time such as 90, 15m, 2h or 1d, not "${value}"`,
      );
    },
  };
}
