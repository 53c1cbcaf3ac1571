import type { Finding } from "./candidate.ts";
import type { ProbeResult } from "./catchup_probe.ts";
import type { Policy } from "./circuit.ts";
import type { Host } from "./host.ts";
import type { KickEnd } from "./kick.ts";
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
  host: Host;
  /** Null where there is no launchd. */
  launchctl: Launchctl | null;
  agentsFolder: string;
  /** State folder of agents that name none. */
  folder: string;
  policy: Policy;
  /** Sends one cheap request through the guard. */
  probe(
    folder: string,
    environment: Record<string, string>,
    holdsProbe: boolean,
  ): Promise<ProbeResult>;
  /** Starts a job and waits until it is gone. */
  kick(label: string, before: ServiceStatus): Promise<KickEnd>;
  /** One line about one step. */
  tell(line: string): void;
  /** Notes a kicked job's end for `catchup.log`. */
  note(line: KickNote): void;
}

/** A line of `catchup.log`; times in epoch seconds, `seconds` a length. */
export interface KickNote {
  label: string;
  skip_ts: number;
  kicked_at: number;
  seconds: number;
  outcome: string;
  exit: number | null;
}

/** The verdict on one plist, with the reason in words. */
export interface AgentVerdict {
  label: string;
  path: string;
  candidate: boolean;
  kickable: boolean;
  why: string;
}

/** What a round found and did. */
export interface RoundResult {
  /** In the order of their turn. */
  candidates: string[];
  kicked: number;
  failed: number;
  agents: AgentVerdict[];
  exit: number;
  /** For the table. */
  findings: Finding[];
}
