import {
  findShownTime,
  type ShownTime,
  validDate,
  type WallTime,
} from "./shown_time.ts";

/** How long a shown minute stands for "now", in seconds. */
const MINUTE = 60;

/** How far ahead a reset may lie when its year had to be guessed, in days. */
const WEEK_BOUND = 8;
const MONTH_BOUND = 32;

/** What is known from elsewhere when a shown time is placed. */
export interface ResetContext {
  /** Start of the call that printed the text, epoch seconds. */
  after: number;
  /** Zone of the called process: used where the text names none that is known. */
  timeZone: string;
  /** Window of the limit, which bounds how far a guessed year may lie ahead. */
  window?: string | null;
  /** When the text was printed, epoch seconds: relative waits count from here. Default: `after`. */
  printedAt?: number;
}

/**
 * Reads the reset that a limit message names, in every form that Claude Code
 * 0.2 to 2.1.332, its API and its gateways print: `|1755615600`, `resets 3pm
 * (Asia/Tokyo)`, `resets Dec 3, 12:02am`, `resets Mon 12:00am`, `regain access
 * on 2027-02-01 at 00:00 UTC`, `try again in 45m`; or a text that is nothing
 * but such a time.
 *
 * A shown time stands for its whole minute: one that began less than 60 s
 * before `after` is that one, else the next such instant is meant. A day
 * without a clock stands for its start, and for its end once it has begun. The
 * result may have passed by now; then the limit is over.
 *
 * @returns epoch seconds; null where nothing is shown, where it is impossible
 * (`25pm`, Feb 30), lies before the call, or where a guessed year puts it
 * further ahead than the window can last
 */
export function parseResetTime(
  text: string,
  options: ResetContext,
): number | null {
  const shown = findShownTime(text);
  return shown === null ? null : placeShownTime(shown, options);
}

/** Places a shown time on the calendar; see {@link parseResetTime}. */
export function placeShownTime(
  shown: ShownTime,
  context: ResetContext,
): number | null {
  if (shown.form === "epoch") {
    return shown.seconds >= context.after ? shown.seconds : null;
  }
  if (shown.form === "wait") {
    return (context.printedAt ?? context.after) + shown.seconds;
  }
  const zone = knownZone(shown.zone) ?? knownZone(context.timeZone) ?? "UTC";
  const from = Temporal.Instant
    .fromEpochMilliseconds(Math.floor(context.after) * 1000)
    .toZonedDateTimeISO(zone).toPlainDate();
  const found = candidateDates(shown, from)
    .flatMap((date) => instantsOf(shown, date, zone, context.after))
    .filter((instant) => instant + MINUTE > context.after);
  if (found.length === 0) return null;
  const instant = Math.min(...found);
  if (shown.month === null || shown.year !== null) return instant;
  const bound = isWeekOrLess(context.window ?? null) ? WEEK_BOUND : MONTH_BOUND;
  return instant - context.after <= bound * 86_400 ? instant : null;
}

function isWeekOrLess(window: string | null): boolean {
  return window !== null && /^(?:five_hour|seven_day)/.test(window);
}

/** The dates that a shown time may mean, seen from the local date of the call. */
function candidateDates(
  shown: WallTime,
  from: Temporal.PlainDate,
): Temporal.PlainDate[] {
  if (shown.daysAhead !== null) {
    return [from.add({ days: shown.daysAhead })];
  }
  const { month, day } = shown;
  if (month !== null && day !== null) {
    const years = shown.year === null
      ? [from.year, from.year + 1]
      : [shown.year];
    return years.flatMap((year) => validDate(year, month, day));
  }
  const ahead = [0, 1, 2, 3, 4, 5, 6, 7].map((days) => from.add({ days }));
  return shown.weekday === null
    ? ahead.slice(0, 3)
    : ahead.filter((date) => date.dayOfWeek === shown.weekday);
}

/** Both instants of an hour that is repeated; the later reading of one that is skipped. */
function instantsOf(
  shown: WallTime,
  date: Temporal.PlainDate,
  zone: string,
  after: number,
): number[] {
  if (shown.hour === null) {
    const start = seconds(date.toZonedDateTime(zone));
    return start + MINUTE > after
      ? [start]
      : [seconds(date.add({ days: 1 }).toZonedDateTime(zone))];
  }
  const { hour, minute, second } = shown;
  const wall = date.toPlainDateTime({ hour, minute, second });
  const earlier = wall.toZonedDateTime(zone, { disambiguation: "earlier" });
  const later = wall.toZonedDateTime(zone, { disambiguation: "later" });
  return earlier.toPlainDateTime().equals(wall)
    ? [seconds(earlier), seconds(later)]
    : [seconds(later)];
}

function seconds(time: Temporal.ZonedDateTime): number {
  return Math.floor(time.epochMilliseconds / 1000);
}

/** The zone in a spelling that Temporal accepts, or null if it names none. */
function knownZone(shown: string | null): string | null {
  if (shown === null) return null;
  const offset = /^(?:UTC|GMT)?([+-])(\d{1,2}):?(\d{2})?$/i.exec(shown);
  const zone = offset !== null
    ? `${offset[1]}${(offset[2] ?? "").padStart(2, "0")}:${offset[3] ?? "00"}`
    : /^z$/i.test(shown)
    ? "UTC"
    : shown.replace(/^:/, "");
  try {
    return new Temporal.ZonedDateTime(0n, zone).timeZoneId;
  } catch {
    return null;
  }
}
