import type { Finding } from "./candidate.ts";
import type { ProbeResult } from "./catchup_probe.ts";
import type { Policy } from "./circuit.ts";
import type { Host } from "./host.ts";
import type { KickEnd, Watch } from "./kick.ts";
import type { Launchctl } from "./launchctl.ts";
import type { ServiceStatus } from "./service.ts";

/** Exit codes of the catch-up. */
export const EXIT = { done: 0, failed: 1, usage: 2, circuitOpen: 75 } as const;

/** What a round may do. */
export interface CatchupOptions {
  /** Look, spend nothing, start nothing. */
  dryRun: boolean;
  /** Start without asking claude first. */
  noProbe: boolean;
  /** How far back a skip counts, in seconds; null: today, local time. */
  window: number | null;
}

/** The world of a round; tests put their own doors here. */
export interface CatchupWorld {
  /** Clock, environment, standard error. */
  host: Host;
  /** Null where there is no launchd. */
  launchctl: Launchctl | null;
  /** Aborted when the catch-up itself is told to end. */
  stop: AbortSignal;
  /** Where the plists are. */
  agentsFolder: string;
  /** State folder of agents that name none. */
  folder: string;
  /** Interval of the probes. */
  policy: Policy;
  /** Sends one cheap request through the guard. */
  probe(
    folder: string,
    environment: Record<string, string>,
    holdsProbe: boolean,
  ): Promise<ProbeResult>;
  /** Starts a job and waits until it is gone; `before` is the last look at it. */
  kick(label: string, before: ServiceStatus, watch: Watch): Promise<KickEnd>;
  /** Waits until a job is gone that an earlier round has kicked. */
  wait(label: string, watch: Watch): Promise<KickEnd>;
  /** One line about one step. */
  tell(line: string): void;
  /** What goes on at this moment, for a terminal; null: nothing any more. */
  progress(line: string | null): void;
  /** Notes a kicked job's end for `catchup.log` in a state folder. */
  note(folder: string, line: KickNote): void;
}

/** A line of `catchup.log`. */
export interface KickNote {
  /** launchd's label. */
  label: string;
  /** Time stamp of the skip, epoch seconds. */
  skip_ts: number;
  /** Epoch seconds. */
  kicked_at: number;
  /** How long it was waited for. */
  seconds: number;
  /** In words. */
  outcome: string;
  /** Null if it is not known. */
  exit: number | null;
}

/** The verdict on one plist, with the reason in words. */
export interface AgentVerdict {
  /** launchd's label; by the file name if the plist cannot be read. */
  label: string;
  /** The plist. */
  path: string;
  /** Guarded, skipped today, and a slot has passed today. */
  candidate: boolean;
  /** Nothing speaks against a kick now. */
  kickable: boolean;
  /** In words a user understands. */
  why: string;
}

/** What a round found and did. */
export interface RoundResult {
  /** Labels in the order of their turn. */
  candidates: string[];
  /** Jobs that launchd was made to start. */
  kicked: number;
  /** Those that failed or could not be started. */
  failed: number;
  /** One for each plist. */
  agents: AgentVerdict[];
  /** The exit code. */
  exit: number;
  /** For the table. */
  findings: Finding[];
}
