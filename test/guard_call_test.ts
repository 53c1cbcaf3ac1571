import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { join } from "@std/path/join";
import { executable, textOf } from "./files.ts";
import {
  isOpen,
  markers,
  newest,
  now,
  openCircuit,
  outcome,
  ownClaude,
  runJob,
  withoutClaude,
} from "./guard_steps.ts";
import { Home, runGuard, together, until } from "./harness.ts";
import { Dice } from "./samples.ts";

Deno.test("a call passes every byte through, and its exit code", async () => {
  await using home = new Home();
  const dice = new Dice(9);
  const bytes = Uint8Array.from({ length: 1_500_000 }, () => dice.below(256));
  const file = join(home.path, "bytes");
  Deno.writeFileSync(file, bytes);
  const claude = ownClaude(home, "own", `cat; cat '${file}' >&2; exit 42`);
  const child = home.start(
    [...home.words("quota_guard"), "--claude", "--", "-p"],
    { stdin: "", env: { CLAUDE_REAL_BIN: join(claude, "claude") } },
  );
  const fed = new Blob([bytes]).stream().pipeTo(child.stdin);
  const { code, stdout, stderr } = await child.output();
  await fed;
  assertEquals(code, 42);
  assert(await sameBytes(stdout, bytes), "stdout");
  assert(await sameBytes(stderr, bytes), "stderr");
});

async function sameBytes(a: Uint8Array, b: Uint8Array): Promise<boolean> {
  const [x, y] = await Promise.all([a, b].map(async (bytes) => {
    const sum = await crypto.subtle.digest("SHA-256", new Uint8Array(bytes));
    return new Uint8Array(sum).toString();
  }));
  return a.length === b.length && x === y;
}

Deno.test("a call's arguments arrive as they are", async () => {
  await using home = new Home();
  const claude = ownClaude(home, "own", 'for a; do printf "[%s]" "$a"; done');
  const { stdout } = await runJob(
    home,
    "a",
    `claude -p "a  b" '' '$HOME' --json --job -- --status`,
    { env: { PATH: `${claude}:/usr/bin:/bin` } },
  );
  assertEquals(stdout, "[-p][a  b][][$HOME][--json][--job][--][--status]");
});

Deno.test("an open circuit refuses calls with 75 and lets everything else through", async () => {
  await using home = new Home();
  openCircuit(home);
  for (const args of [["-p", "hi"], ["hi"], ["-cp", "hi"], ["--print"]]) {
    const refused = await runGuard(home, args);
    assertEquals([refused.code, refused.stdout], [75, ""]);
    assertEquals(markers(refused.stderr), [
      "CLAUDE_QUOTA_CIRCUIT_OPEN reason=quota remaining=Ns",
    ]);
  }
  assertEquals(home.claude.calls(), []);
  for (const args of ["--version", "--help", "-h", "mcp list", "update"]) {
    const passed = await runGuard(home, ["--claude", "--", ...args.split(" ")]);
    assertEquals([passed.code, passed.stderr], [0, ""]);
  }
});

