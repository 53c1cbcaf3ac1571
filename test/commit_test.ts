import { assertEquals, assertRejects } from "@std/assert";
import { join } from "@std/path/join";
import { type ItemPaths, itemPaths, makeFolders } from "../lib/batch_folder.ts";
import type { DoneMarker } from "../lib/batch_record.ts";
import { type Claim, claimItem, CLAIMS, removeClaims } from "../lib/claim.ts";
import { commitPart, endsWithText, PartError } from "../lib/commit.ts";
import { textOf } from "./files.ts";

const pure = { permissions: "none" } as const;

/** A folder of results with one item's part in it, and the claim of the item. */
class Results implements Disposable {
  readonly path = Deno.makeTempDirSync({ prefix: "commit " });
  readonly part = join(this.path, ".a.1-0123abcd.part");
  readonly paths: ItemPaths = itemPaths(this.path, "{}.out", "a");
  readonly #claim: Claim;

  constructor(text: string) {
    makeFolders(this.path);
    Deno.writeTextFileSync(this.part, text);
    const claim = claimItem(this.path, "a");
    if (claim === null) throw new Error("another process has the item");
    this.#claim = claim;
  }

  commit(endsWith: string | null): Promise<DoneMarker> {
    const { part, paths } = this;
    return commitPart(part, paths, this.#claim, endsWith, facts);
  }

  files(): string[] {
    return ["", "done"].flatMap((folder) =>
      [...Deno.readDirSync(join(this.path, folder))]
        .filter((entry) => entry.isFile).map((entry) => entry.name)
    ).sort();
  }

  [Symbol.dispose](): void {
    this.#claim[Symbol.dispose]();
    removeClaims(this.path);
    const claims = [...Deno.readDirSync(this.path)]
      .filter(({ name }) => name === CLAIMS);
    Deno.removeSync(this.path, { recursive: true });
    assertEquals(claims, []);
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
  const marker = await results.commit("c");
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

/** What is flushed and renamed meanwhile, in this order, by paths. */
async function watched(work: () => Promise<unknown>): Promise<string[]> {
  const steps: string[] = [];
  const opened = new WeakMap<Deno.FsFile, string>();
  const { openSync, renameSync } = Deno;
  const { sync, syncSync } = Deno.FsFile.prototype;
  Deno.openSync = (path, options): Deno.FsFile => {
    const file = openSync(path, options);
    opened.set(file, String(path));
    return file;
  };
  Deno.renameSync = (from, to): void => {
    renameSync(from, to);
    steps.push(`rename ${to}`);
  };
  Deno.FsFile.prototype.sync = async function (): Promise<void> {
    await sync.call(this);
    steps.push(`flush ${opened.get(this)}`);
  };
  Deno.FsFile.prototype.syncSync = function (): void {
    syncSync.call(this);
    steps.push(`flush ${opened.get(this)}`);
  };
  try {
    await work();
  } finally {
    Object.assign(Deno, { openSync, renameSync });
    Object.assign(Deno.FsFile.prototype, { sync, syncSync });
  }
  return steps;
}

Deno.test("commitPart() names nothing that is not on disk, and the marker last", async () => {
  let path = "";
  const steps = await watched(async () => {
    using results = new Results("abc");
    path = results.path;
    await results.commit(null);
  });
  assertEquals(steps.slice(0, 2).sort(), [
    `flush ${path}/.a.1-0123abcd.part`,
    `flush ${path}/${CLAIMS}/a`,
  ]);
  assertEquals(steps.slice(2), [
    `rename ${path}/a.out`,
    `flush ${path}`,
    `rename ${path}/done/a.json`,
    `flush ${path}/done`,
  ]);
});

Deno.test("commitPart() replaces a file without a marker, and a bad marker", async () => {
  using results = new Results("new");
  Deno.writeTextFileSync(results.paths.out, "half of an old one");
  Deno.writeTextFileSync(results.paths.done, "{");
  await results.commit(null);
  assertEquals(textOf(results.paths.out), "new");
  assertEquals(JSON.parse(textOf(results.paths.done)).bytes, 3);
});

Deno.test("commitPart() marks nothing that it could not put in its place", async () => {
  using results = new Results("abc");
  const { path, paths } = results;
  await assertRejects(() => results.commit("END"), PartError);
  assertEquals(results.files(), [".a.1-0123abcd.part"]);
  // A folder in the way.
  Deno.mkdirSync(join(paths.out, "x"), { recursive: true });
  await assertRejects(() => results.commit(null));
  assertEquals(results.files(), [".a.1-0123abcd.part"]);
  Deno.removeSync(paths.out, { recursive: true });
  // No marker can be written: the file is there, and still not done.
  Deno.removeSync(join(path, "done"));
  await assertRejects(() => results.commit(null));
  Deno.mkdirSync(join(path, "done"));
  assertEquals(results.files(), ["a.out"]);
});
