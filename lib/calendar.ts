// StartCalendarInterval as it is written, launchd.plist(5): its entries, what is
// wrong with them, and words for them. Pure. When they fire: slot.ts.

import { formatDuration } from "./duration.ts";

/** A key of a StartCalendarInterval dictionary. */
export type CalendarKey = "Minute" | "Hour" | "Day" | "Weekday" | "Month";

/** One dictionary of StartCalendarInterval; a missing key is a wildcard. */
export type CalendarEntry = Partial<Record<CalendarKey, number>>;

/** Smallest and largest value of each key; both 0 and 7 are Sunday. */
export const CALENDAR_RANGES: Readonly<
  Record<CalendarKey, readonly [number, number]>
> = {
  Minute: [0, 59],
  Hour: [0, 23],
  Day: [1, 31],
  Weekday: [0, 7],
  Month: [1, 12],
};

/** The keys of a LaunchAgent that decide when launchd starts it. */
export interface Schedule {
  /** Key `StartCalendarInterval` as it stands; undefined if absent. */
  calendar: unknown;
  /** Whether there is a key `StartInterval`, good or bad. */
  hasStartInterval: boolean;
  /** Key `StartInterval` in seconds, if it is a number above zero. */
  startInterval?: number | null;
  /** Key `KeepAlive` is true or a dictionary of conditions. */
  keepAlive?: boolean;
  /** Key `RunAtLoad` is true. */
  runAtLoad?: boolean;
}

/** The parts of a calendar: one for a dictionary; null if it is no array either. */
function parts(calendar: unknown): unknown[] | null {
  if (Array.isArray(calendar)) return calendar;
  return isDictionary(calendar) ? [calendar] : null;
}

/** Whether a value of a property list is a dictionary; dates and data are not. */
export function isDictionary(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null &&
    Object.getPrototypeOf(value) === Object.prototype;
}

/** What is wrong with an entry, in words; null if nothing. */
function entryProblem(entry: unknown): string | null {
  if (!isDictionary(entry)) return "no dictionary";
  for (const [key, value] of Object.entries(entry)) {
    const proper = (Object.keys(CALENDAR_RANGES) as CalendarKey[])
      .find((known) => known.toLowerCase() === key.toLowerCase());
    // launchd ignores keys that it does not know.
    if (proper === undefined) continue;
    if (key !== proper) return `the key "${key}" must be written ${proper}`;
    const [least, most] = CALENDAR_RANGES[proper];
    if (typeof value !== "number" || !Number.isInteger(value)) {
      return `${key} is ${shown(value)}, not an integer`;
    }
    if (value < least || value > most) {
      return `${key} is ${value}, not in ${least} to ${most}`;
    }
  }
  return null;
}

/** A value as it might stand in a file, cut where it is no use to anybody. */
function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 30 ? `${text.slice(0, 30)}...` : text;
}

/** The entries that are in order; none for what is no calendar. */
export function calendarEntries(calendar: unknown): CalendarEntry[] {
  return (parts(calendar) ?? [])
    .filter((entry): entry is CalendarEntry => entryProblem(entry) === null);
}

/**
 * Which part of a calendar is malformed, and how: `entry 2: Hour is 25, not in 0
 * to 23`. launchd drops such an entry or takes the key for a wildcard, depending
 * on its version, so nothing is concluded from it.
 *
 * @param calendar StartCalendarInterval as it stands; undefined is in order
 */
export function calendarProblem(calendar: unknown): string | null {
  if (calendar === undefined) return null;
  const entries = parts(calendar);
  if (entries === null) {
    return "StartCalendarInterval is no dictionary and no array";
  }
  const problems = entries.map(entryProblem);
  const index = problems.findIndex((problem) => problem !== null);
  return index < 0 ? null : entryName(calendar, index) + problems[index];
}

/** What goes before a remark about an entry: nothing if it is the only one. */
export function entryName(calendar: unknown, index: number): string {
  return Array.isArray(calendar) ? `entry ${index + 1}: ` : "";
}

/**
 * What in a calendar is in order but read differently by versions of launchd:
 * Month together with Weekday. The documentation lets both count, as is done
 * here; the last published source ignores the month.
 */
export function calendarUncertain(calendar: unknown): string | null {
  const uncertain = calendarEntries(calendar).some((entry) =>
    entry.Month !== undefined && entry.Weekday !== undefined
  );
  return uncertain ? "uncertain: Month with Weekday" : null;
}

const WEEKDAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** More times or days than this are cut, so that a table keeps its shape. */
const LONGEST_LIST = 4;

/**
 * When launchd starts a job, in words for a table: `daily 08:00, 10:30`, `Mon-Fri
 * 09:00`, `day 1 09:00`, `hourly at :05`, `every 30 min`.
 */
export function describeSchedule(schedule: Schedule): string {
  const words: string[] = [];
  if (schedule.calendar !== undefined) {
    words.push(describeCalendar(schedule.calendar));
  }
  if (schedule.hasStartInterval) {
    const seconds = schedule.startInterval ?? null;
    words.push(
      seconds === null
        ? "StartInterval malformed"
        : `every ${formatDuration(seconds)}`,
    );
  }
  if (words.length > 0) return words.join(" + ");
  if (schedule.keepAlive) return "always";
  return schedule.runAtLoad ? "at login" : "on demand";
}

function describeCalendar(calendar: unknown): string {
  // Entries that differ in the weekday only, or in the day of the month only.
  const groups = new Map<string, CalendarEntry[]>();
  for (const entry of calendarEntries(calendar)) {
    const { Minute, Hour, Month, Day, Weekday } = entry;
    const key = [
      Month,
      Day === undefined || Weekday === undefined || `${Day},${Weekday}`,
      Day === undefined,
      Weekday === undefined,
      Hour,
      Minute,
    ].join();
    groups.set(key, [...groups.get(key) ?? [], entry]);
  }
  // Groups that have their days in common, and tell the time in the same way.
  const lines = new Map<string, string[]>();
  for (const group of groups.values()) {
    const days = describeDays(group);
    const [kind, time] = describeTime(group[0] ?? {});
    // What repeats all day needs no word for every day.
    const key = `${kind !== "" && days === "daily" ? "" : `${days} `}${kind}`;
    lines.set(key, [...lines.get(key) ?? [], time]);
  }
  const words = [...lines].map(([key, times]) =>
    (key + shorten(times.sort())).trim()
  );
  const remarks = [calendarProblem(calendar), calendarUncertain(calendar)]
    .filter((remark) => remark !== null);
  return [shorten(words, "; "), ...remarks]
    .filter((word) => word !== "").join("; ") || "never";
}

function describeTime(
  { Hour, Minute }: CalendarEntry,
): [kind: string, time: string] {
  const hour = String(Hour).padStart(2, "0");
  const minute = String(Minute).padStart(2, "0");
  if (Minute === undefined) {
    return Hour === undefined
      ? ["every minute", ""]
      : ["every minute of ", `${hour}:xx`];
  }
  return Hour === undefined
    ? ["hourly at ", `:${minute}`]
    : ["", `${hour}:${minute}`];
}

/** The days of entries that have the same keys. */
function describeDays(group: CalendarEntry[]): string {
  const { Month, Day, Weekday } = group[0] ?? {};
  const month = Month === undefined ? "" : `${MONTHS[Month - 1]} `;
  const words: string[] = [];
  if (Day !== undefined) {
    words.push(`day ${ranges(group.map((entry) => entry.Day ?? 0), String)}`);
  }
  if (Weekday !== undefined) {
    // Sunday is last in a week that starts on Monday.
    const days = group.map((entry) => entry.Weekday || 7);
    words.push(ranges(days, (day) => WEEKDAYS[day % 7] ?? ""));
  }
  return month + (words.join(" or ") || "daily");
}

/** `Mon-Fri`, `1, 15`: what follows one on another is drawn together from three on. */
function ranges(values: number[], name: (value: number) => string): string {
  const sorted = [...new Set(values)].sort((one, other) => one - other);
  const words: string[] = [];
  for (let from = 0; from < sorted.length;) {
    let to = from;
    while (sorted[to + 1] === (sorted[to] ?? 0) + 1) to++;
    const span = sorted.slice(from, to + 1).map(name);
    words.push(...span.length > 2 ? [`${span[0]}-${span.at(-1)}`] : span);
    from = to + 1;
  }
  return words.join(", ");
}

function shorten(words: string[], separator = ", "): string {
  if (words.length <= LONGEST_LIST) return words.join(separator);
  const first = words.slice(0, LONGEST_LIST - 1);
  return `${first.join(separator)}${separator}${
    words.length - first.length
  } more`;
}