Deno.test("a call without a job opens and reports as well", async () => {
  await using home = new Home();
  const { code, stdout, stderr } = await runGuard(home, ["hi"]);
  assertEquals([code, stdout, stderr], [0, "hello\n", ""]);
  home.claude.script(`limit ${Math.floor(now()) + 4000}`);
  const limited = await runGuard(home, ["-p", "hi"]);
  assertEquals([limited.code, limited.stderr], [1, ""]);
  assertMatch(limited.stdout, /^You've hit your 5-hour limit · resets .*\n$/);
  assert(isOpen(home));
});

Deno.test("no claude is 127", withoutClaude, async () => {
  await using home = new Home();
  const bare = join(home.path, "bare");
  Deno.mkdirSync(bare);
  const none = await runGuard(home, ["-p", "hi"], {
    env: {
      PATH: bare,
      HOME: bare,
      DENO_DIR: join(home.path, ".cache", "deno"),
    },
  });
  assertEquals(none.code, 127);
  assertStringIncludes(none.stderr, "CLAUDE_REAL_BIN");
});

Deno.test("a claude that leads back to the guard is 126", async () => {
  await using home = new Home();
  // A program that hides that it leads back.
  const words = home.words("quota_guard").map((word) => `'${word}'`).join(" ");
  const inner = executable(join(home.path, "inner"), `exec ${words} "$@"`);
  const claude = ownClaude(home, "own", `exec '${inner}' "$@"`);
  const circles = ["8", "soon"].map(async (depth) => {
    const circle = await runGuard(home, ["-p", "hi"], {
      env: {
        CLAUDE_REAL_BIN: join(claude, "claude"),
        CLAUDE_QUOTA_DEPTH: depth,
      },
    });
    assertEquals(circle.code, 126);
    assertStringIncludes(circle.stderr, "leads back to the guard");
  });
  await together(circles);
});

Deno.test("a call does not wait for hours by CLAUDE_CODE_RETRY_WATCHDOG, unless told so", async () => {
  await using home = new Home();
  const watchdog = "CLAUDE_CODE_RETRY_WATCHDOG";
  const env = { [watchdog]: "1", OTHER: "a\nb" };
  await runJob(home, "a", `claude -p; echo $${watchdog}`, { env });
  await runJob(home, "a", "claude -p", {
    env: { ...env, CLAUDE_QUOTA_KEEP_WATCHDOG: "1" },
  });
  const [without, kept] = home.claude.calls();
  assertEquals(without?.env[watchdog], undefined);
  assertEquals(without?.env.OTHER, "a");
  assertEquals(kept?.env[watchdog], "1");
});

Deno.test("a call is over when claude has ended, though a grandchild holds its pipes", async () => {
  await using home = new Home();
  const pid = join(home.path, "pid");
  const claude = ownClaude(
    home,
    "own",
    `sleep 600 & echo $! > '${pid}'; printf done; exit 3`,
  );
  const { code, stdout } = await runGuard(home, ["-p", "hi"], {
    env: { CLAUDE_REAL_BIN: join(claude, "claude") },
  });
  assertEquals([code, stdout], [3, "done"]);
  Deno.kill(Number(textOf(pid)), "SIGKILL"); // throws if it has ended
});

Deno.test("a call whose reader has gone ends", async () => {
  await using home = new Home();
  const claude = ownClaude(home, "own", "while echo yes; do :; done; exit 5");
  const child = home.start(
    [...home.words("quota_guard"), "--claude", "--", "-p"],
    { env: { CLAUDE_REAL_BIN: join(claude, "claude") } },
  );
  const reader = child.stdout.getReader();
  await reader.read();
  await reader.cancel();
  await child.stderr.cancel();
  const { code } = await child.status;
  assert(code !== 0, `${code}`);
});

Deno.test("a call's signals go on to claude", async () => {
  await using home = new Home();
  home.claude.script("hang");
  const child = home.start(
    [...home.words("quota_guard"), "--claude", "--", "-p"],
  );
  await until(() => home.claude.calls().length === 1, "the call has begun");
  child.kill("SIGTERM");
  assertEquals((await child.output()).code, 143);
  assert(!isOpen(home));
});

Deno.test("pipes and terminals as only Python makes them", async (t) => {
  const python3 = await python();
  const ignore = python3 === "";
  if (ignore) console.error("PYTHON IS MISSING: this is not tested");
  await t.step({
    name: "on a terminal a call has it to itself, and its answer counts",
    ignore,
    fn: async () => {
      await using home = new Home();
      const claude = ownClaude(home, "own", "[ -t 0 ] && [ -t 1 ] && echo tty");
      const run = [
        ...home.words("quota_guard"),
        ...["--job", "a", "--", "/bin/sh", "-c", "claude -p hi"],
      ];
      const { stdout } = await home.run(
        [python3, "-c", "import pty, sys; pty.spawn(sys.argv[1:])", ...run],
        { env: { CLAUDE_REAL_BIN: join(claude, "claude") } },
      );
      const text = stdout.replaceAll("\r\n", "\n");
      assert(text.startsWith("tty\nCLAUDE_QUOTA_JOB_RAN "), text);
      assertEquals(newest(text, "a"), "RAN");
      assertEquals(outcome(home, "a"), ["ran", 0, null, "ok", 1]);
    },
  });
  await t.step({
    name: "a pipe that somebody made non-blocking loses nothing",
    ignore,
    fn: async () => {
      await using home = new Home();
      const claude = ownClaude(home, "own", "head -c 500000 /dev/zero; exit 4");
      const script = `
import os, subprocess, sys
reader, writer = os.pipe()
os.set_blocking(writer, False)
guard = subprocess.Popen(sys.argv[1:], stdout=writer)
os.close(writer)
size = 0
while chunk := os.read(reader, 4096):
    size += len(chunk)
print(size, guard.wait())
`;
      const { stdout } = await home.run([
        ...[python3, "-c", script],
        ...[...home.words("quota_guard"), "--claude", "--", "-p"],
      ], { env: { CLAUDE_REAL_BIN: join(claude, "claude") } });
      assertEquals(stdout, "500000 4\n");
    },
  });
});

/** Absolute path of python3; "" without one. */
async function python(): Promise<string> {
  const { stdout } = await new Deno.Command("/bin/sh", {
    args: ["-c", "python3 -c 'import sys; print(sys.executable)'"],
    stderr: "null",
  }).output();
  return new TextDecoder().decode(stdout).trim();
}

/** Its stdout is a pipe as Node leaves it, read only when it is full. */
const NON_BLOCKING = `
import fcntl, os, select, subprocess, sys, time
r, w = os.pipe()
fcntl.fcntl(w, fcntl.F_SETFL, fcntl.fcntl(w, fcntl.F_GETFL) | os.O_NONBLOCK)
guard = subprocess.Popen(sys.argv[1:], stdout=w)
deadline = time.monotonic() + 300
while guard.poll() is None:
    if time.monotonic() > deadline: guard.kill()
    if select.select([], [w], [], 0)[1]: time.sleep(0.001)
    else: os.write(1, os.read(r, 4096))
os.close(w)
while data := os.read(r, 4096): os.write(1, data)
sys.exit(guard.wait())
`;

Deno.test("a pipe that is full and does not block loses nothing and repeats next to nothing", async () => {
  await using home = new Home();
  const python3 = await python();
  if (python3 === "") {
    console.error("PYTHON IS MISSING: this is not tested");
    return;
  }
  const claude = ownClaude(
    home,
    "lines",
    `i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); echo "line $i"; done`,
  );
  const { code, stdout, stderr } = await home.run([
    ...[python3, "-c", NON_BLOCKING],
    ...home.words("quota_guard"),
    ...["--claude", "--", "-p", "x"],
  ], { env: { CLAUDE_REAL_BIN: join(claude, "claude") } });
  assertEquals(code, 0, stderr);
  const lines = stdout.split("\n");
  const said = Array.from({ length: 20_000 }, (_, i) => `line ${i + 1}`);
  assertEquals(lines.at(-2), said.at(-1));
  assertEquals(said.filter((line) => !lines.includes(line)), []);
  assert(lines.length < 1.6 * said.length, `${lines.length} lines`);
});
