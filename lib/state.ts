import { join } from "@std/path/join";
import { discard, replaceFile, TEMP_SUFFIX } from "./atomic_file.ts";
import { type Books, booksJson, parseBooks } from "./books.ts";
import { type Circuit } from "./circuit.ts";
import { circuitJson, parseCircuit } from "./circuit_json.ts";
import type { Host } from "./host.ts";
import { type Fields, isFields } from "./lenient.ts";
import { reasonOf } from "./reason.ts";
import { ensureFolder, folderTrouble, openInFolder } from "./state_folder.ts";

const CIRCUIT_FILE = "state.json";
const BOOKS_FILE = "jobs.json";
/** Refusals in no known wording. */
export const WORDINGS_FILE = "unknown.log";
/** For all three; flock-ed, never deleted, never replaced. */
const LOCK_FILE = "state.json.lock";
const ROUND_LOCK_FILE = "catchup.lock";
const BAD_FILES_KEPT = 3;

/** How long to wait for the lock, in seconds. */
export const LOCK_WAIT = 5;
/** How long after a signal, or for what the logs repeat anyway. */
export const SHORT_LOCK_WAIT = 1;

/** Both files, each read under the lock when it is first asked for. */
export interface State {
  /** `state.json`. */
  readonly circuit: Circuit;
  /** `jobs.json`. */
  readonly books: Books;
}

/** What a change makes of the state; a part that is left out stays as it is. */
export interface Change<R> {
  /** The new circuit. */
  circuit?: Circuit;
  /** The new books. */
  books?: Books;
  /** Flush the books to disk: no log repeats what is new in them. */
  sync?: boolean;
  /** In a hurry: others sweep what dead writers left. */
  quick?: boolean;
  /** What the one who asked for the change wants to know. */
  result: R;
}

/** The outcome of an update: its result, or why nothing was written. */
export type Updated<R> = { done: true; result: R } | {
  done: false;
  why: string;
};

type Content = { fields: Fields } | {
  bad: string;
  /** It would be bad the next time as well: out of the way with it. */
  forGood: boolean;
};

/** Reads a file of JSON. Missing is an empty object. */
function readFields(path: string): Content {
  let text: string;
  try {
    text = Deno.readTextFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return { fields: {} };
    const forGood = error instanceof Deno.errors.IsADirectory ||
      error instanceof Deno.errors.PermissionDenied;
    return { bad: `cannot be read: ${reasonOf(error)}`, forGood };
  }
  try {
    const json: unknown = JSON.parse(text);
    if (isFields(json)) return { fields: json };
  } catch {
    // Said below.
  }
  return { bad: "is no JSON object", forGood: true };
}

async function readOrSetAside(
  folder: string,
  name: string,
  host: Host,
): Promise<Fields> {
  const content = readFields(join(folder, name));
  if ("fields" in content) return content.fields;
  // Aside under the lock only: another process may just have put it right.
  const moved = await updateState(
    folder,
    host,
    ({ circuit, books }) => ({ result: [circuit, books] }),
  );
  if (!moved.done) host.say(`"${join(folder, name)}" ${content.bad}; ignored`);
  const again = readFields(join(folder, name));
  return "fields" in again ? again.fields : {};
}

/** The circuit as it stands, without the lock: replacements are atomic. */
export async function readCircuit(
  folder: string,
  host: Host,
): Promise<Circuit> {
  return parseCircuit(
    await readOrSetAside(folder, CIRCUIT_FILE, host),
    host.now(),
  );
}

/** The books as they stand, without the lock. */
export async function readBooks(folder: string, host: Host): Promise<Books> {
  return parseBooks(await readOrSetAside(folder, BOOKS_FILE, host), host.now());
}

/**
 * Takes the lock that all writers share, flock(2): it excludes Python's
 * `fcntl.flock` as well. Polls, since a blocking wait would keep signals out.
 */
async function takeLock(
  file: Deno.FsFile,
  host: Host,
  seconds: () => number,
): Promise<boolean> {
  const begun = host.monotonic();
  for (let pause = 0.001;; pause = Math.min(pause * 2, 0.05)) {
    if (file.tryLockSync(true)) return true;
    if (host.monotonic() - begun >= seconds()) return false;
    // A little at random, so that many who wait do not come at one time.
    await host.sleep(pause * (0.5 + Math.random()));
  }
}

