import { parseDuration } from "./duration.ts";
import { parseResetTime } from "./reset_time.ts";

/**
 * Reads an instant as users write it: `+5m` from now, epoch seconds,
 * `2026-12-01T08:00` with or without zone, or any form that the CLI prints a
 * reset in (`17:30`, `3pm`, `Dec 3, 12:02am`), which is the next such one.
 *
 * @param timeZone Zone of times that name none
 * @returns Epoch seconds, or null if the text is no instant
 */
export function parseInstant(
  text: string,
  now: number,
  timeZone: string,
): number | null {
  const trimmed = text.trim();
  if (trimmed.startsWith("+")) {
    const seconds = parseDuration(trimmed.slice(1));
    return seconds === null ? null : now + seconds;
  }
  if (/^\d{9,11}(\.\d+)?$/.test(trimmed)) return Number(trimmed);
  if (/^\d{4}-\d\d-\d\d/.test(trimmed)) return isoInstant(trimmed, timeZone);
  return parseResetTime(trimmed, { after: now, timeZone });
}

function isoInstant(text: string, timeZone: string): number | null {
  const iso = text.replace(" ", "T");
  try {
    return Temporal.Instant.from(iso).epochMilliseconds / 1000;
  } catch {
    // No offset: a local time.
  }
  try {
    return Temporal.PlainDateTime.from(iso).toZonedDateTime(timeZone)
      .epochMilliseconds / 1000;
  } catch {
    return null;
  }
}

/** `18:35`, or `Thu 3 Dec 18:35` on another day than `now`'s; local time. */
export function formatInstant(
  instant: number,
  now: number,
  timeZone: string,
): string {
  const at = zoned(instant, timeZone);
  const clock = `${two(at.hour)}:${two(at.minute)}`;
  if (at.toPlainDate().equals(zoned(now, timeZone).toPlainDate())) {
    return clock;
  }
  const day = `${DAYS[at.dayOfWeek - 1]} ${at.day} ${MONTHS[at.month - 1]}`;
  return `${day} ${clock}`;
}

const DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MONTHS = (
  "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"
).split(" ");

function two(n: number): string {
  return String(n).padStart(2, "0");
}

/** An instant on the clock of a zone. */
export function zoned(
  instant: number,
  timeZone: string,
): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(Math.floor(instant * 1000))
    .toZonedDateTimeISO(timeZone);
}
