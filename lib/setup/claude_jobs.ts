import { join } from "@std/path/join";
import type { LaunchAgent } from "../launch_agent.ts";

/** A text that a job runs: its own command, or a script that it names. */
export interface JobText {
  /** `command`, or the script's path. */
  where: string;
  text: string;
}

/** A script is read so far, in bytes. */
const SCRIPT_LIMIT = 256 * 1024;

/** A call of claude by name, by path, or by the variables that name it. */
const CLAUDE =
  /(?<![\w.-])(?:[^\s"'=(]*\/)?claude(?=[\s"'`;)&|]|$)|\$\{?CLAUDE(?:_BIN)?\b/m;

/** The command of a job without its guard, and the scripts that it names. */
export function jobTexts(
  agent: LaunchAgent,
  home: string | undefined,
  from = 0,
): JobText[] {
  const words = agent.arguments.slice(from);
  const texts = [{ where: "command", text: words.join("\n") }];
  const paths = words.flatMap((word) =>
    word.match(/(?:~|\$HOME)?\/[^\s"';&|]+/g) ?? []
  )
    .map((path) => path.replace(/^(?:~|\$HOME)(?=\/)/, home ?? ""));
  if (!words[0]?.startsWith("/") && agent.workingDirectory !== null) {
    paths.push(
      ...words.map((word) => join(agent.workingDirectory ?? "/", word)),
    );
  }
  for (const path of new Set(paths)) {
    const text = scriptText(path);
    if (text !== null) texts.push({ where: path, text });
  }
  return texts;
}

/** The head of a text file; null for what is none. */
function scriptText(path: string): string | null {
  try {
    if (!Deno.statSync(path).isFile) return null;
    using file = Deno.openSync(path, { read: true });
    const head = new Uint8Array(SCRIPT_LIMIT);
    const text = head.subarray(0, file.readSync(head) ?? 0);
    return text.includes(0) ? null : new TextDecoder().decode(text);
  } catch {
    return null; // not there, or not for this script to see
  }
}

/** Whether a job calls claude, as far as its command and scripts tell. */
export function callsClaude(
  agent: LaunchAgent,
  home: string | undefined,
): boolean {
  return jobTexts(agent, home).some(({ text }) => CLAUDE.test(text));
}
