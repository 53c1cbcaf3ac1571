import { holdRun } from "./broken_run.ts";
import { type Guard, namedHost, realClaude, sayTrouble } from "./guard.ts";
import type { Job } from "./guard_arguments.ts";
import {
  callPath,
  namesClaude,
  pathEntries,
  searchPath,
} from "./real_claude.ts";
import { openRun } from "./run_file.ts";
import { ENV } from "./settings.ts";
import { ensureShim } from "./shim.ts";
import { folderTrouble } from "./state_folder.ts";

/** What a run's calls find their way by; null where there is none. */
export interface Watch {
  /** Of the run. */
  id: string | null;
  /** Path of the `claude` that goes through the guard. */
  shim: string | null;
  /** The file of a job's run, which is held until it is closed. */
  held: Deno.FsFile | null;
}

const NO_WATCH: Watch = { id: null, shim: null, held: null };

/**
 * Starts the run's file and shim; without them the job runs all the same,
 * unless for a probe.
 *
 * @param job Holds the run: if its guard is killed, the catch-up knows what it
 *   met
 */
export function prepareRun(
  guard: Guard,
  probe: boolean,
  job: Job | null = null,
): Watch {
  const { folder } = guard;
  if (folder === null) return NO_WATCH;
  try {
    const shim = ensureShim(guard.self, folder, namedHost(guard));
    const { id, file } = openRun(folder, guard.host, probe);
    if (job === null) file.close();
    else hold(guard, folder, id, file, job);
    return { id, shim, held: job === null ? null : file };
  } catch (error) {
    const why = folderTrouble(folder, error);
    const what = probe
      ? "the calls of a probe cannot be watched"
      : "the job runs, but its calls are not watched";
    sayTrouble(guard, `${what}: ${why}`);
    return NO_WATCH;
  }
}

function hold(
  guard: Guard,
  folder: string,
  id: string,
  file: Deno.FsFile,
  job: Job,
): void {
  try {
    holdRun(folder, id, file, job);
  } catch (error) {
    const why = folderTrouble(folder, error);
    sayTrouble(guard, `the run's file cannot be held: ${why}`);
  }
}

/** What a run adds to the environment of its command. */
export function runEnvironment(
  guard: Guard,
  label: string,
  run: Watch,
  probe: boolean,
): Record<string, string> {
  const { host, folder } = guard;
  const env: Record<string, string> = {
    [ENV.automation]: "1",
    [ENV.job]: label,
  };
  // A job within a job is a run of its own: what it inherits, it must not use.
  if (run.id !== null || host.env(ENV.run)) env[ENV.run] = run.id ?? "";
  if (probe || host.env(ENV.probe)) env[ENV.probe] = probe ? "1" : "";
  if (folder === null || run.shim === null) {
    // A job that says "$CLAUDE" or claude runs all the same.
    const real = realClaude(guard);
    if (real !== null) {
      env["CLAUDE"] = env["CLAUDE_BIN"] = real;
      env["PATH"] = callPath(host.env, real);
    }
    return env;
  }
  env[ENV.folder] = folder;
  // A call looks for claude where the job's guard would find it: what follows
  // hides the names, and a login shell may rebuild PATH.
  const named = namesClaude(host.env) ? realClaude(guard) : null;
  if (named !== null) env[ENV.realClaude] = named;
  else env[ENV.path] = searchPath(host.env);
  env["CLAUDE"] = run.shim;
  env["CLAUDE_BIN"] = run.shim;
  const bin = run.shim.slice(0, run.shim.lastIndexOf("/"));
  env["PATH"] = [bin, ...pathEntries(host.env).filter((entry) => entry !== bin)]
    .join(":");
  return env;
}
