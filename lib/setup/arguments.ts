import { readFlags } from "../flags.ts";
import { UsageError } from "../usage.ts";
import type { SetupMode } from "./setup_mode.ts";

/** What is to be set up or looked at. */
export type SetupCommand =
  | {
    mode: "wrap";
    /** Labels and files; empty with `all`. */
    targets: string[];
    /** Ask about each calendar job that calls claude. */
    all: boolean;
    /** Options of the guard; null to leave those that are there. */
    guardFlags: string[] | null;
    dryRun: boolean;
    reload: boolean;
    /** Reload what starts when it is loaded, too. */
    now: boolean;
    agents: string | null;
  }
  | {
    mode: "unwrap";
    targets: string[];
    /** All that are wrapped. */
    all: boolean;
    dryRun: boolean;
    reload: boolean;
    now: boolean;
    agents: string | null;
  }
  | {
    mode: "install";
    /** Seconds between two rounds. */
    interval: number;
    dryRun: boolean;
    agents: string | null;
  }
  | { mode: "uninstall"; agents: string | null }
  | { mode: "doctor"; json: boolean; agents: string | null }
  | {
    mode: "explain";
    label: string;
    window: number | null;
    agents: string | null;
  }
  | {
    mode: "day";
    json: boolean;
    /** Width of the lines. */
    columns: number;
    colour: boolean;
    agents: string | null;
  }
  | { mode: "help"; of: SetupMode };

/** What one mode is asked to do. */
export type CommandOf<M extends SetupMode> = Extract<SetupCommand, { mode: M }>;

const DEFAULT_INTERVAL = 1800;
/** More often than launchd starts anything, and than a round makes sense. */
const LEAST_INTERVAL = 60;
const MOST_INTERVAL = 86_400;
const DEFAULT_COLUMNS = 80;

const BOOLEAN: Record<SetupMode, string[]> = {
  wrap: ["all", "priority", "once", "resumable", "dry-run", "reload", "now"],
  unwrap: ["all", "dry-run", "reload", "now"],
  install: ["dry-run"],
  uninstall: [],
  doctor: ["json"],
  explain: [],
  day: ["json", "colour"],
};
const STRING: Record<SetupMode, string[]> = {
  wrap: ["expires"],
  unwrap: [],
  install: ["interval"],
  uninstall: [],
  doctor: [],
  explain: ["window"],
  day: ["columns"],
};

/**
 * Reads the arguments of a mode of setting up.
 *
 * @throws {UsageError} If they cannot be read; the message says what to do.
 */
export function parseSetupArguments(
  mode: SetupMode,
  args: readonly string[],
): SetupCommand {
  const command = `--${mode}`;
  const many = mode === "wrap" || mode === "unwrap";
  const flags = readFlags(
    command,
    {
      boolean: [mode, "help", ...BOOLEAN[mode]],
      string: ["agents", ...STRING[mode]],
    },
    args,
    many ? Infinity : mode === "explain" ? 1 : 0,
  );
  if (flags.is("help")) return { mode: "help", of: mode };
  const agents = flags.text("agents");
  const common = {
    targets: flags.words,
    all: flags.is("all"),
    dryRun: flags.is("dry-run"),
    reload: flags.is("reload"),
    now: flags.is("now"),
    agents,
  };
  if (many && common.all === common.targets.length > 0) {
    throw new UsageError(
      common.all
        ? `${command} --all takes no names`
        : `${command} needs a label or a file, or --all`,
    );
  }
  if (common.now && !common.reload) {
    throw new UsageError("--now goes with --reload");
  }
  switch (mode) {
    case "wrap": {
      const expires = flags.text("expires");
      flags.seconds("expires");
      if (flags.is("once") && flags.is("resumable")) {
        throw new UsageError("--once and --resumable exclude each other");
      }
      const guardFlags = [
        ...["priority", "once", "resumable"].filter((flag) => flags.is(flag))
          .map((flag) => `--${flag}`),
        ...(expires === null ? [] : ["--expires", expires]),
      ];
      return {
        mode,
        ...common,
        guardFlags: guardFlags.length > 0 ? guardFlags : null,
      };
    }
    case "unwrap":
      return { mode, ...common };
    case "install": {
      const interval = flags.seconds("interval") ?? DEFAULT_INTERVAL;
      if (interval < LEAST_INTERVAL || interval > MOST_INTERVAL) {
        throw new UsageError("--interval must be from 1m to 1d");
      }
      return { mode, interval, dryRun: common.dryRun, agents };
    }
    case "uninstall":
      return { mode, agents };
    case "doctor":
      return { mode, json: flags.is("json"), agents };
    case "day":
      return {
        mode,
        json: flags.is("json"),
        columns: flags.whole("columns", 1000) ?? DEFAULT_COLUMNS,
        colour: flags.is("colour"),
        agents,
      };
    case "explain": {
      const [label] = flags.words;
      if (label === undefined) {
        throw new UsageError("--explain needs the label of a job");
      }
      const hours = flags.whole("window", 168);
      const window = hours === null ? null : hours * 3600;
      return { mode, label, window, agents };
    }
  }
}
