// A home folder for each test, with stand-ins for claude and launchctl in it,
// and the two scripts as processes that know no other.
import { join } from "@std/path/join";
import { defaultSignals } from "./default_signals.ts";
import { type PlistDict, plistXml } from "./plist_xml.ts";
import { type Kind, type Script, scriptCommand } from "./script.ts";
import { ClaudeStandIn } from "./stand_in/claude.ts";
import { LaunchdStandIn } from "./stand_in/launchd.ts";

/** How a process ended and what it printed. */
export interface Finished {
  code: number;
  signal: Deno.Signal | null;
  stdout: string;
  stderr: string;
}

/** `env` is added to the home's; null takes a variable away. */
export interface RunOptions {
  kind?: Kind;
  env?: Record<string, string | null>;
  cwd?: string;
  stdin?: string;
}

/**
 * Polls until `condition` gives something true and returns that. The time is
 * for what hangs: a busy machine needs far less.
 */
export async function until<T>(
  condition: () => T | false | Promise<T | false>,
  what: string,
  timeoutSeconds = 120,
): Promise<T> {
  const end = performance.now() + timeoutSeconds * 1000;
  do {
    const found = await condition();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  } while (performance.now() < end);
  throw new Error(`Waited ${timeoutSeconds} s in vain until ${what}`);
}

/**
 * For what has to happen within a time-out: a slow machine may need a longer one.
 * Gives ever more seconds until the result is as hoped, and returns the last one.
 */
export async function patiently<T>(
  attempt: (seconds: number) => Promise<T>,
  hoped: (result: T) => boolean,
): Promise<T> {
  for (let seconds = 1;; seconds *= 2) {
    const result = await attempt(seconds);
    if (hoped(result) || seconds > 60) return result;
  }
}

/**
 * Waits for all of `runs`, also when one fails: the others would go on beyond
 * their test and leak into the next ones.
 */
export async function together<const T extends readonly Promise<unknown>[]>(
  runs: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(runs);
  return await Promise.all(runs);
}

/** A temporary home folder; at its end it is removed with its running jobs. */
export class Home implements AsyncDisposable {
  readonly path = Deno.makeTempDirSync({ prefix: "quota home " });
  readonly state = join(this.path, "state");
  readonly agents = join(this.path, "Library", "LaunchAgents");
  readonly logs = join(this.path, "Library", "Logs");
  /** First on PATH and where claude installs itself: the stand-ins. */
  readonly bin = join(this.path, ".local", "bin");
  readonly claude: ClaudeStandIn;
  readonly launchd: LaunchdStandIn;
  readonly env: Record<string, string> = {
    HOME: this.path,
    PATH: `${this.bin}:/usr/bin:/bin`,
    CLAUDE_QUOTA_DIR: this.state,
    TZ: Deno.env.get("TZ") ?? "UTC",
  };

  constructor() {
    for (const folder of [this.agents, this.logs, this.bin]) {
      Deno.mkdirSync(folder, { recursive: true });
    }
    // Deno keeps its packages in the home: an empty one would load them anew.
    const caches = Deno.build.os === "darwin" ? "Library/Caches" : ".cache";
    const userCaches = Deno.env.get("XDG_CACHE_HOME") ||
      join(Deno.env.get("HOME") ?? "/", caches);
    Deno.mkdirSync(join(this.path, caches), { recursive: true });
    Deno.symlinkSync(
      Deno.env.get("DENO_DIR") || join(userCaches, "deno"),
      join(this.path, caches, "deno"),
    );
    this.claude = new ClaudeStandIn(
      join(this.path, "claude"),
      join(this.bin, "claude"),
    );
    this.launchd = new LaunchdStandIn(
      join(this.path, "launchd"),
      join(this.bin, "launchctl"),
      this.path,
    );
  }

  /** Writes the LaunchAgent `label` and returns its path. */
  plist(label: string, keys: PlistDict): string {
    const path = join(this.agents, `${label}.plist`);
    Deno.writeTextFileSync(path, plistXml({ Label: label, ...keys }));
    return path;
  }

  /** The words that start a script, for plists and shell lines. */
  words(script: Script, options: RunOptions = {}): [string, ...string[]] {
    return scriptCommand(script, options.kind ?? "source", this.env);
  }

  /** Starts a process that knows the home's environment and no other. */
  start(words: string[], options: RunOptions = {}): Deno.ChildProcess {
    const [program = "", ...args] = [...defaultSignals, ...words];
    const env = Object.entries({ ...this.env, ...options.env })
      .flatMap(([name, value]) => value === null ? [] : [[name, value]]);
    return new Deno.Command(program, {
      args,
      cwd: options.cwd ?? this.path,
      clearEnv: true,
      env: Object.fromEntries(env),
      stdin: options.stdin === undefined ? "null" : "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
  }

  /** Runs a process to its end. */
  async run(words: string[], options: RunOptions = {}): Promise<Finished> {
    const child = this.start(words, options);
    const fed = options.stdin !== undefined &&
      new Blob([options.stdin]).stream().pipeTo(child.stdin).catch(() => {});
    const { code, signal, stdout, stderr } = await child.output();
    await fed;
    const [out, err] = [stdout, stderr].map((b) => new TextDecoder().decode(b));
    return { code, signal, stdout: out ?? "", stderr: err ?? "" };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.launchd.killAll();
    await until(() => {
      try {
        Deno.removeSync(this.path, { recursive: true });
        return true;
      } catch {
        return false; // a process on its way out wrote once more
      }
    }, `'${this.path}' is removed`);
  }
}

/** Runs quota_guard.ts. */
export function runGuard(
  home: Home,
  args: string[],
  options: RunOptions = {},
): Promise<Finished> {
  return home.run([...home.words("quota_guard", options), ...args], options);
}

/** Runs quota_catchup.ts. */
export function runCatchup(
  home: Home,
  args: string[],
  options: RunOptions = {},
): Promise<Finished> {
  return home.run([...home.words("quota_catchup", options), ...args], options);
}
