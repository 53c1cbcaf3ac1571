// The slots of StartCalendarInterval, launchd.plist(5): which instants fire, and
// what the catch-up may conclude from them. Pure; all times are local wall times,
// as launchd's are.

import {
  CALENDAR_RANGES,
  calendarEntries,
  type CalendarEntry,
  calendarProblem,
  entryName,
  type Schedule,
} from "./calendar.ts";

/** No day of any month comes round less often than 29 February of some years. */
const DAYS_AHEAD = 8 * 366;

/** Month and (Day or Weekday): launchd.plist(5) starts the job if either matches. */
function matchesDate(entry: CalendarEntry, date: Temporal.PlainDate): boolean {
  const { Month, Day, Weekday } = entry;
  if (Month !== undefined && Month !== date.month) return false;
  if (Day === undefined && Weekday === undefined) return true;
  return Day === date.day ||
    (Weekday !== undefined && Weekday % 7 === date.dayOfWeek % 7);
}

/**
 * Whether an entry's Month, Day and Weekday match today; a malformed one matches
 * no day.
 */
export function runsToday(
  entry: unknown,
  now: Temporal.ZonedDateTime,
): boolean {
  return calendarEntries([entry]).some((good) =>
    matchesDate(good, now.toPlainDate())
  );
}

/**
 * Why a job has no slot that has passed today and that only the catch-up would
 * make up, in words; null if it has one.
 *
 * A slot equal to now has passed, and a later one today does not matter. One
 * entry that is malformed or has no Hour, and so repeats by itself, rules the
 * whole job out; so does StartInterval.
 */
export function whyNoSlotPassed(
  schedule: Schedule,
  now: Temporal.ZonedDateTime,
): string | null {
  const { calendar, hasStartInterval } = schedule;
  if (hasStartInterval) return "StartInterval repeats by itself";
  if (calendar === undefined) return "no StartCalendarInterval";
  const problem = calendarProblem(calendar);
  if (problem !== null) return problem;
  const entries = calendarEntries(calendar);
  const hourless = entries.findIndex((entry) => entry.Hour === undefined);
  if (hourless >= 0) {
    return `${entryName(calendar, hourless)}no Hour, repeats by itself`;
  }
  const today = now.toPlainDate();
  const passed = entries.some(({ Hour = 0, Minute = 0, ...day }) =>
    matchesDate(day, today) &&
    notAfter(
      instantOf(today.toPlainDateTime({ hour: Hour, minute: Minute }), now),
      now,
    )
  );
  return passed ? null : "no slot has passed today";
}

/**
 * Whether a job has a slot that has passed today and is not made up by launchd
 * itself; see `whyNoSlotPassed`.
 */
export function calendarSlotPassed(
  schedule: Schedule,
  now: Temporal.ZonedDateTime,
): boolean {
  return whyNoSlotPassed(schedule, now) === null;
}

/**
 * The instant of a local wall time: the first of the two in a repeated hour, and
 * the first one after the gap for a time that the clock skips.
 */
function instantOf(
  wall: Temporal.PlainDateTime,
  { timeZoneId }: Temporal.ZonedDateTime,
): Temporal.ZonedDateTime {
  const earlier = wall.toZonedDateTime(timeZoneId, {
    disambiguation: "earlier",
  });
  if (earlier.toPlainDateTime().equals(wall)) return earlier;
  return earlier.getTimeZoneTransition("next") ?? earlier;
}

function notAfter(
  one: Temporal.ZonedDateTime,
  other: Temporal.ZonedDateTime,
): boolean {
  return Temporal.ZonedDateTime.compare(one, other) <= 0;
}

/** An entry's slots on one date, in order. A missing key is a real wildcard. */
function* slotsOn(
  entry: CalendarEntry,
  date: Temporal.PlainDate,
  zone: Temporal.ZonedDateTime,
): Generator<Temporal.ZonedDateTime> {
  if (!matchesDate(entry, date)) return;
  for (const hour of values(entry.Hour, CALENDAR_RANGES.Hour)) {
    for (const minute of values(entry.Minute, CALENDAR_RANGES.Minute)) {
      yield instantOf(date.toPlainDateTime({ hour, minute }), zone);
    }
  }
}

function values(
  value: number | undefined,
  [least, most]: readonly [number, number],
): number[] {
  if (value !== undefined) return [value];
  return Array.from({ length: most - least + 1 }, (_, index) => least + index);
}

/**
 * All slots from one instant to another, both included, in order, each once.
 * Malformed entries have none.
 *
 * @param calendar StartCalendarInterval as it stands
 * @param from Also gives the time zone
 */
export function slotsBetween(
  calendar: unknown,
  from: Temporal.ZonedDateTime,
  to: Temporal.ZonedDateTime,
): Temporal.ZonedDateTime[] {
  const slots = new Map<number, Temporal.ZonedDateTime>();
  const last = to.withTimeZone(from.timeZoneId).toPlainDate();
  for (const entry of calendarEntries(calendar)) {
    // A time that was skipped the day before may fire at the first instant of this.
    let date = from.toPlainDate().subtract({ days: 1 });
    for (
      ;
      Temporal.PlainDate.compare(date, last) <= 0;
      date = date.add({ days: 1 })
    ) {
      for (const slot of slotsOn(entry, date, from)) {
        if (notAfter(from, slot) && notAfter(slot, to)) {
          slots.set(slot.epochMilliseconds, slot);
        }
      }
    }
  }
  return [...slots.values()].sort(Temporal.ZonedDateTime.compare);
}

/**
 * The first slot strictly after an instant; null if there is none within eight
 * years, as for 30 February. Malformed entries have none.
 *
 * @param calendar StartCalendarInterval as it stands
 * @param after Also gives the time zone
 */
export function nextSlot(
  calendar: unknown,
  after: Temporal.ZonedDateTime,
): Temporal.ZonedDateTime | null {
  const entries = calendarEntries(calendar);
  let date = after.toPlainDate();
  for (
    let ahead = 0;
    ahead <= DAYS_AHEAD;
    ahead++, date = date.add({ days: 1 })
  ) {
    let first: Temporal.ZonedDateTime | null = null;
    for (const entry of entries) {
      for (const slot of slotsOn(entry, date, after)) {
        if (first !== null && notAfter(first, slot)) break;
        if (!notAfter(slot, after)) first = slot;
      }
    }
    if (first !== null) return first;
  }
  return null;
}
