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
      done += await this.#writeSome(bytes.subarray(done));
    }
  }

  /** Waits while a pipe is full that somebody who shares it has made non-blocking, as Node does. */
  async #writeSome(bytes: Uint8Array): Promise<number> {
    for (let pause = 1;; pause = Math.min(pause * 2, 50)) {
      try {
        return await this.#sink.write(bytes);
      } catch (error) {
        if (!(error instanceof Deno.errors.WouldBlock)) throw error;
      }
      await new Promise<void>((resolve) => after(pause / 1000, resolve));
    }
  }
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
