import { assert, assertEquals } from "@std/assert";
import { pump, type Sink } from "../lib/pump.ts";
import { Dice } from "./samples.ts";

const pure = { permissions: "none" } as const;
const never = new Promise<void>(() => {});

/** A sink that takes what a rule allows, and remembers it. */
class Memory implements Sink {
  readonly chunks: Uint8Array[] = [];
  readonly #most: () => number;

  constructor(most: () => number = () => Infinity) {
    this.#most = most;
  }

  async write(bytes: Uint8Array): Promise<number> {
    await Promise.resolve();
    const taken = bytes.slice(0, Math.max(1, this.#most()));
    this.chunks.push(taken);
    return taken.length;
  }

  get bytes(): Uint8Array {
    return concat(this.chunks);
  }
}

function concat(chunks: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(chunks.reduce((sum, c) => sum + c.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

function streamOf(chunks: Uint8Array[]): ReadableStream<Uint8Array> {
  return ReadableStream.from(chunks);
}

Deno.test(
  "pump() passes every byte on in order, with short writes and chunks of any size",
  pure,
  async () => {
    const dice = new Dice(5);
    for (let round = 0; round < 12; round++) {
      const chunks = Array.from({ length: dice.below(20) }, () => {
        const size = dice.pick([
          0,
          1,
          7,
          4096,
          65_536,
          3_000_000 >> dice.below(9),
        ]);
        return new Uint8Array(size).fill(dice.below(256));
      });
      const sink = new Memory(() =>
        dice.pick([Infinity, Infinity, 1000 + dice.below(70_000)])
      );
      const seen: Uint8Array[] = [];
      await pump(streamOf(chunks), sink, {
        seen: (bytes) => seen.push(bytes),
        ended: never,
        quietSeconds: 9,
      });
      const all = concat(chunks);
      assert(equal(sink.bytes, all), "passed on");
      assert(equal(concat(seen), all), "seen");
    }
  },
);

function equal(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

Deno.test(
  "pump() passes the first bytes on before the next ones come",
  pure,
  async () => {
    const sink = new Memory();
    const { readable, writable } = new TransformStream<
      Uint8Array,
      Uint8Array
    >();
    const done = pump(readable, sink, {
      seen: () => {},
      ended: never,
      quietSeconds: 9,
    });
    const writer = writable.getWriter();
    for (let i = 1; i <= 3; i++) {
      await writer.write(new Uint8Array([i]));
      while (sink.bytes.length < i) await new Promise((r) => setTimeout(r, 0));
      assertEquals([...sink.bytes].at(-1), i);
    }
    await writer.close();
    await done;
  },
);

Deno.test(
  "pump() lets go of a silent source once the writer has ended",
  pure,
  async () => {
    const sink = new Memory();
    let cancelled = false;
    const source = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new Uint8Array([1, 2])),
      cancel: () => {
        cancelled = true;
      },
    });
    await pump(source, sink, {
      seen: () => {},
      ended: Promise.resolve(),
      quietSeconds: 0.02,
    });
    assert(cancelled);
    assertEquals([...sink.bytes], [1, 2]);
  },
);

Deno.test(
  "pump() does not let go while the reader stalls or bytes still come",
  pure,
  async () => {
    const released = Promise.withResolvers<void>();
    const bytes: number[] = [];
    const slow: Sink = {
      async write(chunk): Promise<number> {
        await released.promise;
        bytes.push(...chunk);
        return chunk.length;
      },
    };
    let sent = 0;
    const source = new ReadableStream<Uint8Array>({
      async pull(controller): Promise<void> {
        if (sent === 12) return controller.close();
        await new Promise((resolve) => setTimeout(resolve, 10));
        controller.enqueue(new Uint8Array([sent++]));
        if (sent === 12) released.resolve();
      },
    }, { highWaterMark: 0 });
    await pump(source, slow, {
      seen: () => {},
      ended: Promise.resolve(),
      quietSeconds: 0.05,
    });
    assertEquals(bytes, Array.from({ length: 12 }, (_, i) => i));
  },
);

Deno.test(
  "pump() loses nothing to a reader that stalls for long after the writer's end",
  pure,
  async () => {
    const chunks = Array.from({ length: 5 }, () => new Uint8Array(1_000_000));
    let bytes = 0;
    const slow: Sink = {
      async write(chunk): Promise<number> {
        if (bytes === 0) {
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
        bytes += chunk.length;
        return chunk.length;
      },
    };
    await pump(streamOf(chunks), slow, {
      seen: () => {},
      ended: Promise.resolve(),
      quietSeconds: 0.01,
    });
    assertEquals(bytes, 5_000_000);
  },
);

Deno.test(
  "pump() waits for a full pipe that does not block",
  pure,
  async () => {
    const sink = new Memory();
    let refusals = 0;
    const full: Sink = {
      write: (bytes) =>
        refusals++ % 3 < 2
          ? Promise.reject(new Deno.errors.WouldBlock())
          : sink.write(bytes.subarray(0, 40_000)),
    };
    const chunks = Array.from(
      { length: 3 },
      (_, i) => new Uint8Array(50_000).fill(i),
    );
    await pump(streamOf(chunks), full, {
      seen: () => {},
      ended: never,
      quietSeconds: 9,
    });
    assert(equal(sink.bytes, concat(chunks)));
  },
);

Deno.test(
  "pump() ends, and cancels the source, when the reader has gone",
  pure,
  async () => {
    let cancelled = false;
    let pulls = 0;
    const source = new ReadableStream<Uint8Array>({
      pull(controller): void {
        pulls++;
        controller.enqueue(new Uint8Array(1000));
      },
      cancel(): void {
        cancelled = true;
      },
    });
    let writes = 0;
    await pump(source, {
      write: (bytes) =>
        ++writes < 3
          ? Promise.resolve(bytes.length)
          : Promise.reject(new Deno.errors.BrokenPipe()),
    }, { seen: () => {}, ended: never, quietSeconds: 9 });
    assert(cancelled);
    assert(pulls < 100);
  },
);
