import { dirname } from "@std/path/dirname";
import {
  discard,
  syncFolder,
  TEMP_SUFFIX,
  writeAllSync,
} from "../atomic_file.ts";
import { isDictionary } from "../calendar.ts";
import { parsePropertyList } from "../property_list.ts";
import { reasonOf } from "../reason.ts";
import { Refusal } from "./setup_world.ts";

/** A property list's dictionary, as the library gives it. */
export type Dictionary = Record<string, unknown>;

/**
 * The dictionary in a property list.
 *
 * @throws {Error} With the parser's reason, or if it holds none.
 */
export function parseDictionary(bytes: Uint8Array): Dictionary {
  const value = parsePropertyList(bytes);
  if (!isDictionary(value)) throw new Error("It holds no dictionary");
  return value;
}

/** Whether two values of property lists say the same. */
export function sameValue(one: unknown, other: unknown): boolean {
  return written(one) === written(other);
}

/** Whether two files hold the same. */
export function sameBytes(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length &&
    one.every((byte, i) => byte === other[i]);
}

function written(value: unknown): string {
  return JSON.stringify(
    value,
    (_key, part) => typeof part === "bigint" ? `${part}` : part,
  ) ?? "";
}

/** Whether a property list is XML: neither binary nor in the old form before it. */
export function isXml(bytes: Uint8Array): boolean {
  const head = String.fromCharCode(...bytes.subarray(0, 64))
    .replaceAll("\0", "");
  return !head.startsWith("bplist") &&
    !/^\W*[{(]/.test(head.split("<")[0] ?? "");
}

/**
 * The file that is to be written for a path: a link stays a link.
 *
 * @throws {Refusal} If it is not this user's, or not to be written.
 */
export function writableFile(
  path: string,
  uid: number | null,
): { path: string; info: Deno.FileInfo } {
  const real = Deno.realPathSync(path);
  const info = Deno.statSync(real);
  if (!info.isFile) throw new Refusal(`"${real}" is no file`);
  if (uid !== null && info.uid !== null && info.uid !== uid) {
    throw new Refusal(
      `"${real}" belongs to user ${info.uid}: run this as that user`,
    );
  }
  if (info.mode !== null && (info.mode & 0o200) === 0) {
    throw new Refusal(`"${real}" is read-only`);
  }
  return { path: real, info };
}

/**
 * Replaces a file in one step; owner, group and mode stay.
 *
 * @throws {Refusal} If its folder cannot be written.
 */
export function replaceKeeping(
  { path, info }: { path: string; info: Deno.FileInfo },
  bytes: Uint8Array,
): void {
  const unique = crypto.randomUUID().slice(0, 8);
  // launchd reads what ends in .plist: half a file must not.
  const temp = `${path}.${Deno.pid}-${unique}${TEMP_SUFFIX}`;
  try {
    {
      using file = Deno.openSync(temp, {
        write: true,
        createNew: true,
        mode: 0o600,
      });
      writeAllSync(file, bytes);
      file.syncSync();
    }
    const made = Deno.statSync(temp);
    if (made.uid !== info.uid || made.gid !== info.gid) {
      Deno.chownSync(temp, info.uid, info.gid);
    }
    if (info.mode !== null) Deno.chmodSync(temp, info.mode & 0o7777);
    Deno.renameSync(temp, path);
  } catch (error) {
    discard(temp);
    throw new Refusal(`"${path}" cannot be written: ${reasonOf(error)}`);
  }
  syncFolder(dirname(path));
}
