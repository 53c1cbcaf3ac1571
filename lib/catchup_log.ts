import { join } from "@std/path/join";
import { writeAllSync } from "./atomic_file.ts";
import type { KickNote } from "./catchup_world.ts";
import { isFields } from "./lenient.ts";
import { openInFolder } from "./state_folder.ts";

const LOG_FILE = "catchup.log";
const ROTATED_AT = 1024 * 1024;

/**
 * Adds a line of JSON to `catchup.log`; at 1 MiB the log begins anew and the
 * old one stays as `catchup.log.1`.
 *
 * @throws {Error} If it cannot be written.
 */
export function noteKick(folder: string, note: KickNote): void {
  const path = join(folder, LOG_FILE);
  try {
    if (Deno.statSync(path).size >= ROTATED_AT) {
      Deno.renameSync(path, `${path}.1`);
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  using file = openInFolder(path, { append: true, create: true });
  writeAllSync(file, new TextEncoder().encode(JSON.stringify(note) + "\n"));
}

/** The kicks noted from an instant on (epoch seconds), oldest first. */
export function notedKicks(folder: string, from: number): KickNote[] {
  const path = join(folder, LOG_FILE);
  return [`${path}.1`, path].flatMap(linesOf).flatMap((line) => {
    try {
      const note: unknown = JSON.parse(line);
      return isNote(note) && note.kicked_at >= from ? [note] : [];
    } catch {
      return []; // cut short, or not ours
    }
  });
}

function linesOf(path: string): string[] {
  try {
    return Deno.readTextFileSync(path).split("\n");
  } catch {
    return []; // not there: no kicks
  }
}

function isNote(value: unknown): value is KickNote {
  return isFields(value) && typeof value.label === "string" &&
    typeof value.kicked_at === "number" && typeof value.seconds === "number" &&
    typeof value.outcome === "string";
}
