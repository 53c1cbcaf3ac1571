import { resolve } from "@std/path/resolve";
import type { LaunchAgent } from "../launch_agent.ts";

/** A text that a job runs: its own command, or a script that it names. */
export interface JobText {
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

/** The command of a job without its guard, and the scripts that it names. */
export function jobTexts(
  agent: LaunchAgent,
  home: string | undefined,
  from = 0,
): JobText[] {
  const words = agent.arguments.slice(from);
  const texts = [{ where: "command", text: words.join("\n") }];
  const folder = agent.workingDirectory ?? "/";
  const paths = words.flatMap((word) => [
    // A whole word may be a path with blanks, or lie in the job's folder.
    resolve("/", folder, atHome(word, home)),
    ...(word.match(/(?:~|\$HOME)?\/[^\s"';&|]+/g) ?? [])
      .map((path) => atHome(path, home)),
  ]);
  for (const path of new Set(paths)) {
    const text = scriptText(path);
    if (text !== null) texts.push({ where: path, text });
  }
  return texts;
}

function atHome(path: string, home = ""): string {
  return path.replace(/^(?:~|\$HOME)(?=\/)/, () => home);
}

/** The head of a text file; null for what is none. */
function scriptText(path: string): string | null {
  try {
    if (!Deno.statSync(path).isFile) return null;
    using file = Deno.openSync(path, { read: true });
    const head = new Uint8Array(SCRIPT_LIMIT);
    const text = head.subarray(0, file.readSync(head) ?? 0);
    if (text.includes(0)) return null;
    return withoutComments(new TextDecoder().decode(text));
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
  return jobTexts(agent, home).some(({ text }) =>
    [BARE_CLAUDE, CLAUDE_BY_PATH, CLAUDE_BY_NAME].some((call) =>
      call.test(text)
    )
  );
}

/**
 * Why a job's calls would not lead through the guard, and the remedy; null if
 * nothing speaks for that.
 *
 * @param from At which of ProgramArguments its own command begins
 */
export function callTrap(
  agent: LaunchAgent,
  home: string | undefined,
  from: number,
): { text: string; remedy: string } | null {
  const texts = jobTexts(agent, home, from);
  const remedy = (where: string): string =>
    `write "$CLAUDE" -p in its ${
      where === "command" ? where : `script ${where}`
    }`;
  const byPath = texts.find(({ text }) => CLAUDE_BY_PATH.test(text));
  if (byPath !== undefined) {
    const path = CLAUDE_BY_PATH.exec(byPath.text)?.[0] ?? "";
    return {
      text: `it calls ${path} by its path, past the guard`,
      remedy: remedy(byPath.where),
    };
  }
  const login = isLoginCommand(agent.arguments.slice(from)) ||
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
