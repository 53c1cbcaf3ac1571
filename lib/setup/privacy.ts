import { resolve } from "@std/path/resolve";
import { type LaunchAgent, startedWords } from "../launch_agent.ts";

/** Folders that macOS lets no program into without being told. */
const PRIVATE =
  "Documents|Desktop|Downloads|Library/Mobile Documents|Library/CloudStorage";

/**
 * A folder under macOS's privacy protection that a text names, as
 * `~/Documents` or `/Volumes/...`; null if it names none.
 *
 * @param text A path, or a shell line
 */
function privateFolder(text: string, home: string): string | null {
  const plain = text.replace(/(?:~|\$HOME|\$\{HOME\})(?=\/)/g, () => home);
  const at = plain.indexOf(`${home}/`);
  const inHome = at < 0
    ? null
    : new RegExp(`(?<=${literal(home)}/)(?:${PRIVATE})(?=[/"'\\s;]|$)`)
      .exec(plain);
  if (inHome !== null) return `~/${inHome[0]}`;
  return /(?<![\w.])\/Volumes\/[^/"'\s;]+/.exec(plain)?.[0] ?? null;
}

function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

/** What of an agent lies in private folders. */
export interface PrivateParts {
  /** Folders of the program, its arguments and its working directory. */
  work: string[];
  /** Folders of its logs, which launchd itself opens. */
  logs: string[];
}

/** Which private folders an agent needs. */
export function privateParts(agent: LaunchAgent, home: string): PrivateParts {
  const folders = (texts: readonly (string | null)[]): string[] => {
    const found = texts.map((text) =>
      text === null ? null : privateFolder(text, home)
    );
    return [...new Set(found.filter((folder) => folder !== null))];
  };
  const log = (path: string | null): string | null =>
    path === null ? null : resolve("/", agent.workingDirectory ?? "/", path);
  return {
    work: folders([...startedWords(agent), agent.workingDirectory]),
    logs: folders([log(agent.stdoutPath), log(agent.stderrPath)]),
  };
}

/** The lines that say what to do about private folders. */
export function privacyAdvice(
  { work, logs }: PrivateParts,
  interpreter: string,
): string[] {
  return [
    ...(work.length === 0 ? [] : [
      `it works in ${
        work.join(", ")
      }: give Full Disk Access to ${interpreter}, which launchd now starts (System Settings > Privacy & Security > Full Disk Access)`,
    ]),
    ...(logs.length === 0 ? [] : [
      `its logs lie in ${
        logs.join(", ")
      }, where launchd may not open them (exit code 78): move them to ~/Library/Logs`,
    ]),
  ];
}
