import { assertEquals } from "@std/assert";
import { itemPaths, makeFolders, readDone } from "../lib/batch_folder.ts";
import type { DoneMarker } from "../lib/batch_record.ts";
import { TempFolder } from "./files.ts";

function marker(name: string, bytes: number): DoneMarker {
  return {
    name,
    bytes,
    sha256: "0".repeat(64),
    file: `${name}.out`,
    ended_at: 1_796_056_215,
    attempts: 1,
    cost_usd: null,
  };
}

Deno.test("readDone() reads no marker that is known, and believes in none that is gone", () => {
  using temp = new TempFolder();
  makeFolders(temp.path);
  const [kept = "", gone = "", added = ""] = ["kept", "gone", "added"]
    .map((name) => itemPaths(temp.path, "{}.out", name).done);
  for (const path of [kept, added]) {
    const name = path === kept ? "kept" : "added";
    Deno.writeTextFileSync(path, JSON.stringify(marker(name, 1)));
  }
  const known = new Map([[kept, marker("kept", 2)], [gone, marker("gone", 2)]]);
  const bytes = (done: Map<string, DoneMarker>): Record<string, number> =>
    Object.fromEntries([...done].map(([name, { bytes }]) => [name, bytes]));
  assertEquals(bytes(readDone(temp.path, known)), { kept: 2, added: 1 });
  assertEquals(bytes(readDone(temp.path)), { kept: 1, added: 1 });
});
