import { resolve } from "@std/path/resolve";
import type { Host } from "./host.ts";
import { reasonOf } from "./reason.ts";
import { ENV } from "./settings.ts";

/**
 * The folder that holds circuit, books and runs: `$CLAUDE_QUOTA_DIR`, else
 * `~/.local/state/claude-quota`. Absolute.
 *
 * @throws {Error} If neither CLAUDE_QUOTA_DIR nor HOME is set.
 */
export function stateFolder(env: Host["env"]): string {
  const set = env(ENV.folder);
  if (set !== undefined) return resolve(set);
  const home = env("HOME");
  if (home === undefined) {
    throw new Error(
      `Cannot tell the state folder: neither ${ENV.folder} nor HOME is set; set one of them in the plist's EnvironmentVariables`,
    );
  }
  return resolve(home, ".local", "state", "claude-quota");
}

/** What is wrong with the state folder, and what to look at. */
export function folderTrouble(folder: string, error: unknown): string {
  return `${
    reasonOf(error)
  }; see to "${folder}": owner, permissions, room on the disk`;
}

/**
 * Makes the folder, 0700, with parents by the umask; one that others may enter
 * is closed to them.
 *
 * @throws {Error} If it cannot be made, or is not ours.
 */
export function ensureFolder(folder: string, host: Host): void {
  if (!closeFolder(folder, host)) makeFolder(folder);
}

/**
 * Closes a folder to others if they may enter it.
 *
 * @returns False if it is not there
 * @throws {Error} If it is no folder of ours.
 */
export function closeFolder(folder: string, host: Host): boolean {
  const info = infoOf(folder, Deno.statSync);
  if (info !== null) close(folder, info, host);
  return info !== null;
}

/** Null if it is not there. */
function infoOf(
  path: string,
  look: (path: string) => Deno.FileInfo,
): Deno.FileInfo | null {
  try {
    return look(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

function close(folder: string, info: Deno.FileInfo, host: Host): void {
  if (!info.isDirectory) throw new Error(`"${folder}" is no folder`);
  if (info.mode !== null && (info.mode & 0o077) !== 0) {
    try {
      Deno.chmodSync(folder, 0o700);
    } catch (error) {
      throw new Error(
        `"${folder}" is open to others and cannot be closed: ${
          reasonOf(error)
        }`,
      );
    }
    host.say(`"${folder}" was open to others; now it is not`);
  }
}

function makeFolder(folder: string): void {
  try {
    Deno.mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process was faster.
    if (error instanceof Deno.errors.AlreadyExists) return;
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    // Its parents, by the umask, in the same call: a scoped permission to write
    // covers the folder, not them.
    Deno.mkdirSync(folder, { recursive: true });
    Deno.chmodSync(folder, 0o700);
  }
}

/**
 * Makes a folder within the state folder; one that leads out of it by a link is
 * refused.
 *
 * @throws {Error} If it is a link or cannot be made.
 */
export function ensureOwnFolder(path: string, host: Host): void {
  const info = refuseLink(path);
  if (info === null) makeFolder(path);
  else close(path, info, host);
}

/** What is there, if it is no link; null if nothing is. */
function refuseLink(path: string): Deno.FileInfo | null {
  const info = infoOf(path, Deno.lstatSync);
  if (info?.isSymlink) throw new Error(`"${path}" is a link; remove it`);
  return info;
}

/**
 * A file of the folder, opened for writing, made if need be. Follows no link:
 * path permissions do not see to that.
 *
 * @throws {Error} If it is a link or cannot be opened.
 */
export function openInFolder(
  path: string,
  options: { append: boolean; create: boolean },
): Deno.FsFile {
  refuseLink(path);
  return Deno.openSync(path, {
    read: true,
    write: !options.append,
    ...options,
    mode: 0o600,
  });
}
