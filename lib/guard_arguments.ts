import { type Flags, type FlagSpec, readFlags } from "./flags.ts";
import { labelProblem } from "./marker.ts";
import type { Gate } from "./progress_gate.ts";
import { UsageError } from "./usage.ts";

/** A job as given on the command line. */
export interface Job {
  /** Without white space or control characters. */
  label: string;
  /** Program and arguments. */
  command: readonly [string, ...string[]];
  /** May claim the probe while the circuit is open. */
  priority: boolean;
  /** Has effects before its first call: never owed once started. */
  once: boolean;
  /** May be started again after it got something done. */
  resumable: boolean;
  /** Seconds; undefined for none. */
  timeout: number | undefined;
  /** Exit code of a skip. */
  skipExit: number;
  /** Try again while it gets further; null for one attempt. */
  gate: Gate | null;
}

/** Timers hold no more, and fire at once. */
const LONGEST_TIMEOUT = 24 * 86_400;

/** What the guard is asked to do. */
export type GuardCommand =
  | { mode: "job"; job: Job }
  | { mode: "batch"; own: readonly string[]; command: readonly string[] }
  | {
    mode: "claude";
    args: readonly string[];
    /** Its first flag, if that may be one of the guard's, mistyped. */
    doubtful?: string;
  }
  | { mode: "status"; json: boolean }
  | { mode: "open"; until: string | null; reason: string | null }
  | { mode: "close" }
  | { mode: "notify"; text: string }
  | {
    mode: "classify";
    exit: number | null;
    at: string | null;
    zone: string | null;
    file: string | null;
  }
  | { mode: "help" }
  | { mode: "batch-help" }
  | { mode: "version" };

/** The first flag of each mode. */
export const MODES: readonly string[] = [
  "--job",
  "--batch",
  "--claude",
  "--status",
  "--open",
  "--close",
  "--notify",
  "--classify",
];

const MOST_ATTEMPTS = 1000;

/** The flags of each mode; a string flag takes a value. */
const FLAGS: Record<string, FlagSpec> = {
  "--job": {
    boolean: ["priority", "once", "resumable"],
    string: ["job", "expires", "timeout", "skip-exit", "attempts", "progress"],
  },
  "--status": { boolean: ["status", "json"], string: [] },
  "--open": { boolean: ["open"], string: ["until", "reason"] },
  "--close": { boolean: ["close"], string: [] },
  "--notify": { boolean: [], string: ["notify"] },
  "--classify": { boolean: ["classify"], string: ["exit", "at", "tz"] },
};

/**
 * Reads the guard's arguments. Without a flag of the guard's all of them belong
 * to the real claude, as in the original.
 *
 * @throws {UsageError} If they cannot be read; the message says what to do.
 */
export function parseGuardArguments(args: readonly string[]): GuardCommand {
  const [first] = args;
  if (first === undefined || first === "--help") return { mode: "help" };
  if (first === "--version") return { mode: "version" };
  const split = args.indexOf("--");
  const own = split < 0 ? args : args.slice(0, split);
  const rest = split < 0 ? [] : args.slice(split + 1);
  const mode = MODES.find((flag) =>
    own.some((arg) => arg === flag || arg.startsWith(`${flag}=`))
  );
  if (mode === undefined) {
    return {
      mode: "claude",
      args,
      ...(first.startsWith("--") && { doubtful: first }),
    };
  }
  if (mode === "--claude") {
    return { mode: "claude", args: split < 0 ? own.slice(1) : rest };
  }
  if (own.includes("--help")) {
    return { mode: mode === "--batch" ? "batch-help" : "help" };
  }
  // Its flags are read by the module that no other mode loads.
  if (mode === "--batch") return { mode: "batch", own, command: rest };
  const spec = FLAGS[mode] ?? { boolean: [], string: [] };
  const flags = readFlags(mode, spec, own, mode === "--classify" ? 1 : 0);
  switch (mode) {
    case "--job":
      return { mode: "job", job: jobFrom(flags, rest) };
    case "--status":
      return { mode: "status", json: flags.is("json") };
    case "--open":
      return {
        mode: "open",
        until: flags.text("until"),
        reason: flags.text("reason"),
      };
    case "--close":
      return { mode: "close" };
    case "--notify":
      return { mode: "notify", text: flags.text("notify") ?? "" };
    default:
      return {
        mode: "classify",
        exit: flags.whole("exit", 255),
        at: flags.text("at"),
        zone: flags.text("tz"),
        file: flags.words[0] ?? null,
      };
  }
}

function jobFrom(flags: Flags, command: readonly string[]): Job {
  const label = flags.text("job") ?? "";
  const problem = labelProblem(label);
  if (problem !== null) throw new UsageError(`--job: ${problem}`);
  const [program, ...args] = command;
  if (program === undefined || program === "") {
    throw new UsageError("--job requires a command after --");
  }
  if (flags.is("once") && flags.is("resumable")) {
    throw new UsageError(
      "--once and --resumable exclude each other: a job is either never owed once started, or may be started again",
    );
  }
  // Read here so that a mistyped one shows at the first start; the catch-up acts on it.
  flags.seconds("expires");
  const gate = gateFrom(flags);
  const timeout = flags.seconds("timeout");
  if (timeout !== null && (timeout === 0 || timeout > LONGEST_TIMEOUT)) {
    throw new UsageError("--timeout must be above zero and at most 24d");
  }
  return {
    label,
    command: [program, ...args],
    priority: flags.is("priority"),
    once: flags.is("once"),
    resumable: flags.is("resumable"),
    timeout: timeout ?? undefined,
    skipExit: flags.whole("skip-exit", 255) ?? 0,
    gate,
  };
}

function gateFrom(flags: Flags): Gate | null {
  const attempts = flags.whole("attempts", MOST_ATTEMPTS);
  const globs = flags.all("progress");
  if (attempts === null && globs.length === 0) return null;
  if (attempts === null || globs.length === 0) {
    throw new UsageError(
      "--attempts and --progress go together: attempts that get no further only spend",
    );
  }
  if (attempts === 0) throw new UsageError("--attempts must be above zero");
  return { attempts, globs };
}
