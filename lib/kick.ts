import type { Host } from "./host.ts";
import {
  kickstart,
  type Launchctl,
  launchctlStatus,
  signalJob,
} from "./launchctl.ts";
import { hasStarted, isGone, type ServiceStatus } from "./service.ts";

/** Longest run of a job before it is stopped: lanes that generate took over 20 minutes. */
export const JOB_TIMEOUT_SECONDS = 2700;
/** Between SIGTERM and SIGKILL, and after it. */
export const JOB_KILL_GRACE_SECONDS = 30;
/** launchd holds a start back for 10 s after the last one (ThrottleInterval). */
const START_SECONDS = 60;
const FIRST_PAUSE = 0.1;
const LONGEST_PAUSE = 2;

/** What a kick works with. */
export interface Kicker {
  host: Host;
  launchctl: Launchctl;
  /** Seconds until a job is stopped. */
  timeout: number;
  /** Seconds between SIGTERM and SIGKILL. */
  grace: number;
}

/** How a kicked job ended. */
export type KickEnd =
  /** launchd has said no: nothing was started. */
  | { kind: "refused"; why: string }
  /** It was asked to start it, and nothing was seen of the job since. */
  | { kind: "not-seen"; why: string }
  /** It ran and is gone. */
  | { kind: "ended"; status: ServiceStatus; seconds: number }
  /** It took too long and was stopped. */
  | { kind: "stopped"; seconds: number }
  /** It took too long and lives on. */
  | { kind: "unstoppable"; why: string };

/**
 * Starts a job and waits until it is gone; stops it if it takes too long, since
 * the next one must not run beside it. Time that the machine sleeps does not
 * count.
 *
 * @param before The job as seen right before
 */
export async function kickAndWait(
  kicker: Kicker,
  label: string,
  before: ServiceStatus,
): Promise<KickEnd> {
  const { host, launchctl } = kicker;
  const attempt = await kickstart(launchctl, label);
  if (attempt.refused) {
    return { kind: "refused", why: attempt.problem ?? "launchctl refused" };
  }
  const begun = host.monotonic();
  const elapsed = (): number => host.monotonic() - begun;
  let started = false;
  for (let pause = FIRST_PAUSE;; pause = Math.min(pause * 1.5, LONGEST_PAUSE)) {
    const status = await launchctlStatus(launchctl, label);
    started ||= hasStarted(before, status) ||
      (before.runs === null && !isGone(status) && status.found === "yes");
    if (isGone(status) && (started || status.found === "no")) {
      return { kind: "ended", status, seconds: elapsed() };
    }
    if (!started && isGone(status) && elapsed() >= START_SECONDS) {
      const why = attempt.problem ??
        `launchd did not start it in ${START_SECONDS} s`;
      return { kind: "not-seen", why };
    }
    if (elapsed() >= kicker.timeout) break;
    await host.sleep(pause);
  }
  const gone = await terminateJob(kicker, label);
  return gone
    ? { kind: "stopped", seconds: elapsed() }
    : { kind: "unstoppable", why: "it outlived SIGTERM and SIGKILL" };
}

/**
 * Stops a job for good: SIGTERM, and if it is still there after the grace,
 * SIGKILL. launchctl kill never goes from one to the other by itself.
 *
 * @returns True once the job is gone
 */
export async function terminateJob(
  kicker: Kicker,
  label: string,
): Promise<boolean> {
  const { host, launchctl, grace } = kicker;
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    await signalJob(launchctl, signal, label);
    const deadline = host.monotonic() + grace;
    for (
      let pause = FIRST_PAUSE;;
      pause = Math.min(pause * 1.5, LONGEST_PAUSE)
    ) {
      if (isGone(await launchctlStatus(launchctl, label))) return true;
      if (host.monotonic() >= deadline) break;
      await host.sleep(pause);
    }
  }
  return false;
}
