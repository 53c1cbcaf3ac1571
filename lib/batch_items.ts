import { UsageError } from "./usage.ts";

/** The items of a list, each once, in its order. */
export interface ItemList {
  /** As they stand there. */
  items: string[];
  /** Items that stand in the list more than once. */
  duplicates: string[];
}

/**
 * Longest name in UTF-8 bytes: with what a pattern adds, or `.json` and the
 * ending of a temporary name, a file name stays within the 255 of most disks.
 */
const LONGEST_NAME = 190;
/** Longest text around `{}` in a pattern, in bytes. */
const LONGEST_FRAME = 60;
const DIGEST_DIGITS = 16;

/** Byte length of a name on disk. */
function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

/**
 * Reads a list: an item a line, whatever it contains. Blank lines and
 * those whose first letter is `#` do not count.
 *
 * @throws {UsageError} If it is no UTF-8 text, or an item holds a NUL, which no argument can.
 */
export function parseItems(bytes: Uint8Array): ItemList {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new UsageError("the list is no UTF-8 text");
  }
  const items = new Set<string>();
  const duplicates = new Set<string>();
  for (const line of text.split(/\r?\n/)) {
    if (/^\s*(#|$)/.test(line)) continue;
    if (line.includes("\0")) {
      throw new UsageError(`item ${JSON.stringify(line)} contains a NUL`);
    }
    (items.has(line) ? duplicates : items).add(line);
  }
  return { items: [...items], duplicates: [...duplicates] };
}

function percentEncoded(text: string): string {
  return [...new TextEncoder().encode(text)]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`)
    .join("");
}

/**
 * The item as a file name, one of its own for each item: what no file name can
 * hold, or what means something at its begin, is percent-encoded, and a long
 * one is cut and gets a digest.
 */
export async function itemName(item: string): Promise<string> {
  const name = item.replace(
    // deno-lint-ignore no-control-regex -- control characters are what is encoded
    /[\u0000-\u001f\u007f-\u009f/\\:%]|^[.~-]/g,
    percentEncoded,
  );
  if (byteLength(name) <= LONGEST_NAME) return name;
  const digest = new Uint8Array(
    await crypto.subtle.digest("SHA-256", new TextEncoder().encode(item)),
  ).toHex().slice(0, DIGEST_DIGITS);
  // No name that is short enough has this in it: its % has two digits behind it.
  const ending = `%~${digest}`;
  let kept = "";
  for (const letter of name) {
    if (byteLength(kept + letter + ending) > LONGEST_NAME) break;
    kept += letter;
  }
  return kept + ending;
}

/** Says what is wrong with the pattern of the file names, or null. */
export function patternProblem(pattern: string): string | null {
  const parts = pattern.split("{}");
  if (parts.length !== 2) return "it needs {} once, where the item's name goes";
  // deno-lint-ignore no-control-regex -- control characters are what is refused
  if (/[/\u0000-\u001f\u007f]/.test(pattern)) {
    return "it is the name of a file, without folders";
  }
  // Dots lead the names of what is not finished.
  if (pattern.startsWith(".")) return "it must not begin with a dot";
  if (byteLength(parts.join("")) > LONGEST_FRAME) {
    return `it may add ${LONGEST_FRAME} bytes to a name at most`;
  }
  return null;
}

/** The name of an item's file: the item's name put into the pattern. */
export function fileName(pattern: string, name: string): string {
  return pattern.split("{}").join(name);
}

/**
 * Says which two items would share a file, or which one would take the place
 * of the folders beside them; null if none.
 *
 * @param names Name of each item
 * @param ignoresCase The disk takes `A` and `a` for the same
 */
export function clashOf(
  names: ReadonlyMap<string, string>,
  pattern: string,
  ignoresCase: boolean,
): string | null {
  const owners = new Map<string, string>();
  for (const [item, name] of names) {
    const file = fileName(pattern, name).normalize("NFC");
    const key = ignoresCase ? file.toLowerCase() : file;
    if (["done", "failed"].includes(file.toLowerCase())) {
      return `the file of item ${
        JSON.stringify(item)
      } would be called "${file}", as a folder of the batch; give --name another pattern`;
    }
    const owner = owners.get(key);
    if (owner !== undefined) {
      return `items ${JSON.stringify(owner)} and ${
        JSON.stringify(item)
      } would share the file "${file}" on this disk; rename one of them`;
    }
    owners.set(key, item);
  }
  return null;
}
