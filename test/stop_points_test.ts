import { assertEquals } from "@std/assert";
import {
  batchLoop,
  capPerItem,
  gatedBatch,
  naiveLoop,
  resumedBatch,
  resumedNaive,
  type Spending,
} from "./stop_points/experiment.ts";

/** Attempts, units spent, items finished, and what is wrong. */
function figures(run: Spending): unknown[] {
  return [run.attempts, run.spent, run.finished, run.faults];
}

Deno.test("--batch is whole after a stop anywhere, where the naive way is not", async () => {
  assertEquals(await resumedNaive(3), ["missing-index: alpha"]);
  // Within a part, after a commit, and in a later item.
  for (const cap of [3, 4, 7.5]) {
    assertEquals(await resumedBatch(cap), [], `stopped at ${cap}`);
  }
});

Deno.test("--progress ends what a cap below an item's cost repeats", async () => {
  assertEquals((await naiveLoop(3)).spent, 14);
  assertEquals(figures(await gatedBatch(3)), [1, 3.5, 0, []]);
  assertEquals(figures(await gatedBatch(8.5)), [3, 18, 4, []]);
});

Deno.test("--batch with the cap on the item wastes nothing", async () => {
  for (const cap of [4.5, 8, 12]) {
    assertEquals(figures(await capPerItem(cap)), [4, 18, 4, []]);
  }
  assertEquals(figures(await capPerItem(3)), [1, 3.5, 0, []]);
  assertEquals(figures(await batchLoop(13.5, "--max-items", "2")), [
    2,
    18,
    4,
    [],
  ]);
});
