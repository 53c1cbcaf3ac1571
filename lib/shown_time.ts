/** Most characters of a message that are looked at. */
const MAX_CHARS = 4000;

const MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split(" ");
const WEEKDAYS = "mon tue wed thu fri sat sun".split(" ");

const EPOCH = /\|?\s*(\d{10})(\d{3})?(?![\d:])/y;
const WAIT =
  /(?:in\s+)?((?:\d{1,6}(?:\.\d{1,3})?\s?(?:days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)(?![a-z])(?:,?\s?(?:and\s)?(?=\d))?)+)/iy;
const WAIT_PART = /(\d+(?:\.\d+)?)\s?([dhms])/gi;
const ISO_DATE = /(\d{4})([-/])(\d{1,2})\2(\d{1,2})(?!\d)/y;
const MONTH =
  "(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)(?![a-z])\\.?";
const YEAR = "(?:,?\\s(\\d{4})(?![\\d:]|\\s?[ap]m))?";
const MONTH_DAY = new RegExp(
  `${MONTH}\\s(\\d{1,2})(?:st|nd|rd|th)?(?![\\d:]|\\s?[ap]\\.?m)${YEAR}`,
  "iy",
);
const DAY_MONTH = new RegExp(
  `(\\d{1,2})(?:st|nd|rd|th)?\\s(?:of\\s)?${MONTH}${YEAR}`,
  "iy",
);
const WEEKDAY =
  /(mon|tue|wed|thu|fri|sat|sun)(?:day|sday|nesday|rsday|urday)?(?![a-z])\.?/iy;
const NEAR_DAY = /(today|tonight|tomorrow)(?![a-z])/iy;
const CLOCK =
  /(?:(\d{1,4})(?::(\d{1,2})(?::(\d{1,2})(?:\.\d+)?)?)?(?!\d)\s?([ap])\.?m(?![a-z])\.?|(\d{1,4}):(\d{1,2})(?::(\d{1,2})(?:\.\d+)?)?(?![\d:])|(noon|midnight)(?![a-z]))/iy;
const BEFORE_CLOCK = /(?:,?\s?(?:at\s|@\s?)?|t)(?=[\dmn])/iy;
const BEFORE_DATE = /,?\s?(?:on\s)?/iy;
const BRACKETED_ZONE = /\s?\(([\w+\-/:]{1,40}(?:\s[\w+\-/:]{1,40}){0,2})\)/y;
const BARE_ZONE =
  /\s?((?:UTC|GMT)(?:[+-]\d{1,2}(?::?\d{2})?)?(?![a-z])|Z(?![a-z])|[+-]\d{2}:?\d{2}(?!\d)|(?:[A-Z][A-Za-z_]+\/)+[A-Za-z_+\d-]+)/y;
const KEYWORD =
  /(reset(?:s|ting)?|regain access|renews?|refresh(?:es)?|refills?|try again|retry(?:ing)?|automatically|available(?: again)?)[\s:]+(?:(?:at|on|in|after|by|about|around)\s)*/gi;

/** A date and clock as shown, before it is placed on the calendar; null where nothing was shown. */
export interface WallTime {
  /** Tells it from the other forms. */
  form: "wall";
  /** In full, such as 2026. */
  year: number | null;
  /** 1 for January. */
  month: number | null;
  /** Of the month. */
  day: number | null;
  /** 1 for Monday to 7 for Sunday. */
  weekday: number | null;
  /** 0 for "today", 1 for "tomorrow". */
  daysAhead: number | null;
  /** 0 to 23. */
  hour: number | null;
  /** 0 to 59. */
  minute: number;
  /** 0 to 59. */
  second: number;
  /** As shown, without white space: may name no known zone. */
  zone: string | null;
}

/** What a message says about its reset: an epoch, a wait (both in seconds) or a wall time. */
export type ShownTime =
  | { form: "epoch"; seconds: number }
  | { form: "wait"; seconds: number }
  | WallTime;

/**
 * Finds the time in a text: a piped epoch, else the first one after a word such
 * as `resets`, else the text as a whole. A `resets` with an impossible time is
 * null, whatever follows.
 */
export function findShownTime(text: string): ShownTime | null {
  const flat = text.slice(0, MAX_CHARS).replace(/\s+/g, " ").trim();
  const piped = flat.search(/\|\s?\d{10}/);
  if (piped >= 0) return readShownTime(flat, piped)?.time ?? null;
  let other: ShownTime | null = null;
  for (const match of flat.matchAll(KEYWORD)) {
    const read = readShownTime(flat, match.index + match[0].length);
    if (/^(?:reset|regain)/i.test(match[0])) {
      if (read !== null) return read.time;
      if (/^\d/.test(flat.slice(match.index + match[0].length))) return null;
    }
    other ??= read?.time ?? null;
  }
  if (other !== null) return other;
  const whole = readShownTime(flat, 0);
  return whole !== null && /^[\s.!)]*$/.test(flat.slice(whole.end))
    ? whole.time
    : null;
}

/**
 * Reads the time that starts at `position`, with its zone, and says where it
 * ends. Null if there is none or its values are impossible.
 */
