import type { Books, Kick } from "./books.ts";
import type { Candidate } from "./candidate.ts";
import { formatDuration } from "./duration.ts";
import { formatInstant, zoned } from "./instant.ts";
import { isGone, type ServiceStatus } from "./service.ts";
import { slotsBetween } from "./slot.ts";

/** A job is kicked so often on one day, no more. */
const KICKS_A_DAY = 3;
/** A slot so near ahead makes the skip up by itself, in seconds. */
const SLOT_AHEAD = 1800;
const SLOT_AHEAD_AT_MOST = 3600;
/** launchd may be starting a slot so long after it, in seconds. */
const SLOT_BEHIND = 60;

/** A moment and the zone to see it in. */
export interface Moment {
  /** Epoch seconds. */
  now: number;
  /** IANA name. */
  timeZone: string;
}

/** What speaks against kicking a candidate now, as far as the books tell; null for nothing. */
export function whyNotNow(
  candidate: Candidate,
  books: Books,
  moment: Moment,
): string | null {
  const { options, skip, agent } = candidate;
  const { now, timeZone } = moment;
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
  if (kicksToday(kick, skip.ts, moment) >= KICKS_A_DAY) {
    return `kicked ${KICKS_A_DAY} times today already`;
  }
  return whySlotIsNear(agent.calendar, candidate, books, moment);
}

/**
 * How often a job was kicked on the local day of `now`. A kick that is open
 * counts once its skip is over: then it was made.
 */
export function kicksToday(
  kick: Kick | undefined,
  skipTs: number,
  { now, timeZone }: Moment,
): number {
  if (kick === undefined) return 0;
  const day = zoned(kick.at, timeZone).toPlainDate();
  if (!day.equals(zoned(now, timeZone).toPlainDate())) return 0;
  return kick.count + (kick.done || kick.skip_ts === skipTs ? 0 : 1);
}

/** launchd starts a job again right after a kick that runs into its slot. */
function whySlotIsNear(
  calendar: unknown,
  { options }: Candidate,
  books: Books,
  { now, timeZone }: Moment,
): string | null {
  const lastSeconds = books.jobs.get(options.label)?.seconds ?? 0;
  const ahead = Math.min(
    Math.max(SLOT_AHEAD, 2 * lastSeconds),
    SLOT_AHEAD_AT_MOST,
  );
  const here = zoned(now, timeZone);
  const [slot] = slotsBetween(
    calendar,
    here.subtract({ seconds: SLOT_BEHIND }),
    here.add({ seconds: ahead }),
  );
  if (slot === undefined) return null;
  const at = formatInstant(slot.epochMilliseconds / 1000, now, timeZone);
  return slot.epochMilliseconds / 1000 <= now
    ? `launchd is starting its ${at} slot`
    : `its ${at} slot will make it up`;
}

/**
 * Whether a slot of the job has passed since its skip and since the last round
 * without a run: the machine was asleep then, and launchd makes such a slot up
 * when it wakes.
 *
 * @param lastRound Epoch seconds; without one nothing is known
 */
export function slotWasMissed(
  { agent, skip }: Candidate,
  lastRound: number | undefined,
  { now, timeZone }: Moment,
): boolean {
  if (lastRound === undefined) return false;
  const from = Math.max(skip.ts, lastRound) + SLOT_BEHIND;
  const until = now - SLOT_BEHIND;
  if (from >= until) return false;
  return slotsBetween(
    agent.calendar,
    zoned(from, timeZone),
    zoned(until, timeZone),
  ).length > 0;
}

/** A job as launchd shows it, and what bears on it. */
export interface LaunchdView {
  /** As `launchctl print` shows it. */
  status: ServiceStatus;
  /** By `launchctl disable` and `enable`; null if launchd could not be asked. */
  disabled: ReadonlyMap<string, boolean> | null;
  /** The plist in force is another file that has the same label. */
  overruledBy: string | null;
}

/** What launchd says against kicking a candidate; null for nothing. */
export function whyNotByLaunchd(
  candidate: Candidate,
  { status, disabled, overruledBy }: LaunchdView,
  books: Books,
  moment: Moment,
): string | null {
  const { agent, options, skip } = candidate;
  if (status.found !== "yes") return status.problem ?? "not loaded";
  if (disabled?.get(agent.label) ?? agent.disabled ?? false) {
    return `disabled: run launchctl enable gui/UID/${agent.label}`;
  }
  if (overruledBy !== null) {
    return `launchd has the job of this label from "${overruledBy}"`;
  }
  if (!isGone(status)) {
    return `running already (${status.state ?? "state unknown"})`;
  }
  // A round that died after recording this kick: the count of starts tells
  // whether launchd ever got it.
  const kick = books.kicks.get(options.label);
  const interrupted = kick?.skip_ts === skip.ts && !kick.done;
  if (interrupted && (kick.runs === null || status.runs !== kick.runs)) {
    return "kicked for this skip already; how it ended is not known";
  }
  // What launchd holds is what fires; the file may be newer.
  return whySlotIsNear(status.calendar, candidate, books, moment);
}
