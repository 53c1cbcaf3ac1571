import { ensureDirSync } from "@std/fs/ensure-dir";
import { join } from "@std/path/join";
import { syncFile, writeAllSync } from "./atomic_file.ts";

/** Folder of the claims, in the folder of the results that they are about. */
export const CLAIMS = ".claims";

/**
 * The right to work on an item, until it is disposed of or the process dies.
 * Its file can become the item's done marker: nobody else writes to it, and on
 * many disks nothing about an item is as dear as a new file.
 */
export class Claim implements Disposable {
  readonly #path: string;
  readonly #file: Deno.FsFile;
  #moved = false;

  /**
   * Made by {@linkcode claimItem} alone.
   *
   * @param file Open, and locked by this process
   */
  constructor(path: string, file: Deno.FsFile) {
    this.#path = path;
    this.#file = file;
  }

  /** Makes the text all that its file holds, and flushes it to disk. */
  write(text: string): void {
    // A dead process, or an attempt of ours, may have left something in it.
    this.#file.truncateSync();
    this.#file.seekSync(0, Deno.SeekMode.Start);
    writeAllSync(this.#file, new TextEncoder().encode(text));
    syncFile(this.#file);
  }

  /**
   * Renames its file. The right lasts all the same: who takes the item from now
   * on finds what it has become.
   *
   * @throws {Error} If the file is no longer where it was.
   */
  moveTo(path: string): void {
    // Else it would be another process's file.
    if (!isAt(this.#file, this.#path)) {
      throw new Error(`the claim "${this.#path}" was removed`);
    }
    Deno.renameSync(this.#path, path);
    this.#moved = true;
  }

  /** Gives the right up and leaves nothing behind but what it has become. */
  [Symbol.dispose](): void {
    try {
      // While it is still locked: who opened it before looks again.
      if (!this.#moved) Deno.removeSync(this.#path);
    } catch {
      // The folder is gone.
    }
    this.#file.close();
  }
}

/** Opens the file, or makes its folder and returns null: it comes and goes. */
function openClaim(path: string, folder: string): Deno.FsFile | null {
  try {
    return Deno.openSync(path, { read: true, write: true, create: true });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    ensureDirSync(folder);
    return null;
  }
}

/** Is the open file still the one at `path`? */
function isAt(file: Deno.FsFile, path: string): boolean {
  try {
    const there = Deno.lstatSync(path);
    const mine = file.statSync();
    return there.ino === mine.ino && there.dev === mine.dev;
  } catch {
    return false;
  }
}

/**
 * Claims the item called `name`: of all processes that work on one folder, one
 * at a time has it. The claim is a lock (flock(2)) on a file, which the system
 * frees even after SIGKILL.
 *
 * @param dir The folder of the results
 * @returns Null if another process has it
 * @throws {Error} If no file can be made or locked there.
 */
export function claimItem(dir: string, name: string): Claim | null {
  const folder = join(dir, CLAIMS);
  const path = join(folder, name);
  while (true) {
    const file = openClaim(path, folder);
    if (file === null) continue;
    let mine = false;
    try {
      if (!file.tryLockSync(true)) return null;
      // Its last owner may have removed it between opening and locking.
      mine = isAt(file, path);
      if (mine) return new Claim(path, file);
    } finally {
      if (!mine) file.close();
    }
  }
}

/** Removes the folder of the claims once nobody needs it. */
export function removeClaims(dir: string): void {
  try {
    Deno.removeSync(join(dir, CLAIMS));
  } catch {
    // Another process has an item, or it was removed before.
  }
}
