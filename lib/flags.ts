import { parseDuration } from "./duration.ts";
import { UnknownFlagError, UsageError } from "./usage.ts";

/** The flags of a command, without their dashes; a string flag takes a value. */
export interface FlagSpec {
  /** Flags without a value. */
  boolean: string[];
  /** Flags that take a value, each time they are given. */
  string: string[];
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
  const given = new Map<string, string[]>();
  const words: string[] = [];
  const rest = [...args];
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (!arg.startsWith("-") || arg === "-") {
      words.push(arg);
      continue;
    }
    const [written = arg, ...values] = arg.split("=");
    const flag = written.startsWith("--") ? written.slice(2) : "";
    if (spec.string.includes(flag)) {
      const next = rest[0]?.startsWith("-") === false ? rest[0] : "";
      if (values.length === 0 && next !== "") values.push(rest.shift() ?? "");
      given.set(flag, [...given.get(flag) ?? [], values.join("=")]);
    } else if (spec.boolean.includes(flag)) {
      if (values.length > 0) throw new UsageError(`${written} takes no value`);
      given.set(flag, []);
    } else {
      const known = [...spec.boolean, ...spec.string].map((f) => `--${f}`)
        .filter((flag) => flag !== command);
      throw new UnknownFlagError(written, command, known);
    }
  }
  const extra = words[mostWords];
  if (extra !== undefined) {
    throw new UsageError(
      command === "--job"
        ? `"${extra}" stands before the --; the command comes after it`
        : `"${extra}" is one word too many for ${command}`,
    );
  }
  const all = (flag: string): string[] => {
    const values = given.get(flag) ?? [];
    if (!values.includes("")) return values;
    throw new UsageError(`--${flag} needs a value`);
  };
  const text = (flag: string): string | null => all(flag).at(-1) ?? null;
  return {
    words,
    is: (flag) => given.has(flag),
    text,
    all,
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
