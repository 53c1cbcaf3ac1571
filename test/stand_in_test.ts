import { assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path/join";
import { Home, until } from "./harness.ts";

Deno.test("claude stand-in gives its outputs in order and counts requests", async () => {
  await using home = new Home();
  home.claude.script("limit 1796063715", 'ok it\'s "fine"', "budget");
  const first = await home.run(["claude", "-p", "one\ntwo"]);
  assertEquals(first.code, 1);
  assertMatch(first.stdout, /^You've hit your 5-hour limit · resets .+\n$/);
  const second = await home.run(["claude", "-p", "--output-format", "json"]);
  assertEquals(JSON.parse(second.stdout).result, 'it\'s "fine"');
  for (let i = 0; i < 2; i++) {
    const stopped = await home.run(["claude", "hi"]);
    assertEquals(stopped.code, 1);
    assertEquals(stopped.stdout, "Error: Exceeded USD budget (0.01)");
  }
  const version = await home.run(["claude", "--version"]);
  assertEquals(version.stdout, "2.1.332 (Claude Code)\n");
  const calls = home.claude.calls();
  assertEquals(
    calls.map((call) => call.output),
    ["limit", "ok", "budget", "budget"],
  );
  assertEquals(calls[0]?.arguments, "-p one two");
  assertEquals(calls[0]?.env.HOME, home.path);
});

Deno.test("claude stand-in works in an empty environment", async () => {
  await using home = new Home();
  home.claude.script("echo");
  const claude = join(home.bin, "claude");
  const { stdout } = await home.run(
    ["/usr/bin/env", "-i", "PATH=/usr/bin:/bin", claude, "-p"],
    { stdin: "a\0b\n\nc" },
  );
  assertEquals(stdout, "a\0b\n\nc");
});

Deno.test("claude stand-in hangs until it gets a signal", async () => {
  await using home = new Home();
  home.claude.script("hang");
  for (
    const [i, [signal, code]] of ([["SIGTERM", 143], ["SIGINT", 0]] as const)
      .entries()
  ) {
    const child = home.start([join(home.bin, "claude"), "-p", "hi"]);
    await until(() => home.claude.calls().length > i, "the call has begun");
    child.kill(signal);
    const end = await child.output();
    assertEquals([end.code, end.stdout.length], [code, 0]);
  }
});
