import { dirname } from "@std/path/dirname";
import { join } from "@std/path/join";
import type { Host } from "./host.ts";
import { pathEntries } from "./real_claude.ts";
import { reasonOf } from "./reason.ts";
import { endRun, readRun, startRun } from "./run_file.ts";
import { ENV } from "./settings.ts";
import { guardCommand, type Self } from "./shim.ts";
import { shellWords } from "./shell_words.ts";

/** One cheap request: does the allowance answer? */
const PROBE_ARGS = [
  "-p",
  "Reply with OK.",
  "--max-turns",
  "1",
  "--model",
  "haiku",
  "--output-format",
  "json",
];
const PROBE_SECONDS = 120;
/** Between SIGTERM and SIGKILL for a probe that hangs. */
const KILL_SECONDS = 10;
/** Under this name the probe opens or closes the circuit. */
const PROBE_JOB = "quota-catchup";

/** How the probe went: `ok` is claude's own answer, anything else starts no round. */
export interface ProbeResult {
  /** Claude has answered. */
  ok: boolean;
  /** The ending, or why there is none. */
  words: string;
}

/** What the probe works with. */
export interface Prober {
  /** The environment to start from. */
  host: Host;
  /** Aborted when the catch-up itself is told to end. */
  stop: AbortSignal;
  /** How the catch-up was started: the guard lies beside it. */
  self: Self;
}

/**
 * The spelling of the interpreter that may be run: permissions go by the
 * spelling of a path, and Deno names itself by its real one.
 */
function runnable(interpreter: string, env: Host["env"]): string {
  const home = env("HOME") ?? "";
  const spellings = [
    interpreter,
    ...pathEntries(env).map((entry) => join(entry, "deno")),
    "/opt/homebrew/bin/deno",
    "/usr/local/bin/deno",
    join(home, ".deno/bin/deno"),
    join(home, ".local/bin/deno"),
  ];
  return spellings.find((command) =>
    Deno.permissions.querySync({ name: "run", command }).state === "granted"
  ) ?? interpreter;
}

/** The guard in the folder of the catch-up. */
export function guardBeside(self: Self, env: Host["env"]): Self {
  if (self.script === null) {
    const beside = join(dirname(self.interpreter), "quota_guard");
    return { interpreter: beside, script: null };
  }
  const name = self.script.endsWith(".ts")
    ? "quota_guard.ts"
    : "quota_guard.js";
  return {
    interpreter: runnable(self.interpreter, env),
    script: join(dirname(self.script), name),
  };
}

/**
 * What jobs do not get from the catch-up: another account, or a claude around
 * it. And the variables that a scoped run permission refuses.
 */
const NOT_PASSED_ON =
  /^(?:ANTHROPIC_|CLAUDE_CODE_|CLAUDECODE$|CLAUDE_CONFIG_DIR$|LD_|DYLD_)/;

/** The environment that the agent's own job has under launchd, as far as it matters. */
function probeEnvironment(
  folder: string,
  id: string,
  holdsProbe: boolean,
  environment: Record<string, string>,
): Record<string, string> {
  const inherited = Object.entries(Deno.env.toObject())
    .filter(([name]) => !NOT_PASSED_ON.test(name));
  const own = Object.entries(environment)
    .filter(([name]) => !/^(?:LD|DYLD)_/.test(name));
  return {
    ...Object.fromEntries([...inherited, ...own]),
    DENO_NO_UPDATE_CHECK: "1",
    [ENV.folder]: folder,
    [ENV.job]: PROBE_JOB,
    [ENV.run]: id,
    [ENV.probe]: holdsProbe ? "1" : "",
  };
}

/** Why there was no call, as far as the guard's exit code tells. */
function noCallWords(code: number, set: string | undefined): string {
  if (code === 0 && set !== undefined) {
    return "no call was made; CLAUDE_QUOTA_PROBE_ARGS has to make one, as with -p";
  }
  return `no call was made, exit ${code}: see what is said above, or ask --doctor`;
}

/**
 * Sends one cheap request through the guard, in the environment of the job that
 * is owed.
 *
 * @param holdsProbe The circuit is open, and its probe was claimed for this
 */
export async function probeClaude(
  prober: Prober,
  folder: string,
  environment: Record<string, string>,
  holdsProbe: boolean,
): Promise<ProbeResult> {
  const { host, self, stop } = prober;
  let id: string;
  try {
    id = startRun(folder, host, holdsProbe);
  } catch (error) {
    return { ok: false, words: reasonOf(error) };
  }
  const set = host.env("CLAUDE_QUOTA_PROBE_ARGS");
  const words = set === undefined
    ? PROBE_ARGS
    : shellWords(set, () => undefined).map((word) => word.text);
  const [program, ...args] = guardCommand(guardBeside(self, host.env), folder);
  try {
    const child = new Deno.Command(program, {
      args: [...args, "--claude", "--", ...words],
      env: probeEnvironment(folder, id, holdsProbe, environment),
      clearEnv: true,
      cwd: folder,
      stdin: "null",
      stdout: "null",
      stderr: "inherit",
    }).spawn();
    const signal = (name: "SIGTERM" | "SIGKILL"): void => {
      try {
        child.kill(name);
      } catch {
        // It has just ended.
      }
    };
    const onStop = (): void => signal("SIGTERM");
    if (stop.aborted) onStop();
    stop.addEventListener("abort", onStop);
    const timers = (["SIGTERM", "SIGKILL"] as const).map((name, i) =>
      setTimeout(
        () => signal(name),
        (PROBE_SECONDS + i * KILL_SECONDS) * 1000,
      )
    );
    const { code } = await child.status;
    timers.forEach(clearTimeout);
    stop.removeEventListener("abort", onStop);
    const met = readRun(folder, id)?.calls.at(-1)?.met;
    return { ok: met === "ok", words: met ?? noCallWords(code, set) };
  } catch (error) {
    return { ok: false, words: reasonOf(error) };
  } finally {
    endRun(folder, id);
  }
}
