/** A batch under strace: each item once, whole. */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path/join";
import { textOf } from "../files.ts";
import { type Finished, Home } from "../harness.ts";
import { Broken } from "./report.ts";
import { jsonOf, lockIsFree, namesBelow, runBounded } from "./run.ts";
import { type Injection, straceWords, type SystemCall } from "./strace.ts";

const ITEMS = ["one", "two", "three"];

/** A home with a batch of a few items. */
export class BatchScene implements AsyncDisposable {
  readonly home = new Home();
  readonly log = join(this.home.path, "trace");
  readonly dir = join(this.home.path, "results");
  readonly folders = [this.home.state, this.dir];
  readonly #list = join(this.home.path, "list");
  readonly #starts = join(this.home.path, "starts");

  constructor() {
    Deno.writeTextFileSync(this.#list, ITEMS.join("\n") + "\n");
    this.home.claude.script("ok");
  }

  async run(
    harm: { call: SystemCall; what: Injection } | null,
  ): Promise<Finished> {
    return await this.#batch(straceWords(this.log, harm));
  }

  async #batch(before: readonly string[]): Promise<Finished> {
    return await runBounded(this.home, [
      ...before,
      ...this.home.words("quota_guard", { kind: "bundle" }),
      ...["--batch", this.#list, "--into", this.dir, "--ends-with", "end"],
      ...["--", "/bin/sh", "-c"],
      `echo "$QUOTA_ITEM" >> '${this.#starts}'; { "$CLAUDE" -p hi; echo "$QUOTA_ITEM end"; } > "$QUOTA_PART"`,
    ]);
  }

  #started(item: string): number {
    return textOf(this.#starts).split("\n").filter((line) => line === item)
      .length;
  }

  #isDone(item: string): boolean {
    const marker = jsonOf(join(this.dir, "done", `${item}.json`));
    if (marker === null) return false;
    const text = textOf(join(this.dir, String(marker.file)));
    if (text !== `hello\n${item} end\n`) {
      throw new Broken("lost", `${item} has a marker, and is not whole`);
    }
    return true;
  }

  /** What must hold after a kill. */
  async check(): Promise<void> {
    const { home } = this;
    const done = ITEMS.filter((item) => this.#isDone(item));
    const before = new Map(ITEMS.map((item) => [item, this.#started(item)]));
    assert(lockIsFree(home), "the lock is held");
    const { code, stderr } = await this.#batch([]);
    assertEquals(code, 0, stderr);
    for (const item of ITEMS) {
      if (!this.#isDone(item)) throw new Broken("lost", `${item} is not done`);
      const again = this.#started(item) - (before.get(item) ?? 0);
      if (again > (done.includes(item) ? 0 : 1)) {
        throw new Broken("doubled", `${item} was done again`);
      }
    }
    const names = namesBelow(this.dir);
    assertEquals(names.length, 2 * ITEMS.length, names.join(" "));
  }

  /** What must hold although a system call has failed. */
  async checkFault({ code, stderr }: Finished): Promise<void> {
    // A folder that cannot be made is one that should not have been named.
    assert([0, 1, 2, 70].includes(code), `exit ${code}: ${stderr}`);
    assert(code === 0 || stderr !== "", "it failed and does not say why");
    await this.check();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.home[Symbol.asyncDispose]();
  }
}
