// The system's own small programs: launchctl(1), plutil(1), ps(1). Each run is
// short, without input, bounded in time and in output.

/** How one run of a tool ended. */
export interface ToolResult {
  /** Exit status; 128+n after signal n, which includes the one of a time-out. */
  code: number;
  /** Decoded as UTF-8; cut off at 4 MiB. */
  stdout: string;
  /** As stdout. */
  stderr: string;
  /** It was killed because it took too long: `code` says nothing then. */
  timedOut: boolean;
}

/** Runs a tool that is already chosen. Tests put a function of their own here. */
export type RunTool = (
  args: string[],
  timeoutSeconds: number,
) => Promise<ToolResult>;

/** Bytes kept of each stream; `launchctl print` gives 1 MiB at most. */
const OUTPUT_LIMIT = 4 * 1024 * 1024;

/** Seconds that output may still come in after the tool itself is gone. */
const LATE_OUTPUT_SECONDS = 1;

/**
 * A runner for one program.
 *
 * The environment is not passed on: the tools need none of it, and Deno refuses
 * to start anything under a scoped `--allow-run` while an `LD_*` or `DYLD_*`
 * variable is set.
 *
 * @param program Absolute path
 * @returns A function that rejects if the program cannot be started
 */
export function toolRunner(program: string): RunTool {
  return async (args, timeoutSeconds) => {
    const child = new Deno.Command(program, {
      args,
      clearEnv: true,
      env: { PATH: "/usr/bin:/bin:/usr/sbin:/sbin" },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const stop = new AbortController();
    const output = Promise.all([
      readText(child.stdout, stop.signal),
      readText(child.stderr, stop.signal),
    ]);
    const { code, timedOut } = await endWithin(child, timeoutSeconds);
    // Something that the tool started may hold its pipes open for hours.
    const late = setTimeout(() => stop.abort(), LATE_OUTPUT_SECONDS * 1000);
    const [stdout, stderr] = await output;
    clearTimeout(late);
    return { code, stdout, stderr, timedOut };
  };
}

/** Waits for a child's end, which comes by SIGKILL after so many seconds. */
export async function endWithin(
  child: Pick<Deno.ChildProcess, "kill" | "status">,
  seconds: number,
): Promise<{ code: number; timedOut: boolean }> {
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    try {
      child.kill("SIGKILL");
    } catch {
      // It has just ended.
    }
  }, seconds * 1000);
  const { code } = await child.status;
  clearTimeout(timer);
  return { code, timedOut };
}

/** Reads a stream to its end, to the limit or until `stop`, whichever is first. */
async function readText(
  stream: ReadableStream<Uint8Array>,
  stop: AbortSignal,
): Promise<string> {
  const reader = stream.getReader();
  const cancel = (): void => void reader.cancel();
  stop.addEventListener("abort", cancel);
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
    if (text.length > OUTPUT_LIMIT) await reader.cancel();
  }
  stop.removeEventListener("abort", cancel);
  return text + decoder.decode();
}
