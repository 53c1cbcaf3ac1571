import { pump, type Sink } from "./pump.ts";
import { reasonOf } from "./reason.ts";
import { TailBuffer } from "./tail_buffer.ts";
import { after } from "./timer.ts";

/** How a child ended. The code follows the shell: 128 + n for a signal. */
export type ChildEnd =
  | { started: true; code: number; timedOut: boolean }
  | { started: false; code: 126 | 127; why: string };

/** A child's end and the last bytes that it printed. */
export interface TeedEnd {
  /** How it ended. */
  end: ChildEnd;
  /** At most {@linkcode TAIL_BYTES}. */
  stdout: Uint8Array;
  /** At most {@linkcode TAIL_BYTES}. */
  stderr: Uint8Array;
}

/** What a child starts with. */
export interface ChildOptions {
  /** Added to the environment. */
  env: Record<string, string>;
  /** Taken out of the environment. */
  unset?: readonly string[];
  /** After so many seconds SIGTERM, after another 30 SIGKILL. */
  timeout?: number | undefined;
  /** Where its standard input comes from. @default {"inherit"} */
  stdin?: "inherit" | "null";
}

/** Seconds between SIGTERM and SIGKILL, as in the original. */
const KILL_GRACE = 30;
/** What is kept of each stream for classification, in bytes. */
export const TAIL_BYTES = 65_536;
/** A pipe that is silent for so long after the child's end is held by a grandchild. */
const DRAIN_SECONDS = 1;

const RELAYED = [
  "SIGTERM",
  "SIGINT",
  "SIGHUP",
  "SIGQUIT",
  "SIGUSR1",
  "SIGUSR2",
] as const;
type Relayed = typeof RELAYED[number];
/** Numbers by POSIX and Linux; macOS differs in the last two only. */
const NUMBERS: Record<Relayed, number> = {
  SIGHUP: 1,
  SIGINT: 2,
  SIGQUIT: 3,
  SIGTERM: 15,
  SIGUSR1: Deno.build.os === "darwin" ? 30 : 10,
  SIGUSR2: Deno.build.os === "darwin" ? 31 : 12,
};

/**
 * Passes the guard's signals on to its children, once each, and remembers the
 * last one. One that comes before a child is there is kept for it; one that
 * comes before {@linkcode SignalRelay.listen} ends the guard.
 */
export class SignalRelay implements Disposable {
  readonly #handlers: [Relayed, () => void][];
  readonly #children = new Set<Deno.ChildProcess>();
  #listens = false;
  #attached = false;
  #last: Relayed | null = null;

  /** Does not listen yet. */
  constructor() {
    this.#handlers = RELAYED.map((signal) => [signal, () => this.#on(signal)]);
  }

  /** Listens from now on. That starts a thread, so a skip does without. */
  listen(): this {
    if (this.#listens) return this;
    this.#listens = true;
    for (const [signal, handler] of this.#handlers) {
      Deno.addSignalListener(signal, handler);
    }
    return this;
  }

  /** Exit code by the last signal, 128 + n; null if there was none. */
  get code(): number | null {
    return this.#last === null ? null : 128 + NUMBERS[this.#last];
  }

  /** True once there was a child. */
  get attached(): boolean {
    return this.#attached;
  }

  /** From now on until its end signals go to this child. */
  attach(child: Deno.ChildProcess): void {
    this.#attached = true;
    this.#children.add(child);
    child.status.finally(() => this.#children.delete(child));
    if (this.#last !== null) send(child, this.#last);
  }

  #on(signal: Relayed): void {
    this.#last = signal;
    // A terminal has sent these two to the whole foreground group already.
    const fromTerminal = (signal === "SIGINT" || signal === "SIGQUIT") &&
      Deno.stdin.isTerminal();
    if (fromTerminal) return;
    for (const child of this.#children) send(child, signal);
  }

  /** Stops listening. */
  [Symbol.dispose](): void {
    if (!this.#listens) return;
    for (const [signal, handler] of this.#handlers) {
      Deno.removeSignalListener(signal, handler);
    }
  }
}

function send(child: Deno.ChildProcess, signal: Deno.Signal): void {
  try {
    child.kill(signal);
  } catch {
    // It has just ended.
  }
}

function spawn(
  command: readonly [string, ...string[]],
  options: ChildOptions,
  output: "inherit" | "piped",
): Deno.ChildProcess | ChildEnd {
  const [program, ...args] = command;
  const { unset = [] } = options;
  const env = { ...options.env };
  const clearEnv = unset.length > 0;
  if (clearEnv) {
    for (const [name, value] of Object.entries(Deno.env.toObject())) {
      if (!(name in env) && !unset.includes(name)) env[name] = value;
    }
  }
  try {
    return new Deno.Command(program, {
      args,
      env,
      clearEnv,
      stdin: options.stdin ?? "inherit",
      stdout: output,
      stderr: output,
    }).spawn();
  } catch (error) {
    const code = error instanceof Deno.errors.NotFound ? 127 : 126;
    return { started: false, code, why: reasonOf(error) };
  }
}

/** Waits for the child, and sees to its time limit. */
async function ended(
  child: Deno.ChildProcess,
  timeout: number | undefined,
): Promise<ChildEnd> {
  let timedOut = false;
  let callOff = (): void => {};
  if (timeout !== undefined) {
    callOff = after(timeout, () => {
      timedOut = true;
      send(child, "SIGTERM");
      callOff = after(KILL_GRACE, () => send(child, "SIGKILL"));
    });
  }
  try {
    const { code } = await child.status;
    return { started: true, code, timedOut };
  } finally {
    callOff();
  }
}

/** Runs a command with the guard's own stdout and stderr, and its stdin unless told otherwise. */
export async function runInherited(
  command: readonly [string, ...string[]],
  signals: SignalRelay,
  options: ChildOptions,
): Promise<ChildEnd> {
  signals.listen();
  const child = spawn(command, options, "inherit");
  if ("started" in child) return child;
  signals.attach(child);
  return await ended(child, options.timeout);
}

/**
 * Runs a command and passes its stdout and stderr on byte for byte, keeping the
 * last {@linkcode TAIL_BYTES} of each. Each keeps its order; between the two it
 * may shift.
 */
export async function runTeed(
  command: readonly [string, ...string[]],
  signals: SignalRelay,
  options: ChildOptions,
): Promise<TeedEnd> {
  signals.listen();
  const child = spawn(command, options, "piped");
  const none = new Uint8Array();
  if ("started" in child) return { end: child, stdout: none, stderr: none };
  signals.attach(child);
  const end = ended(child, options.timeout);
  const tee = async (
    source: ReadableStream<Uint8Array>,
    sink: Sink,
  ): Promise<Uint8Array> => {
    const tail = new TailBuffer(TAIL_BYTES);
    await pump(source, sink, {
      seen: (bytes) => tail.push(bytes),
      ended: end,
      quietSeconds: DRAIN_SECONDS,
    });
    return tail.toBytes();
  };
  const [stdout, stderr] = await Promise.all([
    tee(child.stdout, Deno.stdout),
    tee(child.stderr, Deno.stderr),
  ]);
  return { end: await end, stdout, stderr };
}