export function readShownTime(
  text: string,
  position: number,
): { time: ShownTime; end: number } | null {
  const epoch = matchAt(EPOCH, text, position);
  if (epoch !== null) {
    return {
      time: { form: "epoch", seconds: Number(epoch[1]) },
      end: position + epoch[0].length,
    };
  }
  const wait = matchAt(WAIT, text, position);
  if (wait !== null) {
    const end = position + wait[0].length;
    const time: ShownTime = { form: "wait", seconds: sumOfWait(wait[0]) };
    return { time, end: end + lengthAt(BRACKETED_ZONE, text, end) };
  }
  return readWallTime(text, position);
}

/** The date as a list of one; empty if the calendar has no such day. */
export function validDate(
  year: number,
  month: number,
  day: number,
): Temporal.PlainDate[] {
  try {
    return [Temporal.PlainDate.from({ year, month, day }, {
      overflow: "reject",
    })];
  } catch {
    return [];
  }
}

function sumOfWait(text: string): number {
  const length: Record<string, number> = { d: 86_400, h: 3600, m: 60, s: 1 };
  let sum = 0;
  for (const part of text.matchAll(WAIT_PART)) {
    sum += Number(part[1]) * (length[(part[2] ?? "").toLowerCase()] ?? 0);
  }
  return Math.round(sum);
}

function readWallTime(
  text: string,
  position: number,
): { time: WallTime; end: number } | null {
  const time: WallTime = {
    form: "wall",
    year: null,
    month: null,
    day: null,
    weekday: null,
    daysAhead: null,
    hour: null,
    minute: 0,
    second: 0,
    zone: null,
  };
  let end = readDate(text, position, time);
  if (end === null) return null;
  const clock = readClock(text, end, time);
  if (clock === null) return null;
  if (end === position && clock !== end) {
    const gap = lengthAt(BEFORE_DATE, text, clock);
    const date = readDate(text, clock + gap, time);
    if (date === null) return null;
    end = date === clock + gap ? clock : date;
  } else end = clock;
  if (end === position) return null;
  for (const pattern of [BARE_ZONE, BRACKETED_ZONE]) {
    const zone = matchAt(pattern, text, end);
    if (zone === null) continue;
    time.zone ??= (zone[1] ?? "").replace(/\s/g, "");
    end += zone[0].length;
  }
  return { time, end };
}

/** Reads a date into `time`; its end, `position` if there is none, null if impossible. */
function readDate(
  text: string,
  position: number,
  time: WallTime,
): number | null {
  let end = position;
  const weekday = matchAt(WEEKDAY, text, end);
  if (weekday !== null) {
    time.weekday = indexOf(WEEKDAYS, weekday[1]) + 1;
    end += weekday[0].length;
    const gap = lengthAt(BEFORE_DATE, text, end);
    const date = readDate(text, end + gap, time);
    return date === end + gap ? end : date;
  }
  const near = matchAt(NEAR_DAY, text, end);
  if (near !== null) {
    time.daysAhead = near[0].toLowerCase() === "tomorrow" ? 1 : 0;
    return end + near[0].length;
  }
  const iso = matchAt(ISO_DATE, text, end);
  const monthDay = matchAt(MONTH_DAY, text, end);
  const dayMonth = matchAt(DAY_MONTH, text, end);
  if (iso !== null) {
    time.year = Number(iso[1]);
    time.month = Number(iso[3]);
    time.day = Number(iso[4]);
    end += iso[0].length;
  } else if (monthDay !== null) {
    time.month = indexOf(MONTHS, monthDay[1]) + 1;
    time.day = Number(monthDay[2]);
    time.year = monthDay[3] === undefined ? null : Number(monthDay[3]);
    end += monthDay[0].length;
  } else if (dayMonth !== null) {
    time.day = Number(dayMonth[1]);
    time.month = indexOf(MONTHS, dayMonth[2]) + 1;
    time.year = dayMonth[3] === undefined ? null : Number(dayMonth[3]);
    end += dayMonth[0].length;
  } else return end;
  // 2028 is a leap year: a Feb 29 without a year is possible.
  const valid = validDate(time.year ?? 2028, time.month, time.day).length > 0;
  return valid ? end : null;
}

/** Reads a clock into `time`; its end, `position` if there is none, null if impossible. */
function readClock(
  text: string,
  position: number,
  time: WallTime,
): number | null {
  const start = position + lengthAt(BEFORE_CLOCK, text, position);
  const match = matchAt(CLOCK, text, start);
  if (match === null) return position;
  const [whole, hour12, minute12, second12, half, hour24, minute24, second24] =
    match;
  if (half !== undefined) {
    const hour = Number(hour12);
    if (hour < 1 || hour > 12) return null;
    time.hour = hour % 12 + (half.toLowerCase() === "p" ? 12 : 0);
  } else if (hour24 !== undefined) {
    time.hour = Number(hour24);
  } else time.hour = whole.toLowerCase() === "noon" ? 12 : 0;
  time.minute = Number(minute12 ?? minute24 ?? 0);
  time.second = Number(second12 ?? second24 ?? 0);
  const valid = time.hour < 24 && time.minute < 60 && time.second < 60;
  return valid ? start + whole.length : null;
}

function indexOf(names: string[], name: string | undefined): number {
  return names.indexOf((name ?? "").slice(0, 3).toLowerCase());
}

function matchAt(
  pattern: RegExp,
  text: string,
  position: number,
): RegExpExecArray | null {
  pattern.lastIndex = position;
  return pattern.exec(text);
}

function lengthAt(pattern: RegExp, text: string, position: number): number {
  return matchAt(pattern, text, position)?.[0].length ?? 0;
}
