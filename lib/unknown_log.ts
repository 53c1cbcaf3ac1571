import { join } from "@std/path/join";
import { replaceFile } from "./atomic_file.ts";
import { WORDINGS_FILE } from "./state.ts";

const LARGEST = 65_536;

/** Two refusals that differ in their figures only share a wording. */
function wordingOf(text: string): string {
  return text.replace(/\d+/g, "#").trim();
}

function linesOf(folder: string): string[] {
  try {
    return Deno.readTextFileSync(join(folder, WORDINGS_FILE)).split("\n")
      .filter((line) => line !== "");
  } catch {
    return [];
  }
}

/** The text of a line, behind its time stamp. */
function textOf(line: string): string {
  return line.slice(line.indexOf(" ") + 1);
}

/** The refusals in no known wording that were met so far, oldest first. */
export function unknownWordings(folder: string): string[] {
  return linesOf(folder).map(textOf);
}

/**
 * Keeps a refusal in no known wording, once per wording; the oldest go when the
 * log would grow beyond 64 KiB. For whoever holds the lock on the state.
 *
 * @param text One line
 * @throws {Error} If the log cannot be written.
 */
export function noteUnknown(folder: string, text: string, now: number): void {
  const lines = linesOf(folder);
  const wording = wordingOf(text);
  if (lines.some((line) => wordingOf(textOf(line)) === wording)) return;
  const stamp = new Date(Math.floor(now) * 1000).toISOString()
    .replace(".000", "");
  lines.push(`${stamp} ${text}`);
  const bytes = (): number =>
    new TextEncoder().encode(lines.join("\n") + "\n").length;
  while (lines.length > 1 && bytes() > LARGEST) lines.shift();
  replaceFile(join(folder, WORDINGS_FILE), lines.join("\n") + "\n");
}
