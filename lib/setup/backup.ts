import { basename } from "@std/path/basename";
import { join } from "@std/path/join";
import { replaceFile } from "../atomic_file.ts";
import type { Host } from "../host.ts";
import { isFields } from "../lenient.ts";
import { reasonOf } from "../reason.ts";
import { ensureFolder, ensureOwnFolder } from "../state_folder.ts";
import type { Replacement } from "./command_text.ts";
import { Refusal } from "./setup_world.ts";

/** A wrapped property list as it was before, and what was changed. */
export interface Backup {
  /** The file before. */
  original: Uint8Array;
  /** Of the wrapped file, in hexadecimal: it is as it was left. */
  sha256: string;
  /** Empty if the file was converted. */
  replacements: Replacement[];
}

/** SHA-256 in hexadecimal. */
export async function sha256(bytes: Uint8Array): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new Uint8Array(bytes));
  return new Uint8Array(digest).toHex();
}

/** Where the backup of a file lies; `path` is its real path. */
async function backupPath(
  folder: string,
  path: string,
): Promise<string> {
  const hash = await sha256(new TextEncoder().encode(path));
  const name = basename(path).replace(/\.plist$/, "");
  return join(folder, "backup", `${name}-${hash.slice(0, 8)}.plist`);
}

/** The backup of a file; null if there is none that can be read. */
export async function readBackup(
  folder: string,
  path: string,
): Promise<Backup | null> {
  const file = await backupPath(folder, path);
  try {
    const original = Deno.readFileSync(file);
    const json: unknown = JSON.parse(Deno.readTextFileSync(`${file}.json`));
    if (!isFields(json) || typeof json.sha256 !== "string") return null;
    const replacements = Array.isArray(json.replacements)
      ? json.replacements.filter(isReplacement)
      : [];
    return { original, sha256: json.sha256, replacements };
  } catch {
    return null;
  }
}

function isReplacement(value: unknown): value is Replacement {
  return isFields(value) && typeof value.before === "string" &&
    typeof value.after === "string";
}

/**
 * Keeps a file as it was, before it is changed.
 *
 * @returns Where
 * @throws {Refusal} If it cannot be written.
 */
export async function writeBackup(
  folder: string,
  path: string,
  backup: Backup,
  host: Host,
): Promise<string> {
  const file = await backupPath(folder, path);
  const { original, ...rest } = backup;
  const json = JSON.stringify({ path, ...rest }, null, 2);
  try {
    ensureFolder(folder, host);
    ensureOwnFolder(join(folder, "backup"), host);
    replaceFile(file, original, { sync: true });
    replaceFile(`${file}.json`, json + "\n", { sync: true });
  } catch (error) {
    throw new Refusal(
      `its state folder "${folder}" cannot be written: ${
        reasonOf(error)
      }; it follows from HOME and CLAUDE_QUOTA_DIR in its EnvironmentVariables`,
    );
  }
  return file;
}

/** Removes the backup of a file that is as it was before. */
export async function removeBackup(
  folder: string,
  path: string,
): Promise<void> {
  const file = await backupPath(folder, path);
  for (const name of [`${file}.json`, file]) {
    try {
      Deno.removeSync(name);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
}
