import { dirname } from "@std/path/dirname";

/** How {@linkcode replaceFile} writes. */
export interface ReplaceOptions {
  /** Flush file and folder to disk before returning. @default {false} */
  sync?: boolean;
  /** Permission bits of the new file. @default {0o600} */
  mode?: number;
}

/** Ending of the names that {@linkcode replaceFile} writes to first. */
export const TEMP_SUFFIX = ".tmp";

/** Writes all of `bytes`; a single write may be short. */
export function writeAllSync(
  file: Pick<Deno.FsFile, "writeSync">,
  bytes: Uint8Array,
): void {
  for (let done = 0; done < bytes.length;) {
    done += file.writeSync(bytes.subarray(done));
  }
}

/** Removes what may lie there; what cannot be removed stays. */
export function discard(path: string): void {
  try {
    Deno.removeSync(path, { recursive: true });
  } catch {
    // It was never made, or somebody else was faster.
  }
}

/** Eight digits for a name; `crypto` would take longer to load. */
export function randomDigits(): string {
  return Math.floor(Math.random() * 1e8).toString().padStart(8, "0");
}

/** Flushes a file to its disk, as far as its file system knows how to. */
export function syncFile(file: Pick<Deno.FsFile, "syncSync">): void {
  try {
    file.syncSync();
  } catch (error) {
    if (!knowsNoFlush(error)) throw error;
  }
}

/**
 * Whether a file system has no flush at all. On macOS Deno asks for a full one
 * (fcntl(2), F_FULLFSYNC), which network volumes refuse with ENOTSUP; for EINVAL
 * see fsync(2).
 */
export function knowsNoFlush(error: unknown): boolean {
  return error instanceof Error && "code" in error &&
    (error.code === "ENOTSUP" || error.code === "EINVAL");
}

/** Flushes a folder, so that a rename in it survives a power cut (fsync(2)). */
export function syncFolder(folder: string): void {
  using handle = Deno.openSync(folder, { read: true });
  syncFile(handle);
}

/**
 * Replaces the file at `path` in one step: readers see the old content or the
 * new, never a part. A symbolic link at `path` is replaced, not followed.
 *
 * The temporary name lies in the same folder and carries the process id.
 *
 * @throws {Deno.errors.NotFound} and the like, with no temporary file left.
 */
export function replaceFile(
  path: string,
  content: Uint8Array | string,
  options: ReplaceOptions = {},
): void {
  const { sync = false, mode = 0o600 } = options;
  const bytes = typeof content === "string"
    ? new TextEncoder().encode(content)
    : content;
  const temp = `${path}.${Deno.pid}-${randomDigits()}${TEMP_SUFFIX}`;
  try {
    {
      using file = Deno.openSync(temp, { write: true, createNew: true, mode });
      writeAllSync(file, bytes);
      if (sync) syncFile(file);
    }
    Deno.renameSync(temp, path);
  } catch (error) {
    discard(temp);
    throw error;
  }
  if (sync) syncFolder(dirname(path));
}
