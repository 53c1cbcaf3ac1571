import {
  type Fields,
  instantOr,
  isFields,
  mapOf,
  numberOr,
  stringOr,
  unknownFields,
} from "./lenient.ts";

/** The newest outcome of a job. */
export interface JobEntry {
  /** Started and owed no more, or owed. */
  outcome: "ran" | "skipped";
  /** Epoch seconds, whole: the same as in its marker. */
  ts: number;
  /** Null if the job was not started. */
  exit: number | null;
  /** Why it was skipped; null if it ran. */
  reason: string | null;
  /** The worst ending of its calls; null without a call. */
  ending: string | null;
  /** How many calls of claude were seen in it. */
  calls: number;
  /** How long its last run took, in seconds; null if that is not known. */
  seconds: number | null;
  /** A skip by a model's limit is owed from this instant on (epoch seconds). */
  owed_from: number | null;
}

/** The last kick of a job by the catch-up. */
export interface Kick {
  /** Time stamp of the skip that it makes up. */
  skip_ts: number;
  /** Epoch seconds of the kick. */
  at: number;
  /** launchd's count of starts before the kick; null if it showed none. */
  runs: number | null;
  /** Kicks of that day, local time, that came to an end or to nothing. */
  count: number;
  /** This one was seen through to its end; else it is open. */
  done: boolean;
}

/** The books as in `jobs.json`. Times are epoch seconds, 0 for never. */
export interface Books {
  /** By label in the markers. */
  jobs: Map<string, JobEntry>;
  /** By the same label. */
  kicks: Map<string, Kick>;
  /** A call that began then was answered. */
  last_ok: number;
  /** When which tool last looked and found nothing to do. */
  heartbeats: Map<string, number>;
  /** Fields that this version does not know. */
  rest: [string, unknown][];
}

/** A time stamp farther ahead than this counts as now. */
const CLOCK_SLACK = 60;
const FIELDS = ["jobs", "kicks", "last_ok", "heartbeats"];

/** Books without an entry. */
export function emptyBooks(): Books {
  return parseBooks({}, 0);
}

/** Reads the fields of `jobs.json`, each for itself: a bad one is repaired or dropped, the rest stays. */
export function parseBooks(json: Fields, now: number): Books {
  const past = (value: unknown): number => {
    const ts = numberOr(value, 0);
    return ts > now + CLOCK_SLACK ? Math.floor(now) : Math.max(0, ts);
  };
  return {
    jobs: mapOf(json.jobs, (entry) => {
      if (!isFields(entry)) return null;
      const outcome = entry.outcome;
      if (outcome !== "ran" && outcome !== "skipped") return null;
      return {
        outcome,
        ts: past(entry.ts),
        exit: numberOr(entry.exit, null),
        reason: stringOr(entry.reason, null),
        ending: stringOr(entry.ending, null),
        calls: numberOr(entry.calls, 0),
        seconds: numberOr(entry.seconds, null),
        owed_from: instantOr(entry.owed_from, null),
      };
    }),
    kicks: mapOf(json.kicks, (entry) =>
      isFields(entry)
        ? {
          skip_ts: instantOr(entry.skip_ts, 0),
          at: past(entry.at),
          runs: numberOr(entry.runs, null),
          count: numberOr(entry.count, 1),
          done: entry.done === true,
        }
        : null),
    last_ok: past(json.last_ok),
    heartbeats: mapOf(json.heartbeats, past),
    rest: unknownFields(json, FIELDS),
  };
}

/** The JSON of `jobs.json`. */
export function booksJson(books: Books): Fields {
  return {
    jobs: Object.fromEntries(books.jobs),
    kicks: Object.fromEntries(books.kicks),
    last_ok: books.last_ok,
    heartbeats: Object.fromEntries(books.heartbeats),
    ...Object.fromEntries(books.rest),
  };
}

/** The books with the newest outcome of one job. A skip keeps how long the last run took. */
export function recordJob(books: Books, job: string, entry: JobEntry): Books {
  const seconds = entry.seconds ?? books.jobs.get(job)?.seconds ?? null;
  return {
    ...books,
    jobs: new Map(books.jobs).set(job, { ...entry, seconds }),
  };
}

/**
 * The books with a call that began at `startedAt` and was answered. The same
 * object comes back if that is no news: at most one write a minute, unless the
 * circuit closed in between (`closedAt`).
 */
export function recordOk(
  books: Books,
  startedAt: number,
  closedAt: number,
): Books {
  const since = startedAt - books.last_ok;
  const firstSinceClosed = books.last_ok < closedAt && startedAt >= closedAt;
  return since >= 60 || (since > 0 && firstSinceClosed)
    ? { ...books, last_ok: startedAt }
    : books;
}
