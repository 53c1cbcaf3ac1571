import { resolve } from "@std/path/resolve";
import { GUARD_NAME, type LaunchAgent, startedWords } from "../launch_agent.ts";
import { shellWords } from "../shell_words.ts";

/** A text that a job runs: its own command, or a script that it names. */
interface JobText {
  /** `command`, or the script's path. */
  where: string;
  /** Without the comments of a script. */
  text: string;
}

/** A script is read so far, in bytes. */
const SCRIPT_LIMIT = 256 * 1024;

/** A bare `claude`, for which PATH decides. */
const BARE_CLAUDE = /(?<![\w./-])claude(?=[\s"'`;)&|]|$)/m;
/** claude by a path, past the guard. */
const CLAUDE_BY_PATH =
  /(?<!CLAUDE_REAL_BIN=["']?)(?<![\w.-])(?:~|\$HOME)?\/(?:[^\s"'=(]*\/)?(?:\.?bin|local)\/claude(?=[\s"'`;)&|]|$)/m;
/** claude by the variables that the guard sets. */
const CLAUDE_BY_NAME = /\$\{?CLAUDE(?:_BIN)?\b/;

/** A command, and what is needed to find the scripts that it names. */
export interface JobCommand {
  /** As launchd or the guard starts it. */
  words: readonly string[];
  /** Its working directory. */
  folder: string;
  /** For `~` and `$HOME`. */
  home: string | undefined;
}

/** The command of a job, and the scripts that it names. */
function jobTexts(command: JobCommand): JobText[] {
  const texts = [{ where: "command", text: command.words.join("\n") }];
  const found = new Map<string, boolean>();
  for (const { path, started } of filesOf(command)) {
    found.set(path, started || found.get(path) === true);
  }
  for (const [path, started] of found) {
    if (GUARD_NAME.test(path)) continue;
    const text = scriptText(path, started);
    if (text !== null) texts.push({ where: path, text });
  }
  return texts;
}

/** What starts the file that is named next. */
const STARTER =
  /(?:^|\/)(?:\w*sh|python[\d.]*|node|ruby|perl|deno|run|source|\.)$/;

/** A file that a command names. */
interface NamedFile {
  path: string;
  /** It is the program, or an interpreter stands before it. */
  started: boolean;
}

/**
 * The files that a command names, also in the lines of a shell within it, where
 * `cd` counts.
 */
function* filesOf({ words, folder, home }: JobCommand): Generator<NamedFile> {
  let starts = true;
  for (const word of words) {
    yield { path: resolve("/", folder, atHome(word, home)), started: starts };
    if (/\s/.test(word)) yield* filesOfLine({ words: [word], folder, home });
    if (!word.startsWith("-")) starts = STARTER.test(word);
  }
}

function* filesOfLine(
  { words, folder, home }: JobCommand,
): Generator<NamedFile> {
  const line = shellWords(words.join(" "), () => undefined);
  let here = folder;
  let command: string[] = [];
  for (const { text, operator } of [...line, { text: "", operator: true }]) {
    if (!operator) {
      command.push(text);
      continue;
    }
    const [name, to = "~/"] = command;
    if (name === "cd") here = resolve(here, atHome(to, home));
    else yield* filesOf({ words: command, folder: here, home });
    command = [];
  }
}

function atHome(path: string, home = ""): string {
  return path.replace(/^(?:~|\$HOME|\$\{HOME\})(?=\/|$)/, () => home);
}

/** The head of a script; null for what is none, such as what a redirect leads to. */
function scriptText(path: string, started: boolean): string | null {
  try {
    if (!Deno.statSync(path).isFile) return null;
    using file = Deno.openSync(path, { read: true });
    const head = new Uint8Array(SCRIPT_LIMIT);
    const text = head.subarray(0, file.readSync(head) ?? 0);
    if (text.includes(0)) return null;
    const script = new TextDecoder().decode(text);
    return started || script.startsWith("#!") ? withoutComments(script) : null;
  } catch {
    return null; // not there, or not for this script to see
  }
}

/** What stands behind `#` at the start of a line says nothing, but for `#!`. */
function withoutComments(text: string): string {
  return text.replace(/^\s*#(?!!).*$/gm, "");
}

/** Whether a job calls claude, as far as its command and scripts tell. */
export function callsClaude(
  agent: LaunchAgent,
  home: string | undefined,
): boolean {
  const words = startedWords(agent);
  const folder = agent.workingDirectory ?? "/";
  return jobTexts({ words, folder, home }).some(({ text }) =>
    [BARE_CLAUDE, CLAUDE_BY_PATH, CLAUDE_BY_NAME].some((call) =>
      call.test(text)
    )
  );
}

/**
 * Why the calls of a command behind the guard would not lead through it, and the
 * remedy; null if nothing speaks for that.
 */
export function callTrap(
  command: JobCommand,
): { text: string; remedy: string } | null {
  const { words } = command;
  const texts = jobTexts(command);
  const remedy = (where: string): string =>
    `write "$CLAUDE" -p in its ${
      where === "command" ? where : `script ${where}`
    }`;
  const byPath = texts.find(({ text }) => CLAUDE_BY_PATH.test(text));
  if (byPath !== undefined) {
    const path = CLAUDE_BY_PATH.exec(byPath.text)?.[0] ?? "";
    return {
      text: `it calls ${path} by its path, past the guard`,
      // launchd expands no variables.
      remedy: words.includes(path)
        ? `write claude in place of ${path} in its ProgramArguments`
        : remedy(byPath.where),
    };
  }
  const login = isLoginCommand(words) ||
    texts.some(({ text }) => /^#!.*sh\b.*\s-\w*l/.test(text));
  const bare = texts.find(({ text }) => BARE_CLAUDE.test(text));
  return login && bare !== undefined
    ? {
      text: "a login shell sets PATH anew, so that claude leads past the guard",
      remedy: remedy(bare.where),
    }
    : null;
}

/** `zsh -lc ...`, `bash -l script`, `bash --login ...`. */
function isLoginCommand(words: readonly string[]): boolean {
  const shell = words.findIndex((word) =>
    /(?:^|\/)(?:ba|z|k|da)?sh$/.test(word)
  );
  if (shell < 0) return false;
  const rest = words.slice(shell + 1);
  const end = rest.findIndex((word) => !word.startsWith("-"));
  return rest.slice(0, end < 0 ? undefined : end).some((word) =>
    word === "--login" || /^-[a-z]*l/.test(word)
  );
}
