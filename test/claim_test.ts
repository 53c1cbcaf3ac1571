import { assert, assertEquals, assertThrows } from "@std/assert";
import { fromFileUrl } from "@std/path/from-file-url";
import { join } from "@std/path/join";
import { claimItem, CLAIMS, removeClaims } from "../lib/claim.ts";
import { textOf } from "./files.ts";

/** A folder for one test. */
class Folder implements Disposable {
  readonly path = Deno.makeTempDirSync({ prefix: "claim " });

  claims(): string[] {
    try {
      return [...Deno.readDirSync(join(this.path, CLAIMS))].map((e) => e.name);
    } catch {
      return [];
    }
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.path, { recursive: true });
  }
}

Deno.test("claimItem() gives an item to one at a time and leaves nothing", () => {
  using folder = new Folder();
  {
    using first = claimItem(folder.path, "a");
    assert(first !== null);
    assertEquals(claimItem(folder.path, "a"), null);
    using other = claimItem(folder.path, "b");
    assert(other !== null);
    assertEquals(folder.claims().sort(), ["a", "b"]);
  }
  assertEquals(folder.claims(), []);
  using again = claimItem(folder.path, "a");
  assert(again !== null);
});

Deno.test("claimItem() takes what a dead process left", () => {
  using folder = new Folder();
  Deno.mkdirSync(join(folder.path, CLAIMS));
  Deno.writeTextFileSync(join(folder.path, CLAIMS, "a"), "");
  using claim = claimItem(folder.path, "a");
  assert(claim !== null);
});

Deno.test("removeClaims() keeps a folder in use", () => {
  using folder = new Folder();
  {
    using claim = claimItem(folder.path, "a");
    assert(claim !== null);
    removeClaims(folder.path);
    assertEquals(folder.claims(), ["a"]);
  }
  removeClaims(folder.path);
  assertEquals([...Deno.readDirSync(folder.path)], []);
});

Deno.test("Claim.moveTo() makes its file another, once it says what it should", () => {
  using folder = new Folder();
  const marker = join(folder.path, "marker");
  const inside = join(folder.path, CLAIMS, "a");
  Deno.mkdirSync(join(folder.path, CLAIMS));
  Deno.writeTextFileSync(inside, "what a dead process wrote");
  const claim = claimItem(folder.path, "a");
  assert(claim !== null);
  claim.write("too long");
  claim.write("short");
  assertEquals(textOf(inside), "short");
  claim.moveTo(marker);
  assertEquals(folder.claims(), []);
  // Who comes now gets the item, finds the marker, and keeps what is its own.
  using next = claimItem(folder.path, "a");
  assert(next !== null);
  claim[Symbol.dispose]();
  assertEquals([textOf(inside), folder.claims()], ["", ["a"]]);
  assertEquals(textOf(marker), "short");
});

Deno.test("Claim.moveTo() takes no file that is another's", () => {
  using folder = new Folder();
  const marker = join(folder.path, "marker");
  using claim = claimItem(folder.path, "a");
  assert(claim !== null);
  claim.write("mine");
  Deno.removeSync(join(folder.path, CLAIMS), { recursive: true });
  assertThrows(() => claim.moveTo(marker), Error, "was removed");
  using other = claimItem(folder.path, "a");
  assert(other !== null);
  assertThrows(() => claim.moveTo(marker), Error, "was removed");
  assertEquals([...Deno.readDirSync(folder.path)].length, 1);
});

Deno.test("claimItem() holds between processes that come and go", async () => {
  using folder = new Folder();
  const contender = fromFileUrl(new URL("claim_contender.ts", import.meta.url));
  const runs = await Promise.all(
    [1, 2, 3].map(() =>
      new Deno.Command(Deno.execPath(), {
        args: ["run", "--quiet", "-A", contender, folder.path, "1000"],
      }).output()
    ),
  );
  const decoder = new TextDecoder();
  assertEquals(runs.map((run) => decoder.decode(run.stderr)), ["", "", ""]);
  for (const run of runs) assert(run.success);
});
