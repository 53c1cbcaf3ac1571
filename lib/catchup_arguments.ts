import { readFlags } from "./flags.ts";
import { SETUP_MODES } from "./setup/setup_mode.ts";
import { UsageError } from "./usage.ts";

/** What the catch-up is asked to do. */
export type CatchupCommand =
  | { mode: "help" }
  | { mode: "version" }
  | {
    mode: "run";
    dryRun: boolean;
    /** Show every plist, not only what is owed. */
    all: boolean;
    json: boolean;
    /** Folder of the LaunchAgents; null for the user's own. */
    agents: string | null;
    /** Seconds until a job is stopped; null for the default. */
    timeout: number | null;
    /** Seconds between SIGTERM and SIGKILL; null for the default. */
    grace: number | null;
    /** Seconds that a skip may lie back; null for today. */
    window: number | null;
    noProbe: boolean;
  };

const FLAGS = {
  boolean: [
    "dry-run",
    "all",
    "json",
    "no-probe",
    "help",
    "version",
    // Read elsewhere; here so that a mistyped one is told.
    ...SETUP_MODES,
  ],
  string: ["agents", "timeout", "grace", "window"],
};
/** A skip that lies farther back is no news. */
const LONGEST_WINDOW = 168;

/**
 * Reads the catch-up's arguments.
 *
 * @throws {UsageError} If they cannot be read; the message says what to do.
 */
export function parseCatchupArguments(
  args: readonly string[],
): CatchupCommand {
  const flags = readFlags("quota_catchup", FLAGS, args, 0);
  if (flags.is("help")) return { mode: "help" };
  if (flags.is("version")) return { mode: "version" };
  const timeout = flags.seconds("timeout");
  if (timeout === 0) throw new UsageError("--timeout must be above zero");
  const hours = flags.whole("window", LONGEST_WINDOW);
  return {
    mode: "run",
    dryRun: flags.is("dry-run"),
    all: flags.is("all"),
    json: flags.is("json"),
    agents: flags.text("agents"),
    timeout,
    grace: flags.seconds("grace"),
    window: hours === null ? null : hours * 3600,
    noProbe: flags.is("no-probe"),
  };
}
