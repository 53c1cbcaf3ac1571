import { ensureDirSync } from "@std/fs/ensure-dir";
import { join } from "@std/path/join";
import { discard, replaceFile } from "./atomic_file.ts";
import { fileName } from "./batch_items.ts";
import {
  type DoneMarker,
  type FailedRecord,
  parseDoneMarker,
  parseFailedRecord,
} from "./batch_record.ts";
import { claimItem, CLAIMS } from "./claim.ts";

/** Where an item's things are. */
export interface ItemPaths {
  /** Its name on disk. */
  name: string;
  /** Its file, once it is done. */
  out: string;
  /** Its done marker. */
  done: string;
  /** The record of its last failure. */
  failed: string;
}

/** Ending of what a command has not finished writing. */
const PART_SUFFIX = ".part";

/** Of this process and of no other, dead or alive. */
const UNIQUE = /\.\d+-[0-9a-f]{8}\.(part|tmp)$/;

/** The places of an item in the folder of the results. */
export function itemPaths(
  dir: string,
  pattern: string,
  name: string,
): ItemPaths {
  return {
    name,
    out: join(dir, fileName(pattern, name)),
    done: join(dir, "done", `${name}.json`),
    failed: join(dir, "failed", `${name}.json`),
  };
}

/** A path for one attempt's part. The dot keeps it apart from every finished file. */
export function partPath(dir: string, name: string): string {
  const unique = crypto.randomUUID().slice(0, 8);
  return join(dir, `.${name}.${Deno.pid}-${unique}${PART_SUFFIX}`);
}

/** The names in a folder; none if there is no folder. */
export function namesIn(folder: string): string[] {
  try {
    return [...Deno.readDirSync(folder)].map((entry) => entry.name);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

/** Makes the folders of a batch. */
export function makeFolders(dir: string): void {
  ensureDirSync(join(dir, "done"));
}

/** Does the disk take `A` and `a` for the same? Asked of a folder of a batch. */
export function ignoresCase(dir: string): boolean {
  try {
    return Deno.statSync(join(dir, "DONE")).isDirectory;
  } catch {
    return false;
  }
}

/** Reads the records of a folder by item; what is none does not count. */
function readRecords<T extends { name: string }>(
  folder: string,
  parse: (text: string) => T | null,
  known: ReadonlyMap<string, T> = new Map(),
): Map<string, T> {
  const records = new Map<string, T>();
  for (const file of namesIn(folder)) {
    if (!file.endsWith(".json")) continue;
    const path = join(folder, file);
    const record = known.get(path) ?? readRecord(path, parse);
    if (record !== null) records.set(record.name, record);
  }
  return records;
}

function readRecord<T>(
  path: string,
  parse: (text: string) => T | null,
): T | null {
  try {
    return parse(Deno.readTextFileSync(path));
  } catch {
    // Gone meanwhile.
    return null;
  }
}

/**
 * All done markers, by item.
 *
 * @param known Markers by their paths; those that are still there are not read
 */
export function readDone(
  dir: string,
  known?: ReadonlyMap<string, DoneMarker>,
): Map<string, DoneMarker> {
  return readRecords(join(dir, "done"), parseDoneMarker, known);
}

/** All records of failures, by item. */
export function readFailed(dir: string): Map<string, FailedRecord> {
  return readRecords(join(dir, "failed"), parseFailedRecord);
}

/** An item's done marker as it stands now; null if there is none. */
export function readMarker(paths: ItemPaths): DoneMarker | null {
  return readRecord(paths.done, parseDoneMarker);
}

/** Remembers that an item failed. */
export function writeFailed(paths: ItemPaths, record: FailedRecord): void {
  ensureDirSync(join(paths.failed, ".."));
  replaceFile(paths.failed, JSON.stringify(record) + "\n", { mode: 0o666 });
}

/** A file that a writer has not finished, and the name of the item it is for. */
export interface Leftover {
  /** Absolute if the folder's is. */
  path: string;
  /** As in {@linkcode ItemPaths}. */
  name: string;
}

/** What writers, alive or dead, have not finished. */
export function findLeftovers(dir: string): Leftover[] {
  const parts = namesIn(dir).filter((file) =>
    file.startsWith(".") && UNIQUE.test(file)
  ).map((file) => ({
    path: join(dir, file),
    name: file.slice(1).replace(UNIQUE, ""),
  }));
  const records = ["done", "failed"].flatMap((folder) =>
    namesIn(join(dir, folder)).filter((file) => UNIQUE.test(file))
      .map((file) => ({
        path: join(dir, folder, file),
        name: file.replace(UNIQUE, "").replace(/\.json$/, ""),
      }))
  );
  return [...parts, ...records];
}

/**
 * Removes what dead writers left. Nobody writes for an item without its claim:
 * what can be claimed is dead.
 */
export function sweepLeftovers(dir: string): void {
  const leftovers = Map.groupBy(findLeftovers(dir), ({ name }) => name);
  const names = new Set([...leftovers.keys(), ...namesIn(join(dir, CLAIMS))]);
  for (const name of names) {
    using claim = claimItem(dir, name);
    if (claim === null) continue;
    for (const { path } of leftovers.get(name) ?? []) discard(path);
  }
}
