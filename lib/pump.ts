import { after } from "./timer.ts";

/** Where bytes go; a write may be short. */
export interface Sink {
  /** Resolves to how many of the bytes it took. */
  write(bytes: Uint8Array): Promise<number>;
}

/** How {@linkcode pump} watches what it passes on. */
export interface PumpOptions {
  /** Called with each chunk, before it is passed on. */
  seen(bytes: Uint8Array): void;
  /** Resolves when the process that writes has ended. */
  ended: Promise<unknown>;
  /** A source that is silent for so long after that end is let go. */
  quietSeconds: number;
}

const BUFFER_BYTES = 1 << 20;

/** So much a pipe takes whole or not at all: PIPE_BUF, at least by POSIX. */
const ATOMIC_BYTES = 512;
const NEWLINE = 10;

/**
 * Collects chunks while a write is under way and sends them as one: the first
 * goes out at once, and a slow reader costs two buffers of memory, no more.
 * Writes are asynchronous, so that signals get through while a reader stalls.
 */
class Writer {
  readonly #sink: Sink;
  #filling = new Uint8Array(BUFFER_BYTES);
  #spare = new Uint8Array(BUFFER_BYTES);
  #filled = 0;
  #writing: Promise<void> | null = null;
  #failure: unknown = null;
  /** The pipe was full once, and may be again. */
  #full = false;
  /** Milliseconds. */
  #pause = 1;

  constructor(sink: Sink) {
    this.#sink = sink;
  }

  /** @throws {Deno.errors.BrokenPipe} If the reader is gone. */
  async add(chunk: Uint8Array): Promise<void> {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#failure !== null) throw this.#failure;
      if (this.#filled === BUFFER_BYTES) await this.#writing;
      const part = rest.subarray(0, BUFFER_BYTES - this.#filled);
      this.#filling.set(part, this.#filled);
      this.#filled += part.length;
      rest = rest.subarray(part.length);
      if (this.#writing === null) this.#start();
    }
  }

  /** Waits until all is written. */
  async flush(): Promise<void> {
    while (this.#writing !== null) await this.#writing;
  }

  #start(): void {
    const bytes = this.#filling.subarray(0, this.#filled);
    [this.#filling, this.#spare] = [this.#spare, this.#filling];
    this.#filled = 0;
    const written = this.#writeAll(bytes).then(() => {
      this.#writing = null;
      if (this.#filled > 0) this.#start();
    });
    written.catch((error) => this.#failure = error);
    this.#writing = written;
  }

  async #writeAll(bytes: Uint8Array): Promise<void> {
    for (let done = 0; done < bytes.length;) {
      const rest = bytes.subarray(done);
      const piece = this.#full ? atomicPiece(rest) : rest;
      const taken = await this.#tryWrite(piece);
      if (taken !== null) done += taken;
      else if (this.#keeps(piece)) {
        done += piece.length;
        await this.#untilTaken();
      }
      this.#full ||= taken === null;
    }
  }

  /**
   * Deno's stdout says that a pipe is full also if it has the bytes itself and
   * could not pass them on: always for a piece of a line, never for a piece of
   * whole lines that a pipe takes at once. For more nobody can tell: what was
   * under way when a pipe is first found full may be written twice.
   */
  #keeps(piece: Uint8Array): boolean {
    return this.#full && this.#sink === Deno.stdout &&
      piece.at(-1) !== NEWLINE;
  }

  async #untilTaken(): Promise<void> {
    while (await this.#tryWrite(new Uint8Array()) === null);
  }

  /** Null, after a while, for a full pipe that somebody who shares it has made non-blocking, as Node does. */
  async #tryWrite(bytes: Uint8Array): Promise<number | null> {
    try {
      const taken = await this.#sink.write(bytes);
      this.#pause = 1;
      return taken;
    } catch (error) {
      if (!(error instanceof Deno.errors.WouldBlock)) throw error;
    }
    const seconds = this.#pause / 1000;
    await new Promise<void>((resolve) => after(seconds, resolve));
    this.#pause = Math.min(this.#pause * 2, 50);
    return null;
  }
}

/** Whole lines as far as that much holds any, else a piece of a line. */
function atomicPiece(bytes: Uint8Array): Uint8Array {
  const piece = bytes.subarray(0, ATOMIC_BYTES);
  const lines = piece.lastIndexOf(NEWLINE) + 1;
  return lines > 0 ? piece.subarray(0, lines) : piece;
}

/**
 * Passes a stream on to a sink byte for byte until it ends. A grandchild that
 * outlives the child and holds the pipe does not hold the pump: it lets go when
 * the child has ended and nothing has come for a while. A reader that has gone
 * away ends it too; then the child's next write meets a closed pipe.
 */
export async function pump(
  source: ReadableStream<Uint8Array>,
  sink: Sink,
  options: PumpOptions,
): Promise<void> {
  const reader = source.getReader();
  const writer = new Writer(sink);
  let chunks = 0;
  let waiting = false;
  let callOff = (): void => {};
  let over = false;
  const letGoWhenQuiet = (before: number): void => {
    if (over) return;
    callOff = after(options.quietSeconds, () => {
      if (waiting && chunks === before) reader.cancel().catch(() => {});
      else letGoWhenQuiet(chunks);
    });
  };
  options.ended.then(() => letGoWhenQuiet(chunks), () => {});
  try {
    while (true) {
      waiting = true;
      const { value, done } = await reader.read();
      waiting = false;
      if (done) break;
      chunks++;
      options.seen(value);
      await writer.add(value);
    }
    await writer.flush();
  } catch {
    await reader.cancel().catch(() => {});
  } finally {
    over = true;
    callOff();
  }
}
