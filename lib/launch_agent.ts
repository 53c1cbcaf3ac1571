// LaunchAgents as they stand on disk, launchd.plist(5): what they start, when,
// and what they tell the guard.

import { join } from "@std/path/join";
import { resolve } from "@std/path/resolve";
import { isDictionary } from "./calendar.ts";
import { parseDuration } from "./duration.ts";
import { reasonOf } from "./reason.ts";
import { shellWords } from "./shell_words.ts";
import { type RunTool, toolRunner } from "./tool.ts";

/** The keys of one LaunchAgent that matter here; what has a wrong type is absent. */
export interface LaunchAgent {
  /** The file. The label need not match its name. */
  path: string;
  /** Key `Label`, by which launchd knows the job. */
  label: string;
  /** Key `Program`: started in place of the first of ProgramArguments. */
  program: string | null;
  /** Key `ProgramArguments`; what is no string as Python's `str` would show it. */
  arguments: string[];
  /** Key `StandardOutPath` as written; see `logPaths`. */
  stdoutPath: string | null;
  /** Key `StandardErrorPath` as written; see `logPaths`. */
  stderrPath: string | null;
  /** Key `EnvironmentVariables`, the strings in it: launchd ignores the rest. */
  environment: Record<string, string>;
  /** Key `WorkingDirectory`. */
  workingDirectory: string | null;
  /** Key `StartCalendarInterval` as it stands; undefined if absent. See slot.ts. */
  calendar: unknown;
  /** Whether there is a key `StartInterval`, good or bad. */
  hasStartInterval: boolean;
  /** Key `StartInterval` in seconds, if it is a number above zero. */
  startInterval: number | null;
  /** Key `KeepAlive` is true or a dictionary of conditions. */
  keepAlive: boolean;
  /** Key `RunAtLoad` is true. */
  runAtLoad: boolean;
  /** Key `Disabled`; launchd keeps its own record, which goes before this. */
  disabled: boolean | null;
}

/** One file of a folder of agents, read or not; `error` is one line for people. */
export type AgentFile =
  | { path: string; agent: LaunchAgent }
  | { path: string; error: string };

/** What an agent tells the guard before the `--` that ends the guard's options. */
export interface GuardOptions {
  /** The label in the job's markers: after `--job`, else the agent's own. */
  label: string;
  /** `--priority` is given. */
  priority: boolean;
  /** Seconds after a skip in which it may be made up; null: no such limit. */
  expires: number | null;
  /** `--once` is given. */
  once: boolean;
  /** `--resumable` is given. */
  resumable: boolean;
}

/**
 * Turns a property list that the library refuses into an XML one, or null if
 * that cannot be done.
 */
export type ConvertPlist = (path: string) => Promise<Uint8Array | null>;

/** Far above any real agent, so that a mistaken file does not fill the memory. */
const LARGEST_FILE = 4 * 1024 * 1024;

const PLUTIL = "/usr/bin/plutil";
const PLUTIL_SECONDS = 10;

/**
 * Apple's own reader as a fall-back, plutil(1). Null where there is none, where
 * it may not be started and where it refuses the file too.
 */
export function plutilConverter(
  run: RunTool = toolRunner(PLUTIL),
): ConvertPlist {
  return async (path) => {
    try {
      const args = ["-convert", "xml1", "-o", "-", "--", path];
      const result = await run(args, PLUTIL_SECONDS);
      if (result.timedOut || result.code !== 0) return null;
      return new TextEncoder().encode(result.stdout);
    } catch {
      return null;
    }
  };
}

/**
 * Reads one LaunchAgent.
 *
 * @param path Where it was read from
 * @param bytes The whole file: XML, binary or ASCII, in any encoding
 * @param convert Asked if the library refuses the file
 * @throws With the parser's reason, or if it is no dictionary with a `Label`
 */
export async function parseLaunchAgent(
  path: string,
  bytes: Uint8Array,
  convert: ConvertPlist = plutilConverter(),
): Promise<LaunchAgent> {
  const { parsePropertyList } = await import("./property_list.ts");
  let plist: unknown;
  try {
    plist = parsePropertyList(bytes);
  } catch (refusal) {
    const converted = await convert(path);
    if (converted === null) throw refusal;
    plist = parsePropertyList(converted);
  }
  if (!isDictionary(plist)) throw new Error("It holds no dictionary");
  const label = text(plist.Label);
  if (!label) throw new Error("It has no Label");
  return {
    path,
    label,
    program: text(plist.Program),
    arguments: Array.isArray(plist.ProgramArguments)
      ? plist.ProgramArguments.map(pythonStr)
      : [],
    stdoutPath: text(plist.StandardOutPath),
    stderrPath: text(plist.StandardErrorPath),
    environment: strings(plist.EnvironmentVariables),
    workingDirectory: text(plist.WorkingDirectory),
    calendar: plist.StartCalendarInterval,
    hasStartInterval: Object.hasOwn(plist, "StartInterval"),
    startInterval:
      typeof plist.StartInterval === "number" && plist.StartInterval > 0
        ? plist.StartInterval
        : null,
    keepAlive: plist.KeepAlive === true || isDictionary(plist.KeepAlive),
    runAtLoad: plist.RunAtLoad === true,
    disabled: typeof plist.Disabled === "boolean" ? plist.Disabled : null,
  };
}

function text(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function strings(value: unknown): Record<string, string> {
  if (!isDictionary(value)) return {};
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] =>
      typeof entry[1] === "string"
    ),
  );
}

function pythonStr(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return value ? "True" : "False";
  return JSON.stringify(value) ?? "None";
}

