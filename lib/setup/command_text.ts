// The command of a LaunchAgent in the text of its property list: the guard put
// in front of it, and taken out again. Pure.

import { GUARD_NAME } from "../launch_agent.ts";
import {
  applyEdits,
  type Edit,
  escapeMarkup,
  lineStart,
  type PlistEntry,
  type PlistText,
  rootEntries,
} from "./plist_text.ts";

/** Stands where `Program` stood, so that it can go back there. */
const PROGRAM_NOTE =
  "<!-- Program is now in ProgramArguments, behind the guard -->";

/** A text that was replaced, and what stands there now. */
export interface Replacement {
  /** "" where something was added. */
  before: string;
  /** Never "". */
  after: string;
}

/** A property list with the guard in front of its command. */
export interface WrappedText {
  /** The whole of it. */
  text: string;
  /** From the text before to this one. */
  replacements: Replacement[];
}

/**
 * Puts words in front of the command. `Program` becomes the first word of the
 * command, since launchd would start it instead of the guard.
 *
 * @param plist Not behind the guard yet
 * @param words From the interpreter to the `--` after the guard's options
 * @throws {SyntaxError} If there is no command, or it cannot be told where.
 */
export function wrapCommand(
  plist: PlistText,
  words: readonly string[],
): WrappedText {
  const { text } = plist;
  const entries = rootEntries(text);
  const list = only(entries, "ProgramArguments");
  const program = only(entries, "Program");
  const edits: Edit[] = [];
  const strings = words.map((word) => `<string>${plist.escape(word)}</string>`);
  const first = list?.value.children[0];
  const ownText = program === undefined
    ? null
    : text.slice(program.value.start, program.value.end);
  if (list !== undefined && list.value.tag !== "array") {
    throw new SyntaxError("Its ProgramArguments is no array");
  }
  if (first !== undefined) {
    const between = lineStart(text, first.start);
    const inserted = strings.map((string) => string + between).join("");
    edits.push({
      start: first.start,
      end: ownText === null ? first.start : first.end,
      text: inserted + (ownText ?? ""),
    });
  } else if (program !== undefined && ownText !== null) {
    const { start, end } = list?.value ?? program.value;
    const array = arrayText(text, list ?? program, [...strings, ownText]);
    edits.push(
      list === undefined
        ? {
          start: program.key.start,
          end,
          text: "<key>ProgramArguments</key>" +
            text.slice(program.key.end, start) + array,
        }
        : { start, end, text: array },
    );
  } else {
    throw new SyntaxError("It has neither Program nor ProgramArguments");
  }
  if (program !== undefined && list !== undefined) {
    const { key, value } = program;
    edits.push({ start: key.start, end: value.end, text: PROGRAM_NOTE });
  }
  return {
    text: applyEdits(text, edits),
    replacements: edits.map((edit) => ({
      before: text.slice(edit.start, edit.end),
      after: edit.text,
    })),
  };
}

function only(
  entries: readonly PlistEntry[],
  name: string,
): PlistEntry | undefined {
  const [entry, second] = entries.filter((entry) => entry.name === name);
  if (second !== undefined) {
    throw new SyntaxError(`It has the key ${name} twice: take one out`);
  }
  return entry;
}

/** An array in the manner of the file, as the value of `entry`. */
function arrayText(
  text: string,
  entry: PlistEntry,
  items: readonly string[],
): string {
  const outer = lineStart(text, entry.key.start);
  const inner = outer === "" ? "" : outer + indentation(outer);
  return `<array>${items.map((item) => inner + item).join("")}${outer}</array>`;
}

/** One step of indentation in the manner of a line's own. */
function indentation(line: string): string {
  const spaces = / +$/.exec(line)?.[0].length ?? 0;
  if (spaces === 0) return "\t";
  return spaces % 4 === 0 ? "    " : "  ";
}

/**
 * Undoes replacements in a text that may have changed elsewhere.
 *
 * @returns Null unless each of them stands there exactly once
 */
export function undoReplacements(
  text: string,
  replacements: readonly Replacement[],
): string | null {
  let result = text;
  for (const { before, after } of replacements) {
    const at = result.indexOf(after);
    if (at < 0 || result.indexOf(after, at + 1) >= 0) return null;
    result = result.slice(0, at) + before + result.slice(at + after.length);
  }
  return result;
}

/** The guard that this one took over from; the two share no circuit. */
export const PYTHON_GUARD = /claude-quota-guard\.py\b/;

/** The guard in front of a command, as an array of words. */
export interface GuardPrefix {
  /** The job's label. */
  job: string;
  /** The guard's own options, without `--job LABEL`. */
  options: string[];
  /** How many words belong to it, its `--` included. */
  length: number;
}

/**
 * Finds the guard in front of a command: an interpreter with its flags, the
 * guard, its options with `--job`, and `--`.
 *
 * @param args ProgramArguments
 * @returns Null if the guard is not there, or in another way
 */
export function guardPrefix(args: readonly string[]): GuardPrefix | null {
  const guard = args.findIndex((word) => GUARD_NAME.test(word));
  const dashes = args.indexOf("--", guard + 1);
  if (guard < 0 || dashes < 0 || dashes === args.length - 1) return null;
  const flags = args.slice(1, guard);
  if (!flags.every((word) => /^(?:run|-[uBES]+|--\w.*)$/.test(word))) {
    return null;
  }
  const own = args.slice(guard + 1, dashes);
  const job = own.findIndex((word) => /^--job(=|$)/.test(word));
  if (job < 0) return null;
  const given = own.splice(job, own[job] === "--job" ? 2 : 1);
  return {
    job: given[1] ?? given[0]?.slice("--job=".length) ?? "",
    options: own,
    length: dashes + 1,
  };
}

/**
 * Takes the first words out of ProgramArguments.
 *
 * @throws {SyntaxError} If it is no array of so many.
 */
export function dropWords(plist: PlistText, count: number): string {
  const list = only(rootEntries(plist.text), "ProgramArguments");
  const [first, next] = [0, count].map((i) => list?.value.children[i]);
  if (first === undefined || next === undefined) {
    throw new SyntaxError("Its ProgramArguments has too few words");
  }
  return applyEdits(plist.text, [
    { start: first.start, end: next.start, text: "" },
  ]);
}

/** ProgramArguments as text to paste into a property list. */
export function argumentsText(words: readonly unknown[]): string {
  const items = words.map((word) =>
    `  <string>${escapeMarkup(String(word))}</string>\n`
  );
  return `<key>ProgramArguments</key>\n<array>\n${items.join("")}</array>`;
}
