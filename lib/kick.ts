import type { Host } from "./host.ts";
import {
  kickstart,
  type Launchctl,
  launchctlStatus,
  signalJob,
} from "./launchctl.ts";
import {
  groupMembers,
  type GroupTools,
  killLeftovers,
  type Member,
} from "./process_group.ts";
import { reasonOf } from "./reason.ts";
import { hasStarted, isGone, type ServiceStatus } from "./service.ts";
import { pauseOrStop } from "./stop.ts";

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
  /** Clock and sleep. */
  host: Host;
  /** The way to launchd. */
  launchctl: Launchctl;
  /** For what a stopped job leaves behind. */
  group: GroupTools;
  /** Aborted when the catch-up itself is told to end. */
  stop: AbortSignal;
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
  /** It took too long and was stopped; `note` is about its children, or empty. */
  | { kind: "stopped"; note: string; seconds: number }
  /** It took too long and lives on. */
  | { kind: "unstoppable"; why: string; seconds: number }
  /** The catch-up itself was told to end; the job goes on. */
  | { kind: "left"; seconds: number };

/** Told at each look how many seconds the job has had. */
export type Watch = (seconds: number) => void;

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
  watch: Watch,
): Promise<KickEnd> {
  const attempt = await kickstart(kicker.launchctl, label);
  if (attempt.refused) {
    return { kind: "refused", why: attempt.problem ?? "launchctl refused" };
  }
  const seen = (status: ServiceStatus): boolean =>
    hasStarted(before, status) ||
    (before.runs === null && !isGone(status) && status.found === "yes");
  const end = await waitUntilGone(kicker, label, seen, watch);
  return end.kind === "not-seen" && attempt.problem !== null
    ? { ...end, why: `${end.why}; ${attempt.problem}` }
    : end;
}

/**
 * Waits until a job is gone, and stops it if it takes too long.
 *
 * @param seen Whether a look shows that it has started
 */
export async function waitUntilGone(
  kicker: Kicker,
  label: string,
  seen: (status: ServiceStatus) => boolean,
  watch: Watch,
): Promise<KickEnd> {
  const { host, launchctl, stop, timeout } = kicker;
  const begun = host.monotonic();
  const elapsed = (): number => host.monotonic() - begun;
  let started = false;
  let goneBefore = false;
  let pid: number | null = null;
  let heldSince: number | null = null;
  for (let pause = FIRST_PAUSE;; pause = Math.min(pause * 1.5, LONGEST_PAUSE)) {
    const status = await launchctlStatus(launchctl, label);
    started ||= seen(status);
    pid = status.pid ?? pid;
    const gone = isGone(status);
    if (gone && (started || status.found === "no")) {
      // Twice in a row: a slot that came up meanwhile starts it at once again.
      if (goneBefore) return { kind: "ended", status, seconds: elapsed() };
      pause = FIRST_PAUSE;
    }
    goneBefore = gone && started || status.found === "no";
    const held = status.state === "spawn scheduled";
    if (!started && (gone || held) && elapsed() >= START_SECONDS) {
      const why = `launchd did not start it in ${START_SECONDS} s${
        held ? ", it holds it back" : ""
      }`;
      return { kind: "not-seen", why };
    }
    // It ran; that launchd means to start it once more, but does not, is no run.
    heldSince = held ? heldSince ?? elapsed() : null;
    if (heldSince !== null && elapsed() - heldSince >= START_SECONDS) {
      return { kind: "ended", status, seconds: heldSince };
    }
    if (stop.aborted) return { kind: "left", seconds: elapsed() };
    if (elapsed() >= timeout) break;
    watch(elapsed());
    await pauseOrStop(host, stop, pause);
  }
  const problem = await stopWithGroup(kicker, label, pid);
  const seconds = elapsed();
  return problem.alive
    ? { kind: "unstoppable", why: problem.words, seconds }
    : { kind: "stopped", note: problem.words, seconds };
}

/** Stops a job and then what it leaves behind in its group, which its pid names. */
async function stopWithGroup(
  kicker: Kicker,
  label: string,
  pid: number | null,
): Promise<{ alive: boolean; words: string }> {
  const { host, group, grace } = kicker;
  let before: Member[] = [];
  let problem = "";
  try {
    if (pid !== null) before = await groupMembers(group, pid);
  } catch (error) {
    problem = reasonOf(error);
  }
  if (!await terminateJob(kicker, label)) {
    const { problem } = await launchctlStatus(kicker.launchctl, label);
    return { alive: true, words: problem ?? "it outlived SIGTERM and SIGKILL" };
  }
  try {
    if (pid === null || before.length === 0) throw new Error(problem);
    const left = await killLeftovers(group, host, pid, before, grace);
    if (left.alive > 0) {
      return { alive: true, words: "a child of it outlived SIGKILL" };
    }
    const words = left.killed > 0
      ? `killed ${left.killed} of its children as well`
      : "";
    return { alive: false, words };
  } catch (error) {
    const why = reasonOf(error);
    const words = why && `its children were not looked for: ${why}`;
    return { alive: false, words };
  }
}

/**
 * Stops a job for good: SIGTERM, and if it is still there after the grace,
 * SIGKILL. launchctl kill never goes from one to the other by itself.
 *
 * @returns True once the job is gone
 */
export async function terminateJob(
  kicker: Pick<Kicker, "host" | "launchctl" | "grace">,
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
