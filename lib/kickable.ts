import type { Books, Kick } from "./books.ts";
import type { Candidate } from "./candidate.ts";
import { formatDuration } from "./duration.ts";
import { formatInstant, zoned } from "./instant.ts";
import { isGone, type ServiceStatus } from "./service.ts";
import { slotsBetween } from "./slot.ts";

/** A job is kicked so often on one day, no more. */
export const KICKS_A_DAY = 3;
/** A slot so near ahead makes the skip up by itself, in seconds. */
const SLOT_AHEAD = 1800;
const SLOT_AHEAD_AT_MOST = 3600;
/** launchd may be starting a slot so long after it, in seconds. */
const SLOT_BEHIND = 60;

/** What speaks against kicking a candidate now, as far as the books tell; null for nothing. */
export function whyNotNow(
  candidate: Candidate,
  books: Books,
  now: number,
  timeZone: string,
): string | null {
  const { options, skip } = candidate;
  const at = (instant: number): string => formatInstant(instant, now, timeZone);
  if (options.expires !== null && now > skip.ts + options.expires) {
    return options.expires === 0
      ? "never caught up (--expires 0)"
      : `expired ${at(skip.ts + options.expires)} (--expires ${
        formatDuration(options.expires)
      } after the skip)`;
  }
  const job = books.jobs.get(options.label);
  const owedFrom = job?.ts === skip.ts ? job.owed_from : null;
  if (owedFrom !== null && owedFrom > now) {
    return `its model's limit lasts until ${at(owedFrom)}`;
  }
  const kick = books.kicks.get(options.label);
  if (kick?.skip_ts === skip.ts && kick.done) {
    return `kicked for this skip already, ${at(kick.at)}`;
  }
  if (kicksToday(kick, now, timeZone) >= KICKS_A_DAY) {
    return `kicked ${KICKS_A_DAY} times today already`;
  }
  return slotNear(candidate, job?.seconds ?? 0, now, timeZone);
}

/** How often a job was kicked on the local day of `now`. */
export function kicksToday(
  kick: Kick | undefined,
  now: number,
  timeZone: string,
): number {
  if (kick === undefined) return 0;
  const day = zoned(kick.at, timeZone).toPlainDate();
  return day.equals(zoned(now, timeZone).toPlainDate()) ? kick.count : 0;
}

/** launchd starts a job again right after a kick that runs into its slot. */
function slotNear(
  { agent }: Candidate,
  lastSeconds: number,
  now: number,
  timeZone: string,
): string | null {
  const ahead = Math.min(
    Math.max(SLOT_AHEAD, 2 * lastSeconds),
    SLOT_AHEAD_AT_MOST,
  );
  const here = zoned(now, timeZone);
  const [slot] = slotsBetween(
    agent.calendar,
    here.subtract({ seconds: SLOT_BEHIND }),
    here.add({ seconds: ahead }),
  );
  if (slot === undefined) return null;
  const at = formatInstant(slot.epochMilliseconds / 1000, now, timeZone);
  return slot.epochMilliseconds / 1000 <= now
    ? `launchd is starting its ${at} slot`
    : `its ${at} slot will make it up`;
}

/** What launchd says against kicking a candidate; null for nothing. */
export function whyNotByLaunchd(
  candidate: Candidate,
  status: ServiceStatus,
  disabled: ReadonlyMap<string, boolean> | null,
  kick: Kick | undefined,
): string | null {
  if (status.found !== "yes") return status.problem ?? "not loaded";
  if (disabled?.get(candidate.agent.label) === true) {
    return `disabled: run launchctl enable gui/UID/${candidate.agent.label}`;
  }
  if (!isGone(status)) {
    return `running already (${status.state ?? "state unknown"})`;
  }
  // A round that died after recording this kick: the count of starts tells
  // whether launchd ever got it.
  const interrupted = kick?.skip_ts === candidate.skip.ts && !kick.done;
  if (interrupted && (kick.runs === null || status.runs !== kick.runs)) {
    return "kicked for this skip already; how it ended is not known";
  }
  return null;
}
