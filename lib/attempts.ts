import { expandGlobSync } from "@std/fs/expand-glob";
import { join } from "@std/path/join";
import type { ChildEnd } from "./child.ts";
import { type Guard, say } from "./guard.ts";
import {
  counts,
  type Gate,
  nextAttempt,
  noProgressLine,
} from "./progress_gate.ts";
import { reasonOf } from "./reason.ts";
import { readOwnRun, runLength } from "./run_file.ts";

/** `~` is the shell's, and a plist knows no shell. */
function withHome(glob: string, home: string | undefined): string {
  return glob.startsWith("~/") && home !== undefined
    ? join(home, glob.slice(2))
    : glob;
}

/** How many files match, each once. */
function countFiles(guard: Guard, globs: readonly string[]): number {
  const found = new Set<string>();
  for (const glob of globs) {
    const pattern = withHome(glob, guard.host.env("HOME"));
    for (const { path } of expandGlobSync(pattern, { includeDirs: false })) {
      if (counts(path, guard.folder)) found.add(path);
    }
  }
  return found.size;
}

/**
 * Tries a command until it succeeds, meets a limit, or gets no further.
 *
 * @param run The run that all attempts share; null if there is none
 * @returns How the last attempt ended; with exit code 1 instead of 0 if it got no further
 */
export async function runAttempts(
  guard: Guard,
  gate: Gate,
  run: string | null,
  attempt: () => Promise<ChildEnd>,
): Promise<ChildEnd> {
  const { folder } = guard;
  let most = countOrSay(guard, gate);
  for (let n = 1;; n++) {
    const from = folder !== null && run !== null ? runLength(folder, run) : 0;
    const end = await attempt();
    const tally = folder !== null && run !== null
      ? readOwnRun(folder, run, from)
      : null;
    const tried = { end, calls: tally?.calls ?? [] };
    if (most === null || guard.signals.code !== null) return end;
    const count = countOrSay(guard, gate);
    if (count === null) return end;
    const next = nextAttempt(tried, most, count);
    if (next === "stuck") {
      say(guard, noProgressLine(n));
      return end.started && end.code === 0 ? { ...end, code: 1 } : end;
    }
    if (next === "over" || n >= gate.attempts) return end;
    most = count;
  }
}

/** The count; null, after a line, if it cannot be had: then there is one attempt. */
function countOrSay(guard: Guard, gate: Gate): number | null {
  try {
    return countFiles(guard, gate.globs);
  } catch (error) {
    say(guard, `no further attempt: cannot count files: ${reasonOf(error)}`);
    return null;
  }
}
