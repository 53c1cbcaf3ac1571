import { assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path/join";
import { textOf } from "./files.ts";
import { type Finished, Home, until } from "./harness.ts";
import type { PlistDict } from "./plist_xml.ts";

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

const uid = Deno.uid();

/** A loaded job `example` with a shell line for its work. */
async function loaded(
  home: Home,
  line: string,
  keys: PlistDict = {},
): Promise<(command: string, ...flags: string[]) => Promise<Finished>> {
  const path = home.plist("example", {
    ProgramArguments: ["/bin/sh", "-c", line],
    StandardOutPath: join(home.logs, "out"),
    StandardErrorPath: join(home.logs, "out"),
    ...keys,
  });
  const { code } = await home.run([
    "launchctl",
    "bootstrap",
    `gui/${uid}`,
    path,
  ]);
  assertEquals(code, 0);
  return (command, ...flags) =>
    home.run(["launchctl", command, ...flags, `gui/${uid}/example`]);
}

/** The printed service once it has a line that matches. */
function printed(
  launchctl: (command: string) => Promise<Finished>,
  line: RegExp,
): Promise<string> {
  return until(async () => {
    const { stdout } = await launchctl("print");
    return line.test(stdout) && stdout;
  }, `print shows ${line}`);
}

Deno.test("launchctl stand-in starts a job with its own environment, folder and logs", async () => {
  await using home = new Home();
  const launchctl = await loaded(
    home,
    'echo "$PATH|$OWN|$PWD" && echo oops >&2; exit 75',
    {
      EnvironmentVariables: { OWN: "a & b" },
      WorkingDirectory: home.agents,
      StartCalendarInterval: [{ Hour: 7 }, { Hour: 19, Minute: 30 }],
    },
  );
  Deno.writeTextFileSync(join(home.logs, "out"), "before\n");
  const never = await printed(
    launchctl,
    /^\tlast exit code = \(never exited\)$/m,
  );
  assertMatch(never, /^\tstate = not running$/m);
  assertMatch(never, /^\t\t\t\t"Hour" => 19\n\t\t\t\t"Minute" => 30$/m);
  assertEquals((await launchctl("kickstart")).code, 0);
  const done = await printed(
    launchctl,
    /^\tlast exit code = 75: EX_TEMPFAIL$/m,
  );
  assertMatch(done, /^\truns = 1$/m);
  const [before, told = "", oops] = textOf(join(home.logs, "out")).split("\n");
  assertEquals([before, oops], ["before", "oops"]);
  const [path, own, cwd] = told.split("|");
  assertEquals(path, "/usr/bin:/bin:/usr/sbin:/sbin");
  assertEquals(own, "a & b");
  assertEquals(Deno.realPathSync(cwd ?? ""), Deno.realPathSync(home.agents));
});

Deno.test("launchctl stand-in kills the main process and then its group", async () => {
  await using home = new Home();
  const pid = join(home.logs, "pid");
  const child = join(home.logs, "child");
  const launchctl = await loaded(
    home,
    `(trap 'echo ended > "${child}"; exit' TERM
    echo $$ > '${pid}'; sleep 600 & wait) & wait`,
  );
  const started = await launchctl("kickstart", "-p");
  const main = await until(() => textOf(pid) || false, "the job runs");
  assertEquals(started.stdout, main);
  Deno.kill(-Number(main), "SIGCONT"); // throws unless it leads a group
  assertEquals((await launchctl("kickstart", "-p")).stdout, main);
  assertEquals((await launchctl("kill", "SIGTERM")).code, 0);
  const ended = await printed(
    launchctl,
    /^\tlast terminating signal = Terminated: 15$/m,
  );
  assertMatch(ended, /^\truns = 1$/m);
  await until(() => textOf(child) === "ended\n", "its child ended");
  const again = await launchctl("kill", "SIGTERM");
  assertEquals([again.code, again.stderr], [3, "No process to signal.\n"]);
});

Deno.test("launchctl stand-in answers with launchd's exit codes and words", async () => {
  await using home = new Home();
  const launchctl = await loaded(home, "true");
  const ask = async (...words: string[]): Promise<[number, string]> => {
    const { code, stderr } = await home.run(["launchctl", ...words]);
    return [code, stderr];
  };
  assertEquals(await ask("print", `gui/${uid}/other`), [
    113,
    'Bad request.\nCould not find service "other" in domain for user gui: ' +
    `${uid}\n`,
  ]);
  assertEquals(await ask("print", "gui/99999/example"), [
    112,
    "Could not find domain for user gui: 99999\n",
  ]);
  assertEquals((await ask("kickstart", "example"))[0], 64);
  const path = join(home.agents, "example.plist");
  assertEquals((await ask("bootstrap", `gui/${uid}`, path))[0], 5);
  await launchctl("disable");
  assertMatch(
    (await home.run(["launchctl", "print-disabled", `gui/${uid}`])).stdout,
    /^\t\t"example" => disabled$/m,
  );
  assertEquals((await launchctl("kickstart")).code, 119);
  await launchctl("enable");
  assertEquals((await launchctl("bootout")).code, 0);
  assertEquals((await launchctl("kickstart")).code, 113);
});

Deno.test("launchctl stand-in has bad days", async () => {
  await using home = new Home();
  const launchctl = await loaded(home, "exit 3");
  home.launchd.badDay("example", "error", "37");
  assertEquals((await launchctl("kickstart")).code, 37);
  home.launchd.badDay("example", "spawn-scheduled");
  assertEquals((await launchctl("kickstart")).code, 0);
  await printed(launchctl, /^\tstate = spawn scheduled$/m);
  home.launchd.badDay("example", "twice");
  home.launchd.goodDay("example", "spawn-scheduled");
  await printed(launchctl, /^\truns = 2\n\tlast exit code = 3$/m);
  home.launchd.badDay("example", "vanishes");
  assertEquals((await launchctl("kickstart")).code, 0);
  assertEquals((await launchctl("print")).code, 113);
});
