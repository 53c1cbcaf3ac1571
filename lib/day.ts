// The day of each job: what became of its slots since midnight, local time.

import type { Books } from "./books.ts";
import { type Finding, markerOnBooks } from "./candidate.ts";
import { notedKicks } from "./catchup_log.ts";
import { judgeAll } from "./catchup_look.ts";
import type { CatchupWorld, KickNote } from "./catchup_world.ts";
import { zoned } from "./instant.ts";
import {
  type LaunchAgent,
  logPaths,
  readLaunchAgents,
} from "./launch_agent.ts";
import { markersInLogSince } from "./log_tail.ts";
import type { JobMarker } from "./marker.ts";
import { slotsBetween } from "./slot.ts";
import { readBooks } from "./state.ts";

/**
 * What happened: `owed` is a skip that the catch-up will make up, `unseen` a
 * slot that left no trace, `due` one that is to come.
 */
export type DayMark =
  | "ran"
  | "failed"
  | "skipped"
  | "owed"
  | "caught up"
  | "unseen"
  | "due";

/** Something on the line of a job. */
export interface DayEvent {
  /** Epoch seconds. */
  at: number;
  /** What it was. */
  mark: DayMark;
}

/** The day of one job. */
export interface DayJob {
  /** launchd's label, or that of the books for a job without a plist. */
  label: string;
  /** In the order of time. */
  events: DayEvent[];
  /** Its newest outcome of any day; null if there is none. */
  newest: JobMarker | null;
  /** Calls of claude seen in it; null if that is not known. */
  calls: number | null;
}

/** The day of all jobs of one state folder. */
export interface Day {
  /** Epoch seconds. */
  now: number;
  /** IANA name. */
  time_zone: string;
  /** By their labels. */
  jobs: DayJob[];
  /** What the catch-up has started, oldest first. */
  kicks: KickNote[];
}

/** Looks at plists, logs and books; changes nothing. */
export async function lookAtDay(world: CatchupWorld): Promise<Day> {
  const { host, folder } = world;
  const now = host.now();
  const timeZone = host.timeZone();
  const midnight = zoned(now, timeZone).startOfDay();
  const from = midnight.epochMilliseconds / 1000;
  const options = { dryRun: true, noProbe: true, window: null };
  const files = await readLaunchAgents(world.agentsFolder);
  const { findings } = await judgeAll(world, options, files, now);
  const books = await readBooks(folder, host);
  const kicks = notedKicks(folder, from);
  const guarded = findings.filter(({ job }) => job?.folder === folder);
  const claimed = new Set(guarded.map(({ job }) => job?.options.label));
  const jobs = guarded.map((finding) =>
    dayOfJob(finding, books, kicks, midnight, now)
  );
  for (const [label, entry] of books.jobs) {
    if (claimed.has(label)) continue;
    const newest = markerOnBooks(label, books);
    const events = newest === null || entry.ts < from
      ? []
      : dayEvents([newest], [], null, [], now);
    jobs.push({ label, events, newest, calls: entry.calls });
  }
  jobs.sort((a, b) => a.label < b.label ? -1 : 1);
  return { now, time_zone: timeZone, jobs, kicks };
}

function dayOfJob(
  { agent, job, label, candidate, outcome }: Finding,
  books: Books,
  kicks: readonly KickNote[],
  midnight: Temporal.ZonedDateTime,
  now: number,
): DayJob {
  const name = job?.options.label ?? label;
  const from = midnight.epochMilliseconds / 1000;
  const entry = markerOnBooks(name, books);
  const markers = agent === null ? [] : markersOf(agent, name, from);
  if (entry !== null && entry.ts >= from) markers.push(entry);
  const expires = candidate?.options.expires ?? Infinity;
  const owed = candidate !== null && now <= candidate.skip.ts + expires
    ? candidate.skip.ts
    : null;
  const slots = slotsBetween(
    agent?.calendar,
    midnight,
    midnight.add({ days: 1 }).subtract({ seconds: 1 }),
  ).map((slot) => slot.epochMilliseconds / 1000);
  const own = kicks.filter((kick) => kick.label === label);
  const newest = outcome ?? entry;
  const known = entry !== null && newest?.ts === entry.ts;
  return {
    label,
    events: dayEvents(markers, slots, owed, own, now),
    newest,
    calls: known ? books.jobs.get(name)?.calls ?? null : null,
  };
}

function markersOf(
  agent: LaunchAgent,
  label: string,
  from: number,
): JobMarker[] {
  try {
    return logPaths(agent).flatMap((path) =>
      markersInLogSince(path, label, from)
    );
  } catch {
    return []; // the doctor says so; the books know the newest
  }
}

/** A run may end a little after the catch-up has seen that it is gone. */
const KICK_SLACK = 5;
/** The marker of a slot may bear a time a little before it. */
const SLOT_SLACK = 60;

/**
 * The events of a day.
 *
 * @param markers In any order; the same one may be there more than once
 * @param slots Epoch seconds, in order
 * @param owed Time stamp of the skip that is owed
 * @param kicks Those of the job
 */
export function dayEvents(
  markers: readonly JobMarker[],
  slots: readonly number[],
  owed: number | null,
  kicks: readonly KickNote[],
  now: number,
): DayEvent[] {
  const events = new Map<string, DayEvent>();
  for (const marker of markers) {
    const mark = markOf(marker, owed, kicks);
    events.set(`${marker.kind} ${marker.ts}`, { at: marker.ts, mark });
  }
  const times = markers.map((marker) => marker.ts);
  for (const [i, slot] of slots.entries()) {
    const next = slots[i + 1] ?? Infinity;
    if (slot > now) events.set(`slot ${slot}`, { at: slot, mark: "due" });
    else if (!times.some((ts) => ts >= slot - SLOT_SLACK && ts < next)) {
      events.set(`slot ${slot}`, { at: slot, mark: "unseen" });
    }
  }
  return [...events.values()].sort((a, b) => a.at - b.at);
}

function markOf(
  { kind, ts, exit, end }: JobMarker,
  owed: number | null,
  kicks: readonly KickNote[],
): DayMark {
  if (kind === "SKIPPED") return ts === owed ? "owed" : "skipped";
  if (exit !== 0 || end !== null) return "failed";
  return kicks.some(({ kicked_at, seconds }) =>
      ts >= kicked_at && ts <= kicked_at + seconds + KICK_SLACK
    )
    ? "caught up"
    : "ran";
}
