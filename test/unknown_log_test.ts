import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path/join";
import { noteUnknown, unknownWordings } from "../lib/unknown_log.ts";

Deno.test("noteUnknown() keeps a wording once, whatever its figures", () => {
  const folder = Deno.makeTempDirSync();
  try {
    assertEquals(unknownWordings(folder), []);
    noteUnknown(folder, "Allowance spent, back at 5:10", 1796060000);
    noteUnknown(folder, "Allowance spent, back at 17:45", 1796060001);
    noteUnknown(folder, "Something else", 1796060002);
    assertEquals(unknownWordings(folder), [
      "Allowance spent, back at 5:10",
      "Something else",
    ]);
    const text = Deno.readTextFileSync(join(folder, "unknown.log"));
    assertEquals(text.split(" ")[0], "2026-11-30T17:33:20Z");
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("noteUnknown() drops the oldest rather than grow beyond 64 KiB", () => {
  const folder = Deno.makeTempDirSync();
  try {
    for (let i = 0; i < 30; i++) {
      const name = String.fromCodePoint(0x3042 + i);
      noteUnknown(folder, name.repeat(1000), 1796060000 + i);
    }
    const size = Deno.statSync(join(folder, "unknown.log")).size;
    assert(size <= 65_536, `${size} bytes`);
    const kept = unknownWordings(folder);
    assertEquals(kept.at(-1), String.fromCodePoint(0x3042 + 29).repeat(1000));
    assert(kept.length > 15 && kept.length < 30, `${kept.length} kept`);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});
