import { type Books, type JobEntry } from "./books.ts";
import {
  type Circuit,
  circuitStatus,
  lastClosed,
  type Policy,
  probeTime,
} from "./circuit.ts";
import { formatDuration } from "./duration.ts";
import { formatInstant } from "./instant.ts";
import { printable } from "./terminal.ts";

/** What `--status` shows, as data; times in epoch seconds, lengths in seconds. */
export interface StatusReport {
  /** Calls are refused, and jobs skipped. */
  is_open: boolean;
  /** Null while closed, as are the next ones. */
  reason: string | null;
  /** 0 while closed. */
  remaining_seconds: number;
  /** The end. */
  open_until: number | null;
  /** The beginning; 0 if that is not known. */
  opened_at: number | null;
  /** Window of the limit, such as `five_hour`. */
  window: string | null;
  /** Whose call met it, and what claude said. */
  opened_by: Circuit["opened_by"];
  /** When the next priority job may send a real request; null while closed or if never. */
  next_probe: number | null;
  /** When the catch-up last came by; null if it never did. */
  last_catchup: number | null;
  /** Limits of one model family, by the `--model` that they refuse. */
  scopes: Record<string, {
    family: string;
    open_until: number;
    remaining_seconds: number;
    sentence: string;
  }>;
  /** Newest outcome of each job. */
  jobs: Record<
    string,
    Pick<
      JobEntry,
      "outcome" | "ts" | "exit" | "reason" | "ending" | "calls"
    >
  >;
}

/** The state at `now` as data. */
export function statusReport(
  circuit: Circuit,
  books: Books,
  now: number,
  policy: Policy,
): StatusReport {
  const status = circuitStatus(circuit, now);
  const open = status.is_open;
  const last = probeTime(circuit, now, policy.probeInterval);
  return {
    is_open: open,
    reason: open ? status.reason : null,
    remaining_seconds: status.remaining_seconds,
    open_until: open ? circuit.open_until : null,
    opened_at: open ? circuit.opened_at : null,
    window: open ? circuit.window : null,
    opened_by: open ? circuit.opened_by : null,
    next_probe: open && policy.probeInterval > 0
      ? Math.max(Math.floor(now), last + policy.probeInterval)
      : null,
    last_catchup: books.heartbeats.get("catchup") ?? null,
    scopes: Object.fromEntries(
      [...circuit.scopes].filter(([, limit]) => limit.open_until > now).map(
        ([model, limit]) => [model, {
          family: limit.family,
          open_until: limit.open_until,
          remaining_seconds: Math.ceil(limit.open_until - now),
          sentence: limit.opened_by?.sentence ?? "",
        }],
      ),
    ),
    jobs: Object.fromEntries(
      [...books.jobs].map(([label, job]) => [label, {
        outcome: job.outcome,
        ts: job.ts,
        exit: job.exit,
        reason: job.reason,
        ending: job.ending,
        calls: job.calls,
      }]),
    ),
  };
}

/** What the lines are to fit, and what the catch-up knows of the day. */
export interface Screen {
  /** No line with a sentence of claude's is longer. */
  columns: number;
  /** A line for each job; null for those of the books. */
  day: readonly string[] | null;
}

/** The state at `now` as lines for people, in local time. */
export function statusLines(
  circuit: Circuit,
  books: Books,
  now: number,
  policy: Policy,
  timeZone: string,
  screen: Screen = { columns: Infinity, day: null },
): string[] {
  const { columns } = screen;
  const report = statusReport(circuit, books, now, policy);
  const at = (instant: number): string => formatInstant(instant, now, timeZone);
  const lines = [
    ...(report.is_open
      ? openLines(report, now, at, columns)
      : closedLines(circuit, now, at)),
    ...Object.entries(report.scopes).map(([model, limit]) =>
      quoting(
        `  model ${model}: refused until ${at(limit.open_until)} (${
          formatDuration(limit.remaining_seconds)
        })`,
        ", ",
        limit.sentence,
        columns,
      )
    ),
    ...(report.last_catchup === null
      ? []
      : [`Catch-up: came by ${at(report.last_catchup)}`]),
    ...(screen.day === null ? jobLines(books, at) : []),
  ];
  // Names and sentences come from elsewhere; the day has its colours already.
  return [...lines.map(printable), ...screen.day ?? []];
}

function openLines(
  report: StatusReport,
  now: number,
  at: (instant: number) => string,
  columns: number,
): string[] {
  const { open_until, opened_at, opened_by, next_probe, window } = report;
  const lines = [
    `Circuit OPEN until ${at(open_until ?? now)} (${
      formatDuration(report.remaining_seconds)
    } left), reason ${report.reason}${
      window === null ? "" : `, window ${window}`
    }`,
  ];
  if (opened_at !== null && opened_at > 0) {
    const by = opened_by?.job ?? null;
    lines.push(
      quoting(
        `  since ${at(opened_at)}${by === null ? "" : `, by job ${by}`}`,
        ": ",
        opened_by?.sentence ?? "",
        columns,
      ),
    );
  }
  lines.push(
    next_probe === null
      ? "  no probes: CLAUDE_QUOTA_PRIORITY_PROBE_INTERVAL is 0 or less"
      : next_probe >= (open_until ?? now)
      ? "  no probe is due before it closes"
      : next_probe <= now
      ? "  next probe: by the next --priority job"
      : `  next probe: from ${at(next_probe)} on, by the next --priority job`,
  );
  return lines;
}

/** A line that ends with a sentence in quotes, which is cut so that it fits. */
export function quoting(
  words: string,
  before: string,
  sentence: string,
  columns: number,
): string {
  if (sentence === "") return words;
  const room = columns - words.length - before.length - 2;
  if (sentence.length <= room) return `${words}${before}"${sentence}"`;
  return room < 2
    ? words
    : `${words}${before}"${sentence.slice(0, room - 1)}…"`;
}

function closedLines(
  circuit: Circuit,
  now: number,
  at: (instant: number) => string,
): string[] {
  const closed = lastClosed(circuit, now);
  return [
    closed > 0 ? `Circuit closed since ${at(closed)}` : "Circuit closed",
  ];
}

function jobLines(
  books: Books,
  at: (instant: number) => string,
): string[] {
  if (books.jobs.size === 0) return ["No job has run through the guard yet"];
  const jobs = [...books.jobs].sort(([a], [b]) => a < b ? -1 : 1);
  const width = Math.max(...jobs.map(([label]) => label.length));
  return [
    "Jobs, newest outcome of each:",
    ...jobs.map(([label, job]) =>
      `  ${label.padEnd(width)}  ${at(job.ts)}  ${outcomeWords(job)}`
    ),
  ];
}

/** What the words about an outcome are made of. */
export interface Outcome
  extends Pick<JobEntry, "outcome" | "exit" | "reason" | "ending"> {
  /** Calls of claude seen in it; null if that is not known. */
  calls: number | null;
}

/** An outcome in words: `ran, exit 1, budget, 2 calls`. */
export function outcomeWords(job: Outcome): string {
  const calls = job.calls === null
    ? ""
    : job.calls === 0
    ? ", no call seen"
    : job.calls === 1
    ? ", 1 call"
    : `, ${job.calls} calls`;
  if (job.outcome === "skipped") {
    return job.exit === null
      ? `skipped (${job.reason ?? "quota"})`
      : `skipped (${job.reason ?? "quota"}), exit ${job.exit}${calls}`;
  }
  const ending = job.ending === null || job.ending === "ok"
    ? ""
    : `, ${job.ending}`;
  return `ran, exit ${job.exit ?? "?"}${ending}${calls}`;
}
