import type { JobMarker } from "./marker.ts";
import type { KickEnd } from "./kick.ts";
import type { ServiceStatus } from "./service.ts";

/** How a kicked job ended, in words for the log and with its exit code. */
export interface Outcome {
  /** What the round counts as a failure. */
  failed: boolean;
  /** For people, without the label. */
  words: string;
  /** Null if it is not known. */
  exit: number | null;
  /** It met the limit once more. */
  skippedAgain: boolean;
}

/**
 * Tells how a kicked job ended: by its marker, else by what launchd knows.
 *
 * @param marker Its newest marker, if that is another one than before the kick
 */
export function outcomeOf(end: KickEnd, marker: JobMarker | null): Outcome {
  const outcome = (
    failed: boolean,
    words: string,
    exit: number | null,
  ): Outcome => ({ failed, words, exit, skippedAgain: false });
  switch (end.kind) {
    case "refused":
      return outcome(true, `not started: ${end.why}`, null);
    case "not-seen":
      return outcome(true, `not seen to start: ${end.why}`, null);
    case "left":
      return outcome(false, "left running", null);
    case "unstoppable":
      return outcome(true, `took too long and lives on: ${end.why}`, null);
    case "stopped":
      return outcome(
        true,
        `stopped, it took too long${end.note && `; ${end.note}`}`,
        marker?.exit ?? null,
      );
    case "ended":
      if (marker === null) return byLaunchd(end.status);
      if (marker.kind === "SKIPPED") {
        const words = `skipped again (${marker.reason ?? "quota"})`;
        return { ...outcome(false, words, marker.exit), skippedAgain: true };
      }
      return outcome(
        marker.exit !== 0,
        `ran, exit ${marker.exit ?? "unknown"}${
          marker.end === null ? "" : `, ${marker.end}`
        }`,
        marker.exit,
      );
  }
}

/** Without a marker of the guard's, launchd knows how a job ended. */
function byLaunchd(status: ServiceStatus): Outcome {
  const { found, lastExit, lastSignal, lastReason } = status;
  const exit = lastSignal === null ? lastExit : 128 + lastSignal;
  const how = found === "no"
    ? "launchd does not know it any more; whether it ran is not known"
    : lastSignal !== null
    ? `ended by signal ${lastSignal}`
    : lastExit !== null
    ? `ended with exit ${lastExit}`
    : `ended, ${lastReason ?? "nobody says how"}`;
  return {
    failed: exit !== 0,
    words: `${how}; no marker in its log`,
    exit,
    skippedAgain: false,
  };
}
