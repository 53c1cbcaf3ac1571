import { dirname } from "@std/path/dirname";
import { knowsNoFlush, syncFolder } from "./atomic_file.ts";
import type { ItemPaths } from "./batch_folder.ts";
import type { DoneMarker } from "./batch_record.ts";
import type { Claim } from "./claim.ts";

/** A file as it is on disk. */
export interface Content {
  /** Its size. */
  bytes: number;
  /** In hexadecimal digits. */
  sha256: string;
}

/** A part that is not what it has to be. */
export class PartError extends Error {
  /** Its class. */
  override name = "PartError";
}

const NEWLINE = 10;

/** Do the bytes end so? One newline behind it does no harm. */
export function endsWithText(bytes: Uint8Array, text: string): boolean {
  const wanted = new TextEncoder().encode(text);
  const ends = (tail: Uint8Array): boolean =>
    tail.length >= wanted.length &&
    wanted.every((byte, i) => tail[tail.length - wanted.length + i] === byte);
  return ends(bytes) ||
    (bytes.at(-1) === NEWLINE && ends(bytes.subarray(0, -1)));
}

/** Size and digest of a file's bytes. */
export async function contentOf(
  bytes: Uint8Array<ArrayBuffer>,
): Promise<Content> {
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return { bytes: bytes.length, sha256: new Uint8Array(digest).toHex() };
}

/**
 * Reads a part and finds it whole.
 *
 * @throws {PartError} If it is missing, empty, no file, or ends otherwise.
 */
async function checkPart(
  part: string,
  endsWith: string | null,
): Promise<Content> {
  let info: Deno.FileInfo;
  try {
    info = Deno.lstatSync(part);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new PartError("it wrote no $QUOTA_PART");
  }
  if (!info.isFile) throw new PartError("its $QUOTA_PART is no plain file");
  if (info.size === 0) throw new PartError("its $QUOTA_PART is empty");
  const bytes = Deno.readFileSync(part);
  if (endsWith !== null && !endsWithText(bytes, endsWith)) {
    throw new PartError(
      `its $QUOTA_PART does not end with ${JSON.stringify(endsWith)}`,
    );
  }
  return await contentOf(bytes);
}

/** Flushes what a command has written to disk. */
async function syncPart(path: string): Promise<void> {
  using file = Deno.openSync(path, { read: true });
  try {
    await file.sync();
  } catch (error) {
    if (!knowsNoFlush(error)) throw error;
  }
}

/**
 * Makes a part the item's file, then says so by its done marker. Whenever the
 * machine stops, what has a marker is whole, and what has none is done again:
 * before a name is given, what it stands for is on disk, and the marker gets
 * its name last.
 *
 * @param claim Of the item; its file becomes the marker
 * @param endsWith What the part has to end with; null for anything
 * @throws {PartError} If the part is not whole.
 * @throws {Error} If the disk refuses.
 */
export async function commitPart(
  part: string,
  paths: ItemPaths,
  claim: Claim,
  endsWith: string | null,
  facts: Pick<DoneMarker, "name" | "ended_at" | "attempts" | "cost_usd">,
): Promise<DoneMarker> {
  const content = await checkPart(part, endsWith);
  const folder = dirname(paths.out);
  const marker: DoneMarker = {
    name: facts.name,
    ...content,
    file: paths.out.slice(folder.length + 1),
    ended_at: Math.floor(facts.ended_at),
    attempts: facts.attempts,
    cost_usd: facts.cost_usd,
  };
  // Neither has its name yet: which one is flushed first says nothing, and
  // together they wait for the disk once.
  const flushed = syncPart(part);
  try {
    claim.write(JSON.stringify(marker) + "\n");
  } finally {
    await flushed;
  }
  Deno.renameSync(part, paths.out);
  // Two folders may reach the disk in any order; the marker has to be second.
  syncFolder(folder);
  claim.moveTo(paths.done);
  syncFolder(dirname(paths.done));
  return marker;
}
