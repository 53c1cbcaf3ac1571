import { printable } from "./terminal.ts";
import { after } from "./timer.ts";

/** The clock, the environment and stderr, passed in so that tests can move them. */
export interface Host {
  /** Wall clock, epoch seconds with fractions. */
  now(): number;
  /** Seconds since some fixed moment; stands still while the machine sleeps. */
  monotonic(): number;
  /** Resolves after so many seconds. */
  sleep(seconds: number): Promise<void>;
  /** An environment variable; an empty one counts as absent. */
  env(name: string): string | undefined;
  /** IANA name of the zone that local times are shown in. */
  timeZone(): string;
  /**
   * Writes one line to stderr, whatever is quoted in it. Never throws: a closed
   * stderr loses the line.
   */
  say(line: string): void;
}

const encoder = new TextEncoder();

/** How often a full pipe is tried again, and how long it gets each time, in milliseconds. */
const FULL_PIPE_TRIES = 100;
const FULL_PIPE_PAUSE = 20;

/**
 * Writes all bytes to stderr; one that is closed loses them, and so does a
 * non-blocking one that stays full.
 */
export function writeStderr(text: string): void {
  const bytes = encoder.encode(text);
  let tries = 0;
  for (let done = 0; done < bytes.length;) {
    try {
      done += Deno.stderr.writeSync(bytes.subarray(done));
    } catch (error) {
      // The words are lost, the work is not.
      if (!(error instanceof Deno.errors.WouldBlock)) return;
      if (++tries > FULL_PIPE_TRIES) return;
      const nothing = new Int32Array(new SharedArrayBuffer(4));
      Atomics.wait(nothing, 0, 0, FULL_PIPE_PAUSE);
    }
  }
}

function env(name: string): string | undefined {
  try {
    return Deno.env.get(name) || undefined;
  } catch {
    // Not permitted, or no Unicode: nothing that a job should die of.
    return undefined;
  }
}

/**
 * Takes Deno's own `node` off PATH: where that holds none, Deno 2.9 puts itself
 * there, first and under that name, and jobs would take it for Node.
 */
export function hideDenosNode(): void {
  if (env("DENO_NODE_SHIM_ACTIVE") === undefined) return;
  const path = (env("PATH") ?? "").split(":")
    .filter((entry) => !entry.endsWith("/node_compat_bin")).join(":");
  try {
    Deno.env.delete("DENO_NODE_SHIM_ACTIVE");
    if (path === "") Deno.env.delete("PATH");
    else Deno.env.set("PATH", path);
  } catch {
    // Not permitted; then the job has it.
  }
}

/** The real world. */
export function denoHost(): Host {
  return {
    now: () => Date.now() / 1000,
    monotonic: () => performance.now() / 1000,
    sleep: (seconds) => new Promise((resolve) => after(seconds, resolve)),
    env,
    timeZone: () => Temporal.Now.timeZoneId(),
    say: (line) => writeStderr(printable(line) + "\n"),
  };
}
