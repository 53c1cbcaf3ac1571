import { join } from "@std/path/join";
import { discard, randomDigits, writeAllSync } from "./atomic_file.ts";
import type { Host } from "./host.ts";
import { ensureFolder, ensureOwnFolder, openInFolder } from "./state_folder.ts";
import {
  BEGUN_LINE,
  callLine,
  type CallRecord,
  parseTally,
  PROBE_LINE,
  signedLine,
  type Tally,
} from "./tally.ts";

/** Longer than any run; what is older was left by a guard that died. */
const LONGEST_RUN = 32 * 86_400;
/** What comes in by the environment names a file: nothing but our own form. */
export const RUN_ID = /^\d{10}-\d+-[0-9a-f]{8}$/;
/** A line of a run that is the name of a file. */
const BESIDE = /^(\S+) \d+-[0-9a-f]+ (.*)$/;

function runPath(folder: string, id: string): string {
  return join(folder, "runs", id);
}

/**
 * Begins a run: makes the file that its calls add their lines to.
 *
 * @returns The run's id
 * @throws {Error} If the file cannot be made.
 */
export function startRun(folder: string, host: Host, probe: boolean): string {
  const { id, file } = openRun(folder, host, probe);
  file.close();
  return id;
}

/**
 * Begins a run as {@linkcode startRun} does.
 *
 * @returns The run's id, and its file, open for writing
 * @throws {Error} If the file cannot be made.
 */
export function openRun(
  folder: string,
  host: Host,
  probe: boolean,
): { id: string; file: Deno.FsFile } {
  ensureFolder(folder, host);
  ensureOwnFolder(join(folder, "runs"), host);
  const id = newId(host);
  const file = Deno.openSync(runPath(folder, id), {
    append: true,
    createNew: true,
    mode: 0o600,
  });
  try {
    if (probe) writeAllSync(file, new TextEncoder().encode(PROBE_LINE));
  } catch (error) {
    file.close();
    endRun(folder, id);
    throw error;
  }
  return { id, file };
}

function newId(host: Host): string {
  return `${Math.floor(host.now())}-${Deno.pid}-${randomDigits()}`;
}

/**
 * Ends a run as {@linkcode endRun} does and begins another with its file: to
 * make a file and to remove one is dear on many disks.
 *
 * @returns The new run's id
 * @throws {Error} If its file is gone, or cannot be emptied.
 */
export function renewRun(folder: string, host: Host, id: string): string {
  const next = newId(host);
  Deno.renameSync(runPath(folder, id), runPath(folder, next));
  try {
    const path = runPath(folder, next);
    if (Deno.statSync(path).size > 0) Deno.truncateSync(path);
  } catch (error) {
    endRun(folder, next);
    throw error;
  }
  return next;
}

/**
 * Sweeps the files of runs that ended long ago without removing theirs, and the
 * lines that were names of files of runs that have ended.
 */
export function sweepRuns(folder: string, host: Host): void {
  const runs = join(folder, "runs");
  const oldest = Math.floor(host.now()) - LONGEST_RUN;
  const names = runNames(folder);
  for (const name of names) {
    const [id = ""] = name.split(" ", 1);
    if (!RUN_ID.test(id)) continue;
    if (Number(id.slice(0, 10)) < oldest || !names.includes(id)) {
      discard(join(runs, name));
    }
  }
}

/** What lies in the folder of the runs; nothing if that cannot be looked at. */
export function runNames(folder: string): string[] {
  try {
    return [...Deno.readDirSync(join(folder, "runs"))].map(({ name }) => name);
  } catch {
    // No run has ever been started, say.
    return [];
  }
}

/**
 * How long the file of a run is by now, in characters: bytes would be more where
 * the label is not ASCII. 0 without one.
 */
export function runLength(folder: string, id: string): number {
  try {
    return Deno.readTextFileSync(runPath(folder, id)).length;
  } catch {
    return 0;
  }
}

/**
 * The calls of a run so far; null once it has ended, or if it never was.
 *
 * @param from Leaves out so many characters of the file: {@linkcode runLength}
 */
export function readRun(folder: string, id: string, from = 0): Tally | null {
  return RUN_ID.test(id) ? readOwnRun(folder, id, from) : null;
}

/** The calls of a run of this very guard, as {@linkcode readRun} gives them. */
export function readOwnRun(
  folder: string,
  id: string,
  from = 0,
): Tally | null {
  try {
    return parseTally(runText(folder, id, from), id);
  } catch {
    return null;
  }
}

/**
 * All lines of a run: those of its file from that place on, then those that had
 * no room in it.
 *
 * @throws {Error} If its file cannot be read.
 */
export function runText(folder: string, id: string, from = 0): string {
  let text = Deno.readTextFileSync(runPath(folder, id)).slice(from);
  for (const name of runNames(folder).sort()) {
    const [, of, line] = BESIDE.exec(name) ?? [];
    // The last line in the file may be cut.
    if (of === id) text += `\n${line}\n`;
  }
  return text;
}

/** Adds a call to its run. Does nothing once the run has ended. */
export function addCall(folder: string, id: string, record: CallRecord): void {
  addLine(folder, id, callLine(record));
}

/** Notes that a call of the run begins. */
export function beginCall(folder: string, id: string): void {
  addLine(folder, id, BEGUN_LINE);
}

/** One append, no lock. */
function addLine(folder: string, id: string, line: string): void {
  if (!RUN_ID.test(id)) return;
  try {
    using file = openInFolder(runPath(folder, id), {
      append: true,
      create: false,
    });
    // A line of its own, also behind one that was cut.
    const own = `\n${signedLine(line, id)}`;
    writeAllSync(file, new TextEncoder().encode(own));
  } catch (error) {
    // It has ended.
    if (error instanceof Deno.errors.NotFound) return;
    addBeside(folder, id, line);
  }
}

/**
 * Keeps a line of a run as the name of a file: a full disk that had room for
 * the run's file, which was empty, has room for another. The time keeps the
 * lines in order.
 *
 * @throws {Error} If the file cannot be made.
 */
export function addBeside(folder: string, id: string, line: string): void {
  // To the microsecond: one call may follow another within a millisecond.
  const time = Math.floor((performance.timeOrigin + performance.now()) * 1000);
  const unique = `${time}-${randomDigits()}`;
  openInFolder(`${runPath(folder, id)} ${unique} ${line}`, {
    append: true,
    create: true,
  }).close();
}

/** Ends a run: whatever still carries its id is refused while the circuit is open. */
export function endRun(folder: string, id: string): void {
  discard(runPath(folder, id));
}
