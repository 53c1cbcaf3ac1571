import type { Books } from "./books.ts";
import { formatInstant, zoned } from "./instant.ts";
import {
  type AgentFile,
  type GuardOptions,
  guardOptions,
  isCatchup,
  isGuarded,
  type LaunchAgent,
  logPaths,
} from "./launch_agent.ts";
import { latestMarkerInLog } from "./log_tail.ts";
import type { JobMarker } from "./marker.ts";
import { reasonOf } from "./reason.ts";
import { whyNoSlotPassed } from "./slot.ts";

/** What each plist is judged by. */
export interface Judgement {
  /** Epoch seconds. */
  now: number;
  /** When the round began: what was of today then stays so past midnight. */
  begun: number;
  /** IANA name, for local days. */
  timeZone: string;
  /** How far back a skip counts, in seconds; null: today, local time. */
  window: number | null;
  /** The state folder of an agent. */
  folderOf(agent: LaunchAgent): string;
  /** The books in a state folder. */
  booksOf(folder: string): Books;
}

/** A job that launchd starts through the guard. */
export interface GuardedJob {
  /** Its plist. */
  agent: LaunchAgent;
  /** What its plist tells the guard. */
  options: GuardOptions;
  /** Its state folder. */
  folder: string;
}

/** A guarded job that was skipped today and has a slot that passed today. */
export interface Candidate extends GuardedJob {
  /** Its time stamp names the skip, also if it lies in the future. */
  skip: JobMarker;
}

/** What became of one plist. */
export interface Finding {
  /** The file. */
  path: string;
  /** Its label; that of the file name if it cannot be read. */
  label: string;
  /** Null if it cannot be read. */
  agent: LaunchAgent | null;
  /** Its job; null if it is not guarded. */
  job: GuardedJob | null;
  /** The newest outcome of its job. */
  outcome: JobMarker | null;
  /** Null if it is none; `why` says why. */
  candidate: Candidate | null;
  /** In words a user understands. */
  why: string;
}

/** A time stamp farther ahead than this, in seconds, counts as now. */
const CLOCK_SLACK = 60;

function believed(ts: number, now: number): number {
  return ts > now + CLOCK_SLACK ? Math.floor(now) : ts;
}

/**
 * The newest marker of a job: from its logs, or from the books if those are
 * newer. One that lies in the future counts as written now.
 *
 * @throws {Error} If a log is there but cannot be read.
 */
export function newestOutcome(
  paths: readonly string[],
  label: string,
  books: Books,
  now: number,
): JobMarker | null {
  // At equal times the first of these stands: the logs speak before the books.
  const markers = [
    ...paths.map((path) => latestMarkerInLog(path, label)),
    markerOnBooks(label, books),
  ];
  return markers.filter((marker) => marker !== null).reduce<JobMarker | null>(
    (newest, marker) =>
      newest === null || believed(marker.ts, now) > believed(newest.ts, now)
        ? marker
        : newest,
    null,
  );
}

/** The newest outcome of a job that the books have, as its marker says it. */
export function markerOnBooks(label: string, books: Books): JobMarker | null {
  const entry = books.jobs.get(label);
  if (entry === undefined) return null;
  const { outcome, ts, reason, exit, ending } = entry;
  return {
    kind: outcome === "ran" ? "RAN" : "SKIPPED",
    ts,
    reason,
    exit,
    end: ending === "ok" ? null : ending,
  };
}

/** True for a skip of today, local time, or within the window. */
export function latestMarkerIsTodaySkip(
  marker: JobMarker | null,
  judgement: Pick<Judgement, "now" | "begun" | "timeZone" | "window">,
): boolean {
  if (marker === null || marker.kind !== "SKIPPED") return false;
  const { now, begun, timeZone, window } = judgement;
  const ts = believed(marker.ts, now);
  return sameDay(ts, now, timeZone) || sameDay(ts, begun, timeZone) ||
    (window !== null && ts >= now - window);
}

function sameDay(one: number, other: number, timeZone: string): boolean {
  return zoned(one, timeZone).toPlainDate().equals(
    zoned(other, timeZone).toPlainDate(),
  );
}

/**
 * Judges every plist: a candidate is guarded, its newest marker is a skip of
 * today, and a slot of its calendar has passed today.
 */
export function findCandidates(
  files: readonly AgentFile[],
  judgement: Judgement,
): Finding[] {
  return files.map((file) => {
    if ("error" in file) return unreadable(file.path, file.error);
    return judge(file.agent, judgement);
  });
}

function unreadable(path: string, error: string): Finding {
  const name = path.slice(path.lastIndexOf("/") + 1).replace(/\.plist$/, "");
  return {
    path,
    label: name,
    agent: null,
    job: null,
    outcome: null,
    candidate: null,
    why: `cannot be read: ${error}`,
  };
}

function judge(agent: LaunchAgent, judgement: Judgement): Finding {
  const { path, label } = agent;
  const { now, timeZone } = judgement;
  const none = {
    path,
    label,
    agent,
    job: null,
    outcome: null,
    candidate: null,
  };
  if (!isGuarded(agent)) {
    return {
      ...none,
      why: isCatchup(agent)
        ? "the catch-up itself"
        : "not started through quota_guard",
    };
  }
  const job = {
    agent,
    options: guardOptions(agent),
    folder: judgement.folderOf(agent),
  };
  let outcome: JobMarker | null;
  try {
    outcome = newestOutcome(
      logPaths(agent),
      job.options.label,
      judgement.booksOf(job.folder),
      now,
    );
  } catch (error) {
    return { ...none, job, why: `cannot tell: ${reasonOf(error)}` };
  }
  const finding = (why: string): Finding => ({ ...none, job, outcome, why });
  if (outcome === null) {
    return finding("no run in its logs or on the books yet");
  }
  const at = formatInstant(outcome.ts, now, timeZone);
  if (outcome.kind === "RAN") return finding(`ran ${at}${ranWords(outcome)}`);
  if (!latestMarkerIsTodaySkip(outcome, judgement)) {
    return finding(`skipped ${at}, which is not today`);
  }
  const slotless = whyNoSlotPassed(agent, slotDay(outcome.ts, judgement));
  if (slotless !== null) return finding(`skipped ${at}, but ${slotless}`);
  return {
    ...finding(`skipped ${at} (${outcome.reason ?? "quota"})`),
    candidate: { ...job, skip: outcome },
  };
}

function ranWords(outcome: JobMarker): string {
  const exit = outcome.exit === null ? "" : `, exit ${outcome.exit}`;
  return outcome.end === null ? exit : `${exit}, ${outcome.end}`;
}

/** Until when a slot must have passed: now, or the end of the skip's own day. */
function slotDay(
  ts: number,
  { now, timeZone }: Judgement,
): Temporal.ZonedDateTime {
  const at = believed(ts, now);
  if (sameDay(at, now, timeZone)) return zoned(now, timeZone);
  return zoned(at, timeZone).startOfDay().add({ days: 1 }).subtract({
    seconds: 1,
  });
}
