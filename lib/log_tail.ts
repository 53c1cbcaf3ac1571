import { type JobMarker, latestJobMarker, parseJobMarker } from "./marker.ts";
import { reasonOf } from "./reason.ts";

/** Read from the end of a log before giving up, in bytes; then the books alone speak. */
const FARTHEST_BACK = 16 * 1024 * 1024;
const FIRST_BLOCK = 16 * 1024;

/**
 * The newest marker of a job in a log, read from its end: what lies far back
 * costs nothing. Null if there is none, or no regular file.
 *
 * @throws {Error} If the log is there but may not or cannot be read.
 */
export function latestMarkerInLog(
  path: string,
  label: string,
): JobMarker | null {
  return fromItsEnd(path, (text) => latestJobMarker(text, label));
}

/**
 * A job's markers in a log from an instant on (epoch seconds), oldest first.
 *
 * @throws {Error} If the log is there but may not or cannot be read.
 */
export function markersInLogSince(
  path: string,
  label: string,
  from: number,
): JobMarker[] {
  const markers = fromItsEnd(path, (text, farthest) => {
    // Not by a pattern's ^ and $: those take a lone CR for the end of a line, too.
    const all = text.split("\n").map((line) => parseJobMarker(line, label))
      .filter((marker) => marker !== null);
    return farthest || all.some((marker) => marker.ts < from) ? all : null;
  });
  return (markers ?? []).filter((marker) => marker.ts >= from);
}

/** Reads more and more from the end of a log until something is found in it. */
function fromItsEnd<T>(
  path: string,
  find: (text: string, farthest: boolean) => T | null,
): T | null {
  try {
    // Looked at first: opening a pipe would wait for its writer.
    if (!Deno.statSync(path).isFile) return null;
    using file = Deno.openSync(path, { read: true });
    const size = file.statSync().size;
    for (let back = FIRST_BLOCK;; back *= 4) {
      const length = Math.min(back, size, FARTHEST_BACK);
      const farthest = length === size || length === FARTHEST_BACK;
      const found = find(wholeLines(file, size - length, length), farthest);
      if (found !== null || farthest) return found;
    }
  } catch (error) {
    if (isAbsent(error)) return null;
    throw new Error(`its log "${path}" cannot be read: ${reasonOf(error)}`);
  }
}

/** No run has written it yet, or it was rotated away while it was read. */
function isAbsent(error: unknown): boolean {
  return error instanceof Deno.errors.NotFound ||
    error instanceof Deno.errors.NotADirectory;
}

/** The text from an offset on, without the line that the offset cuts. */
function wholeLines(
  file: Deno.FsFile,
  offset: number,
  length: number,
): string {
  const bytes = new Uint8Array(length);
  file.seekSync(offset, Deno.SeekMode.Start);
  let filled = 0;
  while (filled < length) {
    const read = file.readSync(bytes.subarray(filled));
    // The log was cut while it was read.
    if (read === null) break;
    filled += read;
  }
  const cut = offset === 0 ? 0 : bytes.indexOf(0x0a) + 1;
  if (offset > 0 && cut === 0) return "";
  return new TextDecoder().decode(bytes.subarray(cut, filled));
}
