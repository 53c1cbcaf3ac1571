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
  /** Writes one line to stderr. Never throws: a closed stderr loses the line. */
  say(line: string): void;
}

const encoder = new TextEncoder();

/** Writes all bytes to stderr; a closed or full stderr loses them. */
export function writeStderr(text: string): void {
  const bytes = encoder.encode(text);
  try {
    for (let done = 0; done < bytes.length;) {
      done += Deno.stderr.writeSync(bytes.subarray(done));
    }
  } catch {
    // The words are lost, the work is not: nobody reads a closed stderr.
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
    sleep: (seconds) =>
      new Promise((resolve) => setTimeout(resolve, seconds * 1000)),
    env,
    timeZone: () => Temporal.Now.timeZoneId(),
    say: (line) => writeStderr(line + "\n"),
  };
}
