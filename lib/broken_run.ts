import { join } from "@std/path/join";
import { writeAllSync } from "./atomic_file.ts";
import { recordJob } from "./books.ts";
import type { Host } from "./host.ts";
import { addBeside, endRun, RUN_ID, runNames, runText } from "./run_file.ts";
import { updateState } from "./state.ts";
import { parseTally, type Tally, verdict } from "./tally.ts";

/** A job's run whose guard was killed before it could leave a marker. */
export interface BrokenRun {
  /** Name of its file in `runs/`. */
  id: string;
  /** Label of the job. */
  job: string;
  /** Epoch seconds, whole. */
  startedAt: number;
  /** What its calls met. */
  tally: Tally;
  /** It was never to be owed once started. */
  once: boolean;
  /** It was to be owed although it had got something done. */
  resumable: boolean;
}

/** A run so young may not have been taken hold of yet, in seconds. */
const TOO_YOUNG = 10;
const JOB_LINE = /^job (\S+)((?: once| resumable)*)$/m;

/**
 * Takes hold of a job's run: as long as its file is open the run lives, and
 * whatever ends the guard lets go of it, flock(2).
 *
 * @param file The run's, open for writing
 * @throws {Error} If it cannot be locked, or there is no room for its job.
 */
export function holdRun(
  folder: string,
  id: string,
  file: Deno.FsFile,
  job: { label: string; once: boolean; resumable: boolean },
): void {
  const flags = `${job.once ? " once" : ""}${
    job.resumable ? " resumable" : ""
  }`;
  file.tryLockSync(true);
  const line = `job ${job.label}${flags}`;
  try {
    writeAllSync(file, new TextEncoder().encode(`${line}\n`));
  } catch {
    addBeside(folder, id, line);
  }
}

/** The runs in a state folder that nobody holds any more. */
export function brokenRuns(folder: string, host: Host): BrokenRun[] {
  const runs: BrokenRun[] = [];
  for (const name of runNames(folder)) {
    const startedAt = Number(name.slice(0, 10));
    if (!RUN_ID.test(name) || startedAt > host.now() - TOO_YOUNG) continue;
    const run = brokenRun(folder, name, startedAt);
    if (run !== null) runs.push(run);
  }
  return runs.sort((a, b) => a.startedAt - b.startedAt);
}

function brokenRun(
  folder: string,
  id: string,
  startedAt: number,
): BrokenRun | null {
  const path = join(folder, "runs", id);
  let text: string;
  try {
    using file = Deno.openSync(path, { read: true });
    if (!file.tryLockSync(true)) return null;
    text = runText(folder, id);
  } catch {
    // It has just ended, or is no file: the others count all the same.
    return null;
  }
  const [, job, flags = ""] = JOB_LINE.exec(text) ?? [];
  return job === undefined ? null : {
    id,
    job,
    startedAt,
    tally: parseTally(text, id),
    once: flags.includes(" once"),
    resumable: flags.includes(" resumable"),
  };
}

/**
 * Puts the broken runs that were refused, or met the limit before they got
 * anything done, on the books as skipped; the others stay to be seen.
 */
export async function settleBrokenRuns(
  folder: string,
  host: Host,
): Promise<void> {
  const owed = brokenRuns(folder, host).flatMap((run) => {
    const outcome = verdict(run.tally, {
      exit: 137,
      heldProbe: run.tally.probe,
      circuitOpen: false,
      once: run.once,
      resumable: run.resumable,
      started: true,
    });
    return outcome.kind === "SKIPPED" ? [{ run, outcome }] : [];
  });
  if (owed.length === 0) return;
  const settled = await updateState(folder, host, ({ books }) => ({
    books: owed.reduce(
      (next, { run, outcome }) =>
        (next.jobs.get(run.job)?.ts ?? 0) >= run.startedAt
          ? next
          : recordJob(next, run.job, {
            outcome: "skipped",
            ts: run.startedAt,
            exit: null,
            reason: outcome.reason,
            ending: "limit",
            calls: run.tally.calls.length,
            seconds: null,
            owed_from: outcome.owedFrom,
          }),
      books,
    ),
    // Their files go, and no log has them.
    sync: true,
    result: null,
  }));
  if (!settled.done) return;
  for (const { run } of owed) endRun(folder, run.id);
}
