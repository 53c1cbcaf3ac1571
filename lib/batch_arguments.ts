import { patternProblem } from "./batch_items.ts";
import { type Flags, readFlags } from "./flags.ts";
import { UsageError } from "./usage.ts";

/** A batch as given on the command line. */
export interface Batch {
  /** Path of the list; `-` for standard input. */
  list: string;
  /** Folder of the results. */
  into: string;
  /** Name of an item's file, `{}` for its name. */
  pattern: string;
  /** What the command prints is the part. */
  stdout: boolean;
  /** How many items at a time. */
  workers: number;
  /** How often an item that crashes is tried. */
  attempts: number;
  /** So many items in a row that end uncommitted stop the batch. */
  stall: number;
  /** So many commits end the batch; null for no such number. */
  maxItems: number | null;
  /** What a whole file ends with; null if that is not known. */
  endsWith: string | null;
  /** Null: run nothing, verify what is there. */
  command: readonly [string, ...string[]] | null;
}

const FLAGS = {
  boolean: ["stdout", "verify"],
  string: [
    "batch",
    "into",
    "name",
    "workers",
    "attempts",
    "stall",
    "max-items",
    "ends-with",
  ],
};
const MOST = 1_000_000;
const MOST_WORKERS = 256;

/**
 * Reads the arguments of `--batch`.
 *
 * @param own What stands before `--`
 * @param command What stands after it
 * @throws {UsageError} If they cannot be read; the message says what to do.
 */
export function parseBatchArguments(
  own: readonly string[],
  command: readonly string[],
): Batch {
  const at = own.indexOf("--batch");
  // Read on its own a dash would be a word, not the flag's value.
  const args = own[at + 1] === "-" ? own.toSpliced(at, 2, "--batch=-") : own;
  const flags = readFlags("--batch", FLAGS, args, 0);
  const list = flags.text("batch");
  if (list === null) {
    throw new UsageError("--batch needs a list: a file, or - for its input");
  }
  const into = flags.text("into");
  if (into === null) {
    throw new UsageError("--batch requires --into DIR, where the results go");
  }
  const pattern = flags.text("name") ?? "{}.out";
  const problem = patternProblem(pattern);
  if (problem !== null) {
    throw new UsageError(`--name takes no "${pattern}": ${problem}`);
  }
  return {
    list,
    into,
    pattern,
    stdout: flags.is("stdout"),
    workers: count(flags, "workers", MOST_WORKERS) ?? 1,
    attempts: count(flags, "attempts", MOST) ?? 2,
    stall: count(flags, "stall", MOST) ?? 2,
    maxItems: count(flags, "max-items", MOST),
    endsWith: flags.text("ends-with"),
    command: commandFrom(flags.is("verify"), command),
  };
}

function count(flags: Flags, flag: string, most: number): number | null {
  const n = flags.whole(flag, most);
  if (n === 0) throw new UsageError(`--${flag} must be above zero`);
  return n;
}

function commandFrom(
  verify: boolean,
  command: readonly string[],
): Batch["command"] {
  const [program, ...args] = command;
  if (verify) {
    if (program === undefined) return null;
    throw new UsageError("--verify runs nothing: leave the command out");
  }
  if (program === undefined || program === "") {
    throw new UsageError("--batch requires a command after --, or --verify");
  }
  return [program, ...args];
}
