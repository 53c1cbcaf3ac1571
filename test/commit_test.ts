import { assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path/join";
import { type ItemPaths, itemPaths, makeFolders } from "../lib/batch_folder.ts";
import { commitPart, endsWithText, PartError } from "../lib/commit.ts";
import { textOf } from "./files.ts";

const pure = { permissions: "none" } as const;

/** A folder of results with one item's part in it. */
class Results implements Disposable {
  readonly path = Deno.makeTempDirSync({ prefix: "commit " });
  readonly part = join(this.path, ".a.1-0123abcd.part");
  readonly paths: ItemPaths = itemPaths(this.path, "{}.out", "a");

  constructor(text: string) {
    makeFolders(this.path);
    Deno.writeTextFileSync(this.part, text);
  }

  files(): string[] {
    return ["", "done"].flatMap((folder) =>
      [...Deno.readDirSync(join(this.path, folder))]
        .filter((entry) => entry.isFile).map((entry) => entry.name)
    ).sort();
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.path, { recursive: true });
  }
}

const facts = { name: "a", ended_at: 1000.9, attempts: 2, cost_usd: 0.5 };

Deno.test("endsWithText() allows one newline more", pure, () => {
  const ends = (text: string, ending: string): boolean =>
    endsWithText(new TextEncoder().encode(text), ending);
  for (
    const [text, ending] of [
      ["a END", "END"],
      ["a END\n", "END"],
      ["a END\n", "END\n"],
      ["a END\n\n", "END\n"],
      ["END", "END"],
      ["終わり。\n", "終わり。"],
    ] as const
  ) assertEquals(ends(text, ending), true, JSON.stringify([text, ending]));
  for (
    const [text, ending] of [
      ["a EN", "END"],
      ["END a", "END"],
      ["a END\n\n", "END"],
      ["a END", "END\n"],
      ["ND", "END"],
      ["", "END"],
      ["\n", "END"],
    ] as const
  ) assertEquals(ends(text, ending), false, JSON.stringify([text, ending]));
});

Deno.test("commitPart() leaves the file and its marker, nothing else", async () => {
  using results = new Results("abc");
  const marker = await commitPart(results.part, results.paths, "c", facts);
  assertEquals(marker, {
    ...facts,
    bytes: 3,
    sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    file: "a.out",
    ended_at: 1000,
  });
  assertEquals(JSON.parse(textOf(results.paths.done)), marker);
  assertEquals(results.files(), ["a.json", "a.out"]);
});

Deno.test("commitPart() replaces a file without a marker, and a bad marker", async () => {
  using results = new Results("new");
  Deno.writeTextFileSync(results.paths.out, "half of an old one");
  Deno.writeTextFileSync(results.paths.done, "{");
  await commitPart(results.part, results.paths, null, facts);
  assertEquals(textOf(results.paths.out), "new");
  assertEquals(JSON.parse(textOf(results.paths.done)).bytes, 3);
});

Deno.test("commitPart() marks nothing that it could not put in its place", async () => {
  using results = new Results("abc");
  const { part, paths } = results;
  await assertRejects(() => commitPart(part, paths, "END", facts), PartError);
  assertEquals(results.files(), [".a.1-0123abcd.part"]);
  // A folder in the way.
  Deno.mkdirSync(join(paths.out, "x"), { recursive: true });
  await assertRejects(() => commitPart(part, paths, null, facts));
  assertEquals(results.files(), [".a.1-0123abcd.part"]);
  Deno.removeSync(paths.out, { recursive: true });
  // No marker can be written: the file is there, and still not done.
  Deno.removeSync(join(results.path, "done"));
  await assertRejects(() => commitPart(part, paths, null, facts));
  Deno.mkdirSync(join(results.path, "done"));
  assertEquals(results.files(), ["a.out"]);
});
