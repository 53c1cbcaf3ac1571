/** Links in the state folder: followed for reading, never written through. */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path/join";
import { CatchupHome } from "../catchup_home.ts";
import { textOf } from "../files.ts";
import { books, isOpen, newest, now, runJob } from "../guard_steps.ts";
import { Home, runGuard } from "../harness.ts";
import type { Section } from "./report.ts";

const bundle = { kind: "bundle" } as const;

/** A file outside of the state folder, another user's if that can be had, with a link to it. */
class LinkedFile {
  readonly path: string;
  readonly #text: string;
  readonly #owner: number;

  constructor(home: Home, name: string, text: string) {
    this.path = join(home.path, `their ${name}`);
    this.#text = text;
    Deno.writeTextFileSync(this.path, text, { mode: 0o644 });
    const root = Deno.uid() === 0;
    if (root) Deno.chownSync(this.path, 65_534, 65_534);
    this.#owner = root ? 65_534 : Deno.uid() ?? 0;
    Deno.mkdirSync(home.state, { recursive: true, mode: 0o700 });
    Deno.symlinkSync(this.path, join(home.state, name));
  }

  /** It is as it was. */
  check(): void {
    assertEquals(Deno.readTextFileSync(this.path), this.#text);
    const { uid, mode } = Deno.statSync(this.path);
    assertEquals([uid, (mode ?? 0) & 0o777], [this.#owner, 0o644]);
  }
}

/** Goes through the files that may be a link. */
export async function links(section: Section): Promise<void> {
  await section.case("state.json is a link to an open circuit", async () => {
    await using home = new Home();
    const theirs = new LinkedFile(
      home,
      "state.json",
      JSON.stringify({ open_until: Math.floor(now()) + 7200, reason: "quota" }),
    );
    const skipped = await runJob(home, "mail", "claude -p hi", bundle);
    assertEquals(newest(skipped.stderr, "mail"), "SKIPPED quota");
    const probing = await runJob(home, "mail", "claude -p hi", {
      ...bundle,
      flags: ["--priority"],
    });
    assertEquals(newest(probing.stderr, "mail"), "RAN");
    assert(!isOpen(home));
    theirs.check();
  });
  await section.case("jobs.json is a link to other books", async () => {
    await using home = new Home();
    const theirs = new LinkedFile(
      home,
      "jobs.json",
      '{"jobs":{"other":{"outcome":"skipped","ts":1700000000,"reason":"quota"}}}',
    );
    await runJob(home, "mail", "claude -p hi", bundle);
    assertEquals(Object.keys(books(home).jobs ?? {}).sort(), ["mail", "other"]);
    theirs.check();
  });
  for (const name of ["unknown.log", "state.json.lock", "bin/claude"]) {
    await section.case(`${name} is a link to another file`, async () => {
      await using home = new Home();
      Deno.mkdirSync(join(home.state, "bin"), { recursive: true, mode: 0o700 });
      Deno.chmodSync(home.state, 0o700);
      const theirs = new LinkedFile(home, name.replace("bin/", ""), "theirs\n");
      if (name.startsWith("bin/")) {
        Deno.symlinkSync(theirs.path, join(home.state, name));
      }
      home.claude.script("suspected-json");
      const run = await runJob(home, "mail", "claude -p hi; exit 3", bundle);
      assertEquals(run.code, 3);
      assertEquals(newest(run.stderr, "mail"), "RAN");
      await runGuard(home, ["--status"], bundle);
      theirs.check();
    });
  }
  for (const name of ["catchup.log", "catchup.lock"]) {
    await section.case(`${name} is a link to another file`, async () => {
      await using home = new CatchupHome();
      await home.job("com.me.a", "true");
      const theirs = new LinkedFile(home, name, "theirs\n");
      const { stdout, stderr } = await home.catchUp([], bundle);
      const said = stdout + stderr;
      assert(said.includes(`${name}" is a link; remove it`), said);
      theirs.check();
      assertEquals(textOf(theirs.path), "theirs\n");
    });
  }
}
