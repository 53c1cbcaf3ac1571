// Notices: one line to a command of the user's when the circuit opens, when
// claude answers again, and after a round that started something.

import { join } from "@std/path/join";
import type { Circuit } from "./circuit.ts";
import { formatDuration } from "./duration.ts";
import type { Host } from "./host.ts";
import { formatInstant } from "./instant.ts";
import { reasonOf } from "./reason.ts";
import { ENV } from "./settings.ts";
import { endWithin } from "./tool.ts";

/** A notifier that takes longer is cut off. */
const SECONDS = 10;
const NOTIFY_FILE = "notify";

/** The notice of a circuit that has just opened. */
export function openedNotice(
  circuit: Circuit,
  now: number,
  timeZone: string,
): string {
  const { open_until, opened_by, reason } = circuit;
  const sentence = opened_by?.sentence ?? "";
  return `claude: ${
    reason === "suspected" ? "what looks like a usage limit" : "usage limit"
  }, jobs wait until ${formatInstant(open_until, now, timeZone)} (${
    formatDuration(open_until - now)
  }); met by ${opened_by?.job ?? "a call outside of jobs"}${
    sentence === "" ? "" : `: ${sentence}`
  }`;
}

/** The notice of the first answer after a limit. */
export const ANSWERS_NOTICE = "claude: answers again, jobs run";

/**
 * The user's command: `CLAUDE_QUOTA_NOTIFY`, else, for all jobs at once, the
 * first line of the file `notify` in the state folder. Null if there is none.
 */
export function notifier(
  host: Pick<Host, "env">,
  folder: string | null,
): string | null {
  const set = host.env(ENV.notify);
  if (set !== undefined || folder === null) return set ?? null;
  try {
    const text = Deno.readTextFileSync(join(folder, NOTIFY_FILE));
    return text.split("\n")[0]?.trim() || null;
  } catch {
    return null; // not there
  }
}

/**
 * Hands a notice to the user's command, as its last argument.
 *
 * @param seconds Until it is cut off
 * @param stderr What becomes of its error output
 * @returns What went wrong, in words; null if nothing did
 */
export async function sendNotice(
  command: string,
  text: string,
  seconds: number = SECONDS,
  stderr: "null" | "inherit" = "null",
): Promise<string | null> {
  try {
    const child = new Deno.Command("/bin/sh", {
      // A shell, so that the command may have arguments of its own.
      args: ["-c", `${command} "$1"`, "sh", text],
      stdin: "null",
      stdout: "null",
      stderr,
    }).spawn();
    const { code, timedOut } = await endWithin(child, seconds);
    if (timedOut) return `the notifier took over ${seconds} s and was cut off`;
    return code === 0 ? null : `the notifier failed with exit code ${code}`;
  } catch (error) {
    return `the notifier cannot be started: ${reasonOf(error)}`;
  }
}
