import stringWidth from "string-width";
import type { Day, DayEvent, DayJob, DayMark } from "./day.ts";
import { formatInstant, zoned } from "./instant.ts";
import { outcomeWords } from "./status.ts";
import { printable } from "./terminal.ts";

/** How each mark is shown, in the order of the legend. */
const MARKS: Readonly<Record<DayMark, { sign: string; colour: number }>> = {
  "ran": { sign: "o", colour: 32 },
  "failed": { sign: "x", colour: 31 },
  "skipped": { sign: "s", colour: 33 },
  "owed": { sign: "!", colour: 35 },
  "caught up": { sign: "c", colour: 36 },
  "unseen": { sign: "-", colour: 31 },
  "due": { sign: "+", colour: 34 },
};
const PASSED = "·";
const DIM = 2;

const HOURS = 24;
const AXIS = [0, 3, 6, 9, 12, 15, 18, 21].map((hour) => String(hour).padEnd(3))
  .join("");
/** Longer labels lose their beginning, which they tend to share. */
const WIDEST_LABEL = 28;

/** How wide the lines are. */
export interface DayLinesOptions {
  /** Columns of the terminal. */
  columns: number;
  /** With colours, for a terminal. */
  colour: boolean;
}

/** A line for each job: its day on an axis of 24 hours, and its newest outcome. */
export function dayLines(day: Day, options: DayLinesOptions): string[] {
  const { jobs, kicks, now, time_zone } = day;
  if (jobs.length === 0) return ["No job has run through the guard yet"];
  const at = (ts: number): string => formatInstant(ts, now, time_zone);
  const paint = (text: string, colour: number): string =>
    options.colour ? `\x1b[${colour}m${text}\x1b[0m` : text;
  const labels = jobs.map(({ label }) => shortened(label, WIDEST_LABEL));
  const width = Math.max(...labels.map((label) => stringWidth(label)));
  const room = options.columns - width - HOURS - 4;
  const last = kicks.at(-1);
  return [
    ...(last === undefined ? [] : [
      shortenedEnd(
        `Caught up today: ${kicks.length}, the last ${last.label} at ${
          at(last.kicked_at)
        }: ${last.outcome}`,
        options.columns,
      ),
    ]),
    paint(`${" ".repeat(width)}  ${AXIS}`.trimEnd(), DIM),
    ...jobs.map((job, i) => {
      const label = labels[i] ?? "";
      const padded = label + " ".repeat(width - stringWidth(label));
      const words = shortenedEnd(newestWords(job, at), room);
      return `${padded}  ${hours(job.events, day, paint)}  ${words}`.trimEnd();
    }),
    Object.entries(MARKS).map(([mark, { sign, colour }]) =>
      `${paint(sign, colour)} ${mark}`
    ).join("  "),
  ];
}

/** One sign an hour; of several in one the last counts. */
function hours(
  events: readonly DayEvent[],
  { now, time_zone }: Day,
  paint: (text: string, colour: number) => string,
): string {
  const hourOf = (ts: number): number => zoned(ts, time_zone).hour;
  const marks = new Map(events.map(({ at, mark }) => [hourOf(at), mark]));
  const thisHour = hourOf(now);
  return Array.from({ length: HOURS }, (_, hour) => {
    const mark = marks.get(hour);
    if (mark === undefined) return hour < thisHour ? paint(PASSED, DIM) : " ";
    return paint(MARKS[mark].sign, MARKS[mark].colour);
  }).join("");
}

function newestWords(
  { newest, calls }: DayJob,
  at: (ts: number) => string,
): string {
  if (newest === null) return "no run yet";
  const { kind, ts, exit, reason, end } = newest;
  const outcome = kind === "RAN" ? "ran" : "skipped";
  return `${at(ts)}  ${
    outcomeWords({ outcome, exit, reason, ending: end, calls })
  }`;
}

/** The end of a text that is wider than it may be. */
function shortened(text: string, width: number): string {
  let rest = [...printable(text)];
  while (stringWidth(rest.join("")) > width) rest = ["…", ...rest.slice(2)];
  return rest.join("");
}

/** The beginning of a text that is wider than it may be. */
function shortenedEnd(text: string, width: number): string {
  if (width < 1) return "";
  let rest = [...printable(text)];
  while (stringWidth(rest.join("")) > width) {
    rest = [...rest.slice(0, -2), "…"];
  }
  return rest.join("");
}
