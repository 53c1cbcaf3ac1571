// A LaunchAgent's file on its way to being changed: read, changed in memory, and
// proved to say nothing else than before.

import { type LaunchAgent, parseLaunchAgent } from "../launch_agent.ts";
import { reasonOf } from "../reason.ts";
import { type Backup, readBackup, sha256 } from "./backup.ts";
import {
  argumentsText,
  dropWords,
  type GuardPrefix,
  guardPrefix,
  type Replacement,
  undoReplacements,
  wrapCommand,
} from "./command_text.ts";
import {
  type Dictionary,
  isXml,
  parseDictionary,
  sameBytes,
  sameValue,
  writableFile,
} from "./plist_file.ts";
import { decodePlist } from "./plist_text.ts";
import { folderOfJob, Refusal, type SetupWorld } from "./setup_world.ts";

/** A file as it stands. */
export interface OpenedAgent {
  /** As the user named it. */
  path: string;
  /** Behind all links. */
  realPath: string;
  /** Its whole content. */
  bytes: Uint8Array;
  /** What it says. */
  agent: LaunchAgent;
  /** Null if the guard is not in front of its command, or in another way. */
  prefix: GuardPrefix | null;
  /** The state folder of its job. */
  folder: string;
  /** From when it was wrapped; null if it was not, or that is lost. */
  backup: Backup | null;
  /** The file is as wrapping left it. */
  untouched: boolean;
}

/**
 * Reads a file that is to be changed.
 *
 * @throws {Refusal} If it cannot be read.
 */
export async function openAgent(
  world: SetupWorld,
  path: string,
): Promise<OpenedAgent> {
  try {
    const realPath = Deno.realPathSync(path);
    const bytes = Deno.readFileSync(realPath);
    const agent = await parseLaunchAgent(path, bytes, world.convert);
    const folder = folderOfJob(world, agent);
    const backup = await readBackup(folder, realPath);
    return {
      path,
      realPath,
      bytes,
      agent,
      prefix: guardPrefix(agent.arguments),
      folder,
      backup,
      untouched: backup !== null && backup.sha256 === await sha256(bytes),
    };
  } catch (error) {
    throw new Refusal(
      `"${path}" cannot be read: ${reasonOf(error)}; see plutil -lint`,
    );
  }
}

/** A file with the guard in front of its command. */
export interface WrappedAgent {
  /** Its whole content. */
  bytes: Uint8Array;
  /** The whole of ProgramArguments. */
  command: unknown[];
  /** The text before, as people read it. */
  before: string;
  /** What is to be undone later; empty if the file was converted. */
  replacements: Replacement[];
}

/**
 * Puts the guard in front of the command of a file.
 *
 * @param original The file without the guard
 * @param words From the interpreter to `--`
 * @throws {Refusal} If that cannot be done so that the rest stays as it is.
 */
export async function wrapFile(
  world: SetupWorld,
  path: string,
  original: Uint8Array,
  words: readonly string[],
): Promise<WrappedAgent> {
  const xml = isXml(original) ? original : await world.convert(path);
  const own = commandOf(readable(path, original));
  const command = [...words, ...own];
  const paste = own.length > 0 ? argumentsText(command) : null;
  if (xml === null) {
    throw new Refusal(
      `"${path}" is no XML and there is no plutil to convert it: run plutil -convert xml1 on it, or put this in place of Program and ProgramArguments`,
      paste,
    );
  }
  const before = parseDictionary(xml);
  try {
    const plist = decodePlist(xml);
    const { text, replacements } = wrapCommand(plist, words);
    const bytes = plist.encode(text);
    const wanted: Dictionary = { ...before, ProgramArguments: command };
    delete wanted.Program;
    proveSame(parseDictionary(bytes), wanted);
    return {
      bytes,
      command,
      before: plist.show(plist.text),
      replacements: xml === original ? replacements : [],
    };
  } catch (error) {
    throw new Refusal(
      `"${path}" cannot be changed safely: ${reasonOf(error)}`,
      paste,
    );
  }
}

function readable(path: string, bytes: Uint8Array): Dictionary {
  try {
    return parseDictionary(bytes);
  } catch (error) {
    throw new Refusal(
      `"${path}" is read by plutil alone (${
        reasonOf(error)
      }): run plutil -convert xml1 on it first`,
    );
  }
}

/** What launchd starts: `Program` goes before the first of ProgramArguments. */
function commandOf(plist: Dictionary): unknown[] {
  const list = Array.isArray(plist.ProgramArguments)
    ? plist.ProgramArguments
    : [];
  return typeof plist.Program === "string"
    ? [plist.Program, ...list.slice(1)]
    : list;
}

function proveSame(one: Dictionary, other: Dictionary): void {
  for (const key of new Set([...Object.keys(one), ...Object.keys(other)])) {
    if (!sameValue(one[key], other[key])) {
      throw new Error(`the key ${key} would not say the same`);
    }
  }
}

/** A file of XML as people read it. */
export function shownText(bytes: Uint8Array): string {
  const plist = decodePlist(bytes);
  return plist.show(plist.text);
}

/** A file without the guard. */
export interface UnwrappedAgent {
  /** Its whole content. */
  bytes: Uint8Array;
  /** It is byte for byte as it was before it was wrapped. */
  restored: boolean;
}

/**
 * Takes the guard out of a file: a file as wrapping left it becomes what it was;
 * in one that has been edited since, the wrapping alone is undone.
 *
 * @throws {Refusal} If the guard is there in another way.
 */
export function unwrapFile(
  { path, bytes, agent, prefix, backup, untouched }: OpenedAgent,
): UnwrappedAgent {
  if (backup !== null && untouched) {
    return { bytes: backup.original, restored: true };
  }
  if (prefix === null) {
    throw new Refusal(
      `the guard is in the command of "${path}" in a way of your own: take it out by hand`,
    );
  }
  const rest = agent.arguments.slice(prefix.length);
  if (!isXml(bytes)) {
    throw new Refusal(
      `"${path}" is no XML: run plutil -convert xml1 on it, or put this in place of ProgramArguments`,
      argumentsText(rest),
    );
  }
  const plist = decodePlist(bytes);
  const undone = backup === null || backup.replacements.length === 0
    ? null
    : undoReplacements(plist.text, backup.replacements);
  const text = undone ?? dropWords(plist, prefix.length);
  const result = plist.encode(text);
  const left = parseDictionary(result);
  if (!sameValue(commandOf(left).map(String), rest)) {
    throw new Refusal(
      `"${path}" cannot be changed safely: put this in place of ProgramArguments`,
      argumentsText(rest),
    );
  }
  const restored = backup !== null && sameBytes(backup.original, result);
  return { bytes: result, restored };
}

/** The file to write, or a refusal that says what to put in by hand. */
export function targetOf(
  world: SetupWorld,
  path: string,
  args: readonly unknown[],
): ReturnType<typeof writableFile> {
  try {
    return writableFile(path, world.uid);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new Refusal(
      `${error.message}; where the file is made from, put this in place of Program and ProgramArguments`,
      argumentsText(args),
    );
  }
}