/**
 * Reads every `*.plist` of a folder, sorted by name; like launchd it passes over
 * hidden files. One that cannot be read is an entry with the reason. A folder
 * that does not exist is empty.
 *
 * @param folder Usually `~/Library/LaunchAgents`
 * @throws If the folder cannot be listed
 */
export async function readLaunchAgents(
  folder: string,
  convert: ConvertPlist = plutilConverter(),
): Promise<AgentFile[]> {
  const names: string[] = [];
  try {
    for await (const { name } of Deno.readDir(folder)) {
      if (name.endsWith(".plist") && !name.startsWith(".")) names.push(name);
    }
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) {
      throw new Error(
        `Cannot list the agents in "${folder}": ${oneLine(error)}`,
      );
    }
  }
  const files: AgentFile[] = [];
  for (const name of names.sort()) {
    const path = join(folder, name);
    try {
      const bytes = readRegularFile(path);
      files.push({ path, agent: await parseLaunchAgent(path, bytes, convert) });
    } catch (error) {
      files.push({ path, error: oneLine(error) });
    }
  }
  return files;
}

/** Looks before it opens: opening a pipe would wait for a writer for ever. */
function readRegularFile(path: string): Uint8Array {
  const { isFile, size } = Deno.statSync(path);
  if (!isFile) throw new Error("It is not a regular file");
  if (size > LARGEST_FILE) throw new Error("It is larger than 4 MiB");
  return Deno.readFileSync(path);
}

function oneLine(error: unknown): string {
  // deno-lint-ignore no-control-regex -- a parser quotes what it met
  return reasonOf(error).replace(/[\s\x00-\x1f\x7f]+/g, " ").trim()
    .slice(0, 200);
}

/** What launchd starts: `Program` goes before the first of `ProgramArguments`. */
export function startedWords(
  { program, arguments: words }: Pick<LaunchAgent, "program" | "arguments">,
): string[] {
  return program === null ? words : [program, ...words.slice(1)];
}

/** Names under which the guard is found in a job's arguments. */
export const GUARD_NAME = /claude-quota-guard|quota_guard|quota-guard/;

/** Whether a job is started through the guard, by its `ProgramArguments`. */
export function isGuarded(agent: LaunchAgent): boolean {
  return agent.arguments.some((argument) => GUARD_NAME.test(argument));
}

/** Whether an agent is a catch-up, installed or written by hand. */
export function isCatchup(agent: LaunchAgent): boolean {
  return agent.arguments.some((word) =>
    /(?:^|\/)quota[_-]catchup(\.[jt]s)?$/.test(word)
  );
}

/**
 * Reads the guard's options out of a job's arguments, also out of the command
 * line of a shell (`zsh -lc "... --job L -- ..."`). Only what stands between the
 * guard's name and the `--` after its options counts.
 */
export function guardOptions(agent: LaunchAgent): GuardOptions {
  const options: GuardOptions = {
    label: agent.label,
    priority: false,
    expires: null,
    once: false,
    resumable: false,
  };
  const words = guardWords(agent);
  for (const [index, word] of words.entries()) {
    const [, name, inline] = /^--([a-z-]+)(?:=([\s\S]*))?$/.exec(word) ?? [];
    const value = inline ?? words[index + 1];
    if (name === "priority") options.priority = true;
    else if (name === "once") options.once = true;
    else if (name === "resumable") options.resumable = true;
    else if (name === "expires") options.expires = parseDuration(value ?? "");
    // A variable that only the job's own shell knows is no label.
    else if (name === "job" && value && !value.includes("$")) {
      options.label = value;
    }
  }
  return options;
}

/** The words from the guard's name on, without the commands that it is to run. */
function guardWords(agent: LaunchAgent): string[] {
  const isNamed = (word: string): boolean => GUARD_NAME.test(word);
  const commands = guardCommands(agent);
  const at = commands.findIndex((words) => words.some(isNamed));
  const [first = [], ...rest] = at < 0 ? [] : commands.slice(at);
  const own = first.slice(first.findIndex(isNamed) + 1);
  return [own, ...rest].flatMap(upToDashes);
}

/**
 * The commands of a job among which the guard is: its arguments are one, or one
 * of them is the line of a shell.
 */
export function guardCommands(agent: LaunchAgent): string[][] {
  const at = agent.arguments.findIndex((argument) => GUARD_NAME.test(argument));
  const line = agent.arguments[at];
  // `-c`, `-lc`: the argument after it is a command line, not a word.
  if (
    line === undefined || !/^-[a-z]*c$/.test(agent.arguments[at - 1] ?? "")
  ) return [agent.arguments];
  const variables = new Map(Object.entries(agent.environment));
  variables.set("XPC_SERVICE_NAME", agent.label); // set by launchd
  const commands: string[][] = [[]];
  for (
    const { text, operator } of shellWords(line, (name) => variables.get(name))
  ) {
    if (operator) commands.push([]);
    else commands.at(-1)?.push(text);
  }
  return commands;
}

function upToDashes(words: string[]): string[] {
  const end = words.indexOf("--");
  return end < 0 ? words : words.slice(0, end);
}

/**
 * The files that hold the job's markers, standard error first: absolute, each
 * once. launchd resolves a relative path against the job's folder, which is `/`
 * if it names none, and expands neither `~` nor variables.
 */
export function logPaths(agent: LaunchAgent): string[] {
  const folder = agent.workingDirectory ?? "/";
  const paths = [agent.stderrPath, agent.stdoutPath]
    .filter((path) => path !== null)
    .map((path) => resolve("/", folder, path));
  return [...new Set(paths)];
}
