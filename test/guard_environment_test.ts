import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "@std/path/join";
import { executable } from "./files.ts";
import { newest, ownClaude } from "./guard_steps.ts";
import { Home, runGuard, together } from "./harness.ts";
import { kinds } from "./script.ts";

/** What launchd and cron give: no shell's settings, no deno on PATH. */
function bare(home: Home, path = "/usr/bin:/bin"): string[] {
  return ["/usr/bin/env", "-i", `PATH=${path}`, `HOME=${home.path}`];
}

/** Where the state is when only HOME is set. */
const byHome = { CLAUDE_QUOTA_DIR: null };

Deno.test("under env -i a job script that says claude -p reaches the real claude through the guard", async () => {
  await using home = new Home();
  // A deno on PATH would be another one: nobody must ask it.
  const wrong = join(home.path, "wrong");
  Deno.mkdirSync(wrong);
  executable(join(wrong, "deno"), "echo wrong deno >&2; exit 99");
  const script = executable(join(home.path, "job's script"), "claude -p hi");
  const ends = kinds.map(async (kind) => {
    const { code, stdout, stderr } = await home.run([
      ...bare(home, `${wrong}:/usr/bin:/bin`),
      ...home.words("quota_guard", { kind }),
      ...["--job", `from.${kind}`, "--", script],
    ]);
    assertEquals([code, stdout], [0, "hello\n"], stderr);
    assertEquals(newest(stderr, `from.${kind}`), "RAN");
  });
  await together(ends);
  const { stdout } = await runGuard(home, ["--status"], { env: byHome });
  for (const kind of kinds) {
    assert(
      new RegExp(`from\\.${kind} .* ran, exit 0, 1 call$`, "m").test(stdout),
    );
  }
  assertEquals(home.claude.calls().length, kinds.length);
});

Deno.test("the folder of a bundle may hold a broken configuration", async () => {
  await using home = new Home();
  const words = home.words("quota_guard", { kind: "bundle" });
  const script = join(home.bin, "quota_guard.js");
  Deno.copyFileSync(words.at(-1) ?? "", script);
  for (const name of ["package.json", "deno.json", "deno.lock"]) {
    Deno.writeTextFileSync(join(home.bin, name), "{ broken");
  }
  const { code, stdout, stderr } = await home.run([
    ...words.slice(0, -1),
    script,
    ...["--job", "a", "--", "/bin/sh", "-c", "claude -p hi"],
  ], { cwd: home.bin });
  assertEquals([code, stdout], [0, "hello\n"], stderr);
});

for (
  const [shell, profile] of [
    ["bash", ".bash_profile"],
    ["zsh", ".zprofile"],
  ] as const
) {
  const path = ["/bin", "/usr/bin", "/usr/local/bin"]
    .map((folder) => join(folder, shell)).find(exists);
  const name = `under ${shell} -lc, whose profile puts another claude first, ` +
    '"$CLAUDE" goes through the guard and a bare claude is shown as no call';
  if (path === undefined) {
    console.error(`${shell.toUpperCase()} IS MISSING, not tested: ${name}`);
  }
  Deno.test({
    name,
    ignore: path === undefined,
    fn: async () => {
      await using home = new Home();
      const other = ownClaude(home, "other", "echo another");
      Deno.writeTextFileSync(
        join(home.path, profile),
        `export PATH="${other}:$PATH"\n`,
      );
      const run = (kind: typeof kinds[number], label: string, line: string) =>
        home.run([
          ...bare(home),
          ...home.words("quota_guard", { kind }),
          ...["--job", label, "--", path ?? shell, "-lc", line],
        ]);
      const runs = kinds.map(async (kind) => {
        const recipe = await run(kind, `with.${kind}`, '"$CLAUDE" -p hi');
        assertEquals([recipe.code, recipe.stdout], [0, "hello\n"]);
        const without = await run(kind, `without.${kind}`, "claude -p hi");
        assertEquals([without.code, without.stdout], [0, "another\n"]);
      });
      await together(runs);
      const { stdout } = await runGuard(home, ["--status"], { env: byHome });
      for (const kind of kinds) {
        assert(
          new RegExp(`with\\.${kind} .* 1 call$`, "m").test(stdout),
          stdout,
        );
        assert(
          new RegExp(`without\\.${kind} .* no call seen$`, "m").test(stdout),
          stdout,
        );
      }
    },
  });
}

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

