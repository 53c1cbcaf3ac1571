/** Processes that may hang, and what is read off the files that they leave. */
import { join } from "@std/path/join";
import { newestOutcome } from "../../lib/candidate.ts";
import type { JobMarker } from "../../lib/marker.ts";
import { readBooks } from "../../lib/state.ts";
import { fakeHost } from "../fake_host.ts";
import { textOf } from "../files.ts";
import { now } from "../guard_steps.ts";
import type { Finished, Home, RunOptions } from "../harness.ts";
import { Broken } from "./report.ts";

/** No case takes nearly as long, even where others keep the machine busy. */
const HANGS_AFTER = 90;

/** Runs a command to its end; with all it has started it is killed and called hung if that takes too long. */
export async function runBounded(
  home: Home,
  words: readonly string[],
  options: RunOptions = {},
  seconds = HANGS_AFTER,
): Promise<Finished> {
  const child = home.start(["setsid", ...words], options);
  let hung = false;
  const timer = setTimeout(() => {
    hung = true;
    try {
      Deno.kill(-child.pid, "SIGKILL");
    } catch {
      // Its last process has just ended.
    }
  }, seconds * 1000);
  const fed = options.stdin !== undefined &&
    new Blob([options.stdin]).stream().pipeTo(child.stdin).catch(() => {});
  const { code, signal, stdout, stderr } = await child.output();
  await fed;
  clearTimeout(timer);
  if (hung) throw new Broken("hung", `no end after ${seconds} s`);
  const [out, err] = [stdout, stderr].map((b) => new TextDecoder().decode(b));
  return { code, signal, stdout: out ?? "", stderr: err ?? "" };
}

/** A file of JSON: null if it is not there. */
export function jsonOf(path: string): Record<string, unknown> | null {
  let text: string;
  try {
    text = Deno.readTextFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
  return JSON.parse(text);
}

/** Takes the lock and frees it again: nobody may hold it. */
export function lockIsFree(home: Home): boolean {
  try {
    using lock = Deno.openSync(join(home.state, "state.json.lock"), {
      write: true,
    });
    return lock.tryLockSync(true);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return true;
    throw error;
  }
}

/** What the catch-up takes for a job's newest outcome, from this log and the books. */
export async function outcomeOf(
  home: Home,
  label: string,
  log: string,
): Promise<JobMarker | null> {
  const path = join(home.logs, `${label}.log`);
  Deno.writeTextFileSync(path, log);
  const books = await readBooks(home.state, fakeHost(now()));
  return newestOutcome([path], label, books, now());
}

/** How many lines a file has. */
export function lines(path: string): number {
  return textOf(path).split("\n").length - 1;
}

/** All names below a folder, with their folders. */
export function namesBelow(folder: string, prefix = ""): string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) =>
    isDirectory
      ? namesBelow(join(folder, name), `${prefix}${name}/`)
      : [prefix + name]
  ).sort();
}

/** Ends what a case has left on purpose. */
export function killHome(home: Home): void {
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    if (!textOf(`/proc/${name}/environ`).includes(home.path)) continue;
    try {
      Deno.kill(Number(name), "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  }
}
