import { assert, assertEquals, assertMatch } from "@std/assert";
import { dirname } from "@std/path/dirname";
import { join } from "@std/path/join";
import { TempFolder, textOf } from "./files.ts";
import { Home, runGuard, together } from "./harness.ts";
import { type Kind, kinds, root, scriptCommand } from "./script.ts";

const scripts = ["quota_guard", "quota_catchup"] as const;

/** Path of a bundle that is up to date. */
function bundle(script: typeof scripts[number]): string {
  return scriptCommand(script, "bundle", {}).at(-1) ?? "";
}

async function tool(name: string, args: string[], env = {}): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", join(root, "tools", name), ...args],
    env,
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

Deno.test("the bundles are the same wherever and whenever they are made", async () => {
  using temp = new TempFolder();
  const folder = join(temp.path, "else where");
  await tool("bundle.ts", [folder]);
  for (const script of scripts) {
    const name = `${script}.js`;
    assertEquals(textOf(join(folder, name)), textOf(bundle(script)), name);
  }
  assertEquals([...Deno.readDirSync(folder)].length, scripts.length);
});

Deno.test("the bundles can be run, import nothing and keep to their permissions", () => {
  for (const script of scripts) {
    const file = bundle(script);
    const text = textOf(file);
    const [shebang = ""] = text.split("\n", 1);
    const [source = ""] = textOf(join(root, `${script}.ts`)).split("\n", 1);
    assertEquals(
      shebang.replace(" --no-config --no-remote --no-npm", ""),
      source,
    );
    assertMatch(shebang, /^#!\/usr\/bin\/env -S deno run --no-config /);
    assertEquals((Deno.statSync(file).mode ?? 0) & 0o777, 0o755);
    assertEquals(text.match(/(?<![\w.$])(?:import|require)\s*[("'{*]/g), null);
    // No path of this machine.
    assertEquals(text.match(/[^"\n]*registry\.npmjs\.org[^"\n]*/g), null);
    // deno-lint-ignore no-control-regex -- all of ASCII
    assertMatch(text, /^[\x00-\x7f]*$/);
    // Where this checkout lies is nobody's business.
    assert(!text.includes(root), file);
  }
});

Deno.test("the bundles know characters beyond ASCII as their sources do", async () => {
  await using home = new Home();
  const refusal =
    "  \u23bf  \u{1f6d1} You\u2019ve hit your 5-hour limit \u00b7 resets 3pm (UTC)\n";
  const classify = async (kind: Kind): Promise<Record<string, unknown>> => {
    const args = ["--classify", "--exit", "1", "--at", "1796056215"];
    const options = { kind, stdin: refusal };
    const { stdout, stderr } = await runGuard(home, args, options);
    assert(stdout !== "", stderr);
    return JSON.parse(stdout);
  };
  const [source, bundled] = await together(kinds.map(classify));
  assertEquals(source?.ending, "limit");
  assertEquals(bundled, source);
});

Deno.test("the bundles run alone: no cache, no network, no configuration", async () => {
  await using home = new Home();
  const folder = join(home.path, "a b", "bin");
  const links = join(home.path, "links to");
  const empty = join(home.path, "empty");
  for (const path of [folder, links, empty]) {
    Deno.mkdirSync(path, { recursive: true });
  }
  // Neither must reach them.
  Deno.writeTextFileSync(join(home.path, "a b", "package.json"), "{ broken");
  Deno.writeTextFileSync(join(home.path, "a b", "deno.json"), "{ broken");
  const deno = join(links, "deno");
  Deno.symlinkSync(Deno.execPath(), deno);
  for (const script of scripts) {
    Deno.copyFileSync(bundle(script), join(folder, `${script}.js`));
    Deno.symlinkSync(join(folder, `${script}.js`), join(links, script));
  }
  const env = {
    DENO_DIR: join(home.path, "no cache"),
    PATH: `${links}:${home.env.PATH}`,
  };
  const run = async (program: string, ...args: string[]): Promise<string> => {
    const end = await home.run([program, ...args], { cwd: empty, env });
    assertEquals(end.code, 0, end.stderr);
    return end.stdout + end.stderr;
  };
  for (const at of [folder, links]) {
    const ending = at === folder ? ".js" : "";
    const [guard, catchup] = scripts.map((name) => join(at, name + ending));
    assertMatch(await run(guard ?? "", "--version"), /^quota_guard \d/);
    assertMatch(await run(catchup ?? "", "--version"), /^quota_catchup \d/);
    const job = ["--job", "mail", "--", "sh", "-c", "claude -p hi"];
    assertMatch(await run(guard ?? "", ...job), /_RAN job=mail exit=0 ts=/);
    assertMatch(await run(guard ?? "", "--status"), /mail/);
    // Through /usr/bin/env, as a shell line would.
    const offline = ["run", "--cached-only", "--no-config", "--no-npm"];
    const all = [...offline, "--no-remote", "--quiet", "-A"];
    assertMatch(
      await run(deno, ...all, catchup ?? "", "--dry-run", "--json"),
      /"candidates": \[\]/,
    );
  }
  assertEquals(home.claude.calls().length, 2);
  assertEquals([...Deno.readDirSync(empty)], []);
});

Deno.test(
  "the binaries hold all of a script",
  { ignore: Deno.build.os !== "linux" },
  async () => {
    bundle("quota_guard");
    // In place of Deno's runtime, which would come from the network.
    const made = await tool("compile.ts", [Deno.build.target], {
      DENORT_BIN: "/bin/true",
    });
    const files = made.trimEnd().split("\n");
    assertEquals(files.length, scripts.length);
    for (const [i, file] of files.entries()) {
      const script = scripts[i] ?? "quota_guard";
      assertEquals(file.split("/").at(-1), script);
      assertEquals((Deno.statSync(file).mode ?? 0) & 0o111, 0o111);
      const text = Deno.readTextFileSync(file);
      assert(text.includes(textOf(bundle(script)).split("\n")[1] ?? "?"), file);
    }
    Deno.removeSync(dirname(files[0] ?? ""), { recursive: true });
  },
);