/** A folder with the few programs that the stand-in for claude needs, and no node. */
function baseWithoutNode(home: Home): string {
  const base = join(home.path, "base");
  Deno.mkdirSync(base);
  for (const tool of ["sh", "cat", "date", "env", "tr", "sed"]) {
    const from = ["/usr/bin", "/bin"].map((folder) => join(folder, tool))
      .find(exists);
    if (from !== undefined) Deno.symlinkSync(from, join(base, tool));
  }
  return base;
}

Deno.test("without a state folder a job finds the real claude, by $CLAUDE and by its name", async () => {
  await using home = new Home();
  const broken = join(home.path, "broken");
  Deno.writeTextFileSync(broken, "no folder");
  for (const claude of ["claude", '"$CLAUDE"']) {
    const { code, stdout, stderr } = await home.run([
      ...bare(home),
      `CLAUDE_REAL_BIN=${join(home.bin, "claude")}`,
      `CLAUDE_QUOTA_DIR=${broken}`,
      ...home.words("quota_guard"),
      ...["--job", "a", "--", "/bin/sh", "-c", `${claude} -p hi`],
    ]);
    assertEquals([code, stdout], [0, "hello\n"], stderr);
  }
});

Deno.test("a CLAUDE_REAL_BIN that is none is said once, and another taken", async () => {
  await using home = new Home();
  const line = /CLAUDE_REAL_BIN names no claude, "\/nonexist"; ".*" is taken/g;
  const env = { CLAUDE_REAL_BIN: "/nonexist" };
  for (
    const args of [
      ["-p", "hi"],
      ["--job", "a", "--", "/bin/sh", "-c", "claude -p a; claude -p b"],
    ]
  ) {
    const { code, stderr } = await runGuard(home, args, { env });
    assertEquals([code, stderr.match(line)?.length], [0, 1], stderr);
  }
});

Deno.test("a claude that starts with #!/usr/bin/env node finds the node beside it", async () => {
  await using home = new Home();
  const base = baseWithoutNode(home);
  // As npm lays it out: bin/claude leads to lib/claude/cli.js.
  const folder = join(home.path, "npm", "bin");
  const library = join(home.path, "npm", "lib", "claude");
  for (const place of [folder, library]) {
    Deno.mkdirSync(place, { recursive: true });
  }
  executable(
    join(folder, "node"),
    `shift; exec '${join(home.bin, "claude")}' "$@"`,
  );
  const script = "#!/usr/bin/env node\nrun()\n";
  Deno.writeTextFileSync(join(library, "cli.js"), script, { mode: 0o755 });
  Deno.symlinkSync("../lib/claude/cli.js", join(folder, "claude"));
  for (const kind of kinds) {
    const { code, stdout, stderr } = await home.run([
      ...bare(home, base),
      `CLAUDE_REAL_BIN=${join(folder, "claude")}`,
      ...home.words("quota_guard", { kind }),
      ...["--job", "a", "--", "/bin/sh", "-c", "claude -p hi"],
    ]);
    assertEquals([code, stdout], [0, "hello\n"], stderr);
  }
  const { PATH = "", ...env } = home.claude.calls()[0]?.env ?? {};
  assertEquals(PATH.split(":").slice(1, 3), [base, folder]);
  assertEquals(env.DENO_NODE_SHIM_ACTIVE, undefined);
});

Deno.test("a job finds no node where there is none, whatever Deno puts on PATH", async () => {
  await using home = new Home();
  const base = baseWithoutNode(home);
  for (const state of [home.state, join(home.bin, "claude", "below")]) {
    const { code, stdout } = await home.run([
      ...bare(home, base),
      `CLAUDE_QUOTA_DIR=${state}`,
      ...home.words("quota_guard"),
      ...["--job", "a", "--", "/bin/sh", "-c", "command -v node; echo $?"],
    ]);
    assertEquals([code, stdout], [0, "127\n"]);
  }
});

Deno.test("a state folder with a comma or a quote in its name works", async () => {
  await using home = new Home();
  for (const name of ["a,b", "it's", 'a "b" $c']) {
    const folder = join(home.path, name);
    const { code, stdout, stderr } = await runGuard(
      home,
      ["--job", "a", "--", "/bin/sh", "-c", "claude -p hi"],
      { env: { CLAUDE_QUOTA_DIR: folder } },
    );
    assertEquals([code, stdout], [0, "hello\n"], stderr);
    const text = Deno.readTextFileSync(join(folder, "jobs.json"));
    assertStringIncludes(text, '"calls":1');
  }
});
