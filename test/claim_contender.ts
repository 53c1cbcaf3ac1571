/**
 * Claims one item until it got it so many times, and fails if another process
 * has it at the same time: `claim_contender.ts DIR TIMES`.
 */
import { join } from "@std/path/join";
import { claimItem } from "../lib/claim.ts";

const [dir = "", times] = Deno.args;
const inside = join(dir, "inside");
for (let got = 0; got < Number(times);) {
  using claim = claimItem(dir, "item");
  if (claim === null) continue;
  Deno.openSync(inside, { write: true, createNew: true }).close();
  got++;
  Deno.removeSync(inside);
}