function setAside(folder: string, name: string, host: Host): void {
  const path = join(folder, name);
  const ts = Math.floor(host.now());
  const aside = `${path}.bad-${ts}-${Deno.pid}`;
  Deno.renameSync(path, aside);
  host.say(`"${path}" was unreadable; moved to "${aside}", starting afresh`);
  const bad = [...Deno.readDirSync(folder)].map((entry) => entry.name)
    .filter((entry) => entry.startsWith(`${name}.bad-`)).sort();
  for (const old of bad.slice(0, -BAD_FILES_KEPT)) {
    Deno.removeSync(join(folder, old), { recursive: true });
  }
}

function readUnderLock(folder: string, name: string, host: Host): Fields {
  const content = readFields(join(folder, name));
  if ("fields" in content) return content.fields;
  if (!content.forGood) {
    throw new Error(`"${join(folder, name)}" ${content.bad}`);
  }
  setAside(folder, name, host);
  return {};
}

/** Under the lock any temporary file of ours was left by a writer that died. */
function sweepLeftovers(folder: string): void {
  for (const { name } of Deno.readDirSync(folder)) {
    const ours = [CIRCUIT_FILE, BOOKS_FILE, WORDINGS_FILE]
      .some((file) => name.startsWith(`${file}.`));
    if (ours && name.endsWith(TEMP_SUFFIX)) discard(join(folder, name));
  }
}

/**
 * Lets `change` read both files under the lock, writes what it replaces, and
 * frees the lock. `change` must not wait for anything. Never throws: trouble with the
 * state is the guard's own and comes back as `why`.
 *
 * @param wait How long to wait for the lock, in seconds; asked again and again
 */
export async function updateState<R>(
  folder: string,
  host: Host,
  change: (state: State) => Change<R>,
  wait: number | (() => number) = LOCK_WAIT,
): Promise<Updated<R>> {
  const seconds = typeof wait === "number" ? () => wait : wait;
  try {
    ensureFolder(folder, host);
    const path = join(folder, LOCK_FILE);
    using lock = openInFolder(path, { append: false, create: true });
    if (!await takeLock(lock, host, seconds)) {
      const why = `"${path}" was held by another process for ${seconds()} s`;
      return { done: false, why };
    }
    const now = host.now();
    let circuit: Circuit | undefined;
    let books: Books | undefined;
    const next = change({
      get circuit() {
        return circuit ??= parseCircuit(
          readUnderLock(folder, CIRCUIT_FILE, host),
          now,
        );
      },
      get books() {
        return books ??= parseBooks(
          readUnderLock(folder, BOOKS_FILE, host),
          now,
        );
      },
    });
    if (!next.quick) sweepLeftovers(folder);
    if (next.circuit !== undefined && next.circuit !== circuit) {
      const json = JSON.stringify(circuitJson(next.circuit), null, 2);
      replaceFile(join(folder, CIRCUIT_FILE), json + "\n", { sync: true });
    }
    if (next.books !== undefined && next.books !== books) {
      const json = JSON.stringify(booksJson(next.books));
      replaceFile(join(folder, BOOKS_FILE), json + "\n", {
        sync: next.sync ?? false,
      });
    }
    return { done: true, result: next.result };
  } catch (error) {
    return { done: false, why: folderTrouble(folder, error) };
  }
}

/** The lock of the one catch-up at a time, held until it is disposed of. */
export interface RoundLock extends Disposable {
  /** False if another catch-up holds it. */
  taken: boolean;
}

/**
 * Takes the catch-up's lock, without waiting.
 *
 * @throws {Error} If the folder or the lock cannot be made.
 */
export function lockRound(folder: string, host: Host): RoundLock {
  ensureFolder(folder, host);
  const file = openInFolder(join(folder, ROUND_LOCK_FILE), {
    append: false,
    create: true,
  });
  return {
    taken: file.tryLockSync(true),
    [Symbol.dispose]: () => file.close(),
  };
}
