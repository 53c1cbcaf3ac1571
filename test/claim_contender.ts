/**
 * Claims one item again and again, and fails if another process has it at the
 * same time: `claim_contender.ts DIR TIMES`. Prints how often it got it.
 */
import { join } from "@std/path/join";
import { claimItem } from "../lib/claim.ts";

const [dir = "", times] = Deno.args;
const inside = join(dir, "inside");
let got = 0;
for (let i = 0; i < Number(times); i++) {
  using claim = claimItem(dir, "item");
  if (claim === null) continue;
  Deno.openSync(inside, { write: true, createNew: true }).close();
  got++;
  Deno.removeSync(inside);
}
console.log(got);
