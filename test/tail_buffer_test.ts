import { assertEquals } from "@std/assert";
import { TailBuffer } from "../lib/tail_buffer.ts";
import { Dice } from "./samples.ts";

const pure = { permissions: "none" } as const;

Deno.test(
  "TailBuffer.push() keeps the last bytes at each boundary",
  pure,
  () => {
    const pushed = (...chunks: number[][]): number[] => {
      const tail = new TailBuffer(4);
      for (const chunk of chunks) tail.push(new Uint8Array(chunk));
      return [...tail.toBytes()];
    };
    assertEquals(pushed(), []);
    assertEquals(pushed([]), []);
    assertEquals(pushed([1, 2, 3]), [1, 2, 3]);
    assertEquals(pushed([1, 2, 3, 4]), [1, 2, 3, 4]);
    assertEquals(pushed([1, 2, 3, 4, 5]), [2, 3, 4, 5]);
    assertEquals(pushed([1, 2, 3], [4], []), [1, 2, 3, 4]);
    assertEquals(pushed([1, 2, 3], [4, 5, 6]), [3, 4, 5, 6]);
    assertEquals(pushed([1], [2, 3, 4, 5, 6, 7, 8, 9]), [6, 7, 8, 9]);
  },
);

Deno.test("TailBuffer.toBytes() gives a copy", pure, () => {
  const tail = new TailBuffer(2);
  tail.push(new Uint8Array([1, 2]));
  tail.toBytes().fill(0);
  assertEquals([...tail.toBytes()], [1, 2]);
});

Deno.test("TailBuffer keeps what slice() of everything would", pure, () => {
  const dice = new Dice(1);
  for (let round = 0; round < 200; round++) {
    const capacity = 1 + dice.below(40);
    const tail = new TailBuffer(capacity);
    let all = new Uint8Array();
    for (let i = dice.below(20); i > 0; i--) {
      const chunk = Uint8Array.from(
        { length: dice.below(2 * capacity + 2) },
        () => dice.below(256),
      );
      tail.push(chunk);
      all = new Uint8Array([...all, ...chunk]);
      assertEquals(tail.toBytes(), all.slice(-capacity));
    }
  }
});
