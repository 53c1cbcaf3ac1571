import type { Books } from "./books.ts";
import { formatInstant, zoned } from "./instant.ts";
import {
  type AgentFile,
  type GuardOptions,
  guardOptions,
  isGuarded,
  type LaunchAgent,
  logPaths,
} from "./launch_agent.ts";
import { latestMarkerInLog } from "./log_tail.ts";
import type { JobMarker } from "./marker.ts";
import { whyNoSlotPassed } from "./slot.ts";

/** What each plist is judged by. */
export interface Judgement {
  /** Epoch seconds. */
  now: number;
  timeZone: string;
  /** How far back a skip counts, in seconds; null: today, local time. */
  window: number | null;
  /** The state folder of an agent. */
  folderOf(agent: LaunchAgent): string;
  /** The books in a state folder. */
  booksOf(folder: string): Books;
}

/** A guarded job that was skipped today and has a slot that passed today. */
export interface Candidate {
  agent: LaunchAgent;
  options: GuardOptions;
  /** Its state folder. */
  folder: string;
  skip: JobMarker;
}

/** What became of one plist. */
export interface Finding {
  path: string;
  /** Its label; that of the file name if it cannot be read. */
  label: string;
  agent: LaunchAgent | null;
  /** The newest outcome of its job, if it is guarded. */
  outcome: JobMarker | null;
  /** Null if it is none; `why` says why. */
  candidate: Candidate | null;
  /** In words a user understands. */
  why: string;
}

/**
 * The newest marker of a job: from its logs, or from the books if those are
 * newer. A log that lies in the future counts as written now.
 */
export function newestOutcome(
  paths: readonly string[],
  label: string,
  books: Books,
  now: number,
): JobMarker | null {
  const inLogs = paths.map((path) => latestMarkerInLog(path, label))
    .filter((marker) => marker !== null)
    .map((marker) => ({
      ...marker,
      ts: marker.ts > now + 60 ? Math.floor(now) : marker.ts,
    }));
  const entry = books.jobs.get(label);
  const onBooks: JobMarker[] = entry === undefined ? [] : [{
    kind: entry.outcome === "ran" ? "RAN" : "SKIPPED",
    ts: entry.ts,
    reason: entry.reason,
    exit: entry.exit,
    end: entry.ending === "ok" ? null : entry.ending,
  }];
  // At equal times the first of these stands: the logs speak before the books.
  return [...inLogs, ...onBooks].reduce<JobMarker | null>(
    (newest, marker) =>
      newest === null || marker.ts > newest.ts ? marker : newest,
    null,
  );
}

/** True for a skip on the local day of `now`, or within the window. */
export function latestMarkerIsTodaySkip(
  marker: JobMarker | null,
  judgement: Pick<Judgement, "now" | "timeZone" | "window">,
): boolean {
  if (marker === null || marker.kind !== "SKIPPED") return false;
  const { now, timeZone, window } = judgement;
  return isToday(marker.ts, now, timeZone) ||
    (window !== null && marker.ts >= now - window);
}

function isToday(ts: number, now: number, timeZone: string): boolean {
  return zoned(ts, timeZone).toPlainDate().equals(
    zoned(now, timeZone).toPlainDate(),
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
    outcome: null,
    candidate: null,
    why: `cannot be read: ${error}`,
  };
}

function judge(agent: LaunchAgent, judgement: Judgement): Finding {
  const { path, label } = agent;
  const finding = (
    why: string,
    outcome: JobMarker | null = null,
    candidate: Candidate | null = null,
  ): Finding => ({ path, label, agent, outcome, candidate, why });
  if (!isGuarded(agent)) return finding("not started through quota_guard");
  const { now, timeZone } = judgement;
  const options = guardOptions(agent);
  const folder = judgement.folderOf(agent);
  const outcome = newestOutcome(
    logPaths(agent),
    options.label,
    judgement.booksOf(folder),
    now,
  );
  if (outcome === null) {
    return finding("no run in its logs or on the books yet");
  }
  const at = formatInstant(outcome.ts, now, timeZone);
  if (outcome.kind === "RAN") {
    return finding(`ran ${at}${ranWords(outcome)}`, outcome);
  }
  if (!latestMarkerIsTodaySkip(outcome, judgement)) {
    return finding(`skipped ${at}, which is not today`, outcome);
  }
  const slotless = whyNoSlotPassed(agent, slotDay(outcome.ts, judgement));
  if (slotless !== null) {
    return finding(`skipped ${at}, but ${slotless}`, outcome);
  }
  return finding(`skipped ${at} (${outcome.reason ?? "quota"})`, outcome, {
    agent,
    options,
    folder,
    skip: outcome,
  });
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
  if (isToday(ts, now, timeZone)) return zoned(now, timeZone);
  return zoned(ts, timeZone).startOfDay().add({ days: 1 }).subtract({
    seconds: 1,
  });
}
