import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path/join";
import { CatchupHome } from "./catchup_home.ts";
import { executable, textOf } from "./files.ts";
import { withoutClaude } from "./guard_steps.ts";
import { Home, runCatchup, runGuard, until } from "./harness.ts";

const LABELS = ["com.me.a", "com.me.b", "com.me.c", "com.me.d", "com.me.e"];

/** What a round said, without its times. */
function said(stdout: string): string[] {
  return stdout.trimEnd().split("\n").map((line) =>
    line.replace(/^\S+ /, "").replace(/, \d+ s$/, "")
  );
}

Deno.test("quota_catchup killed with SIGKILL again and again starts each of five jobs once", async () => {
  await using home = new CatchupHome();
  for (const label of LABELS) await home.job(label, "sleep 0.2");
  // In front of launchctl: kills the catch-up before or after its n-th call.
  const real = join(home.bin, "launchctl.real");
  Deno.renameSync(join(home.bin, "launchctl"), real);
  const plan = join(home.path, "plan");
  const counter = join(home.path, "calls");
  executable(
    join(home.bin, "launchctl"),
    `n=$(($(cat '${counter}') + 1)); echo $n > '${counter}'
read -r at when < '${plan}'
[ $n-$when != $at-before ] || kill -9 $PPID
'${real}' "$@"; code=$?
[ $n-$when != $at-after ] || kill -9 $PPID
exit $code`,
  );
  let killed = 0;
  for (let n = 1;; n++) {
    Deno.writeTextFileSync(counter, "0");
    Deno.writeTextFileSync(plan, `${n} ${n % 2 ? "before" : "after"}\n`);
    const { code, signal, stderr } = await home.catchUp();
    if (signal === null) {
      assertEquals([code, stderr], [0, ""]);
      break;
    }
    assertEquals(signal, "SIGKILL");
    killed++;
  }
  assert(killed >= 5, `killed ${killed} times only`);
  for (const label of LABELS) {
    assertEquals(home.starts(label), 1, `${label}, killed ${killed} times`);
    assertMatch(textOf(home.log(label)), /_RAN .*\n$/);
  }
  const last = await home.catchUp(["--json"]);
  assertEquals(JSON.parse(last.stdout).candidates, []);
});

Deno.test("quota_catchup at work keeps a second one from it", async () => {
  await using home = new CatchupHome();
  await home.job("com.me.long", `sleep 600`);
  const first = home.start([...home.words("quota_catchup"), "--no-probe"]);
  await until(() => home.starts("com.me.long") === 1, "the job runs");
  const second = await home.catchUp();
  assertEquals([second.code, second.stderr], [0, ""]);
  assertEquals(said(second.stdout), ["another catch-up is at work"]);
  const json = await home.catchUp(["--json"]);
  assertEquals([json.code, JSON.parse(json.stdout).kicked], [0, 0]);
  const dry = await home.catchUp(["--dry-run"]);
  assertMatch(dry.stdout, /com\.me\.long .* wait .*running already/);
  // Told to end, it leaves the job alone.
  first.kill("SIGTERM");
  const { code, stdout } = await first.output();
  assertEquals(code, 143);
  assertEquals(said(new TextDecoder().decode(stdout)).slice(-2), [
    "com.me.long: goes on without the catch-up",
    "told to end; what is owed waits",
  ]);
  assertMatch(
    await home.launchctl("print", `gui/${Deno.uid()}/com.me.long`),
    /^\tstate = running$/m,
  );
});

Deno.test("quota_catchup stops a job that ignores SIGTERM, with its group, and leaves who left the group", async () => {
  await using home = new CatchupHome();
  const pids = join(home.path, "pids");
  await home.job(
    "com.me.stubborn",
    `trap '' TERM
    setsid sh -c 'echo $$ > "${pids}.left"; exec sleep 600' &
    sh -c 'trap "" TERM; echo $$ > "${pids}.stays"; while :; do sleep 1; done' &
    while :; do sleep 1; done`,
  );
  await home.job("com.me.next", "true");
  home.kickstartWaitsFor(`${pids}.left`, `${pids}.stays`);
  const { code, stdout } = await home.catchUp([
    "--timeout",
    "1",
    "--grace",
    "3",
  ]);
  assertEquals(code, 1);
  const lines = said(stdout);
  assertMatch(
    lines[3] ?? "",
    /^com\.me\.stubborn: stopped, it took too long; killed \d+ of its children as well$/,
  );
  const alive = (name: string): boolean => {
    try {
      Deno.kill(Number(textOf(`${pids}.${name}`)), "SIGCONT");
      return true;
    } catch {
      return false;
    }
  };
  await until(() => !alive("stays"), "the child of its group is gone");
  assertEquals(alive("left"), true);
  const left = Number(textOf(`${pids}.left`));
  assert(left > 0); // 0 is the tests' own group
  Deno.kill(left, "SIGKILL");
  assertEquals(home.starts("com.me.next"), 1);
  const notes = textOf(join(home.state, "catchup.log")).trimEnd().split("\n")
    .map((line) => JSON.parse(line));
  assertEquals(notes.map((note) => [note.label, note.skip_ts]), [
    ["com.me.next", home.skipTs],
    ["com.me.stubborn", home.skipTs],
  ]);
});

Deno.test("quota_catchup judges and probes two accounts each in its own environment", async () => {
  await using home = new CatchupHome();
  const second = join(home.path, "second");
  const account = (folder: string, config: string): Record<string, string> => ({
    HOME: home.path,
    PATH: home.env.PATH ?? "",
    CLAUDE_QUOTA_DIR: folder,
    CLAUDE_CONFIG_DIR: config,
  });
  await home.job("com.me.first", "true", {
    EnvironmentVariables: account(home.state, "/first"),
  });
  await home.job("com.me.second", "true", {
    EnvironmentVariables: account(second, "/second"),
  });
  const env = { ANTHROPIC_API_KEY: "of the terminal" };
  await runGuard(home, ["--open"]);
  const held = await runCatchup(home, [], { env });
  assertEquals(held.code, 75, held.stdout + held.stderr);
  assertEquals([home.starts("com.me.first"), home.starts("com.me.second")], [
    0,
    1,
  ]);
  await runGuard(home, ["--close"]);
  const free = await runCatchup(home, [], { env });
  assertEquals(free.code, 0, free.stdout + free.stderr);
  assertEquals(home.starts("com.me.first"), 1);
  const calls = home.claude.calls();
  assertEquals(calls.map((call) => call.env.CLAUDE_CONFIG_DIR), [
    "/second",
    "/first",
  ]);
  assertEquals(calls.map((call) => call.env.ANTHROPIC_API_KEY), [
    undefined,
    undefined,
  ]);
  const lines = (await runGuard(home, ["--status"])).stdout;
  assertMatch(lines, /^Catch-up: came by \d\d:\d\d$/m);
  const status = await runGuard(home, ["--status", "--json"]);
  assert(JSON.parse(status.stdout).last_catchup >= home.skipTs + 3600);
});

Deno.test("quota_catchup says what to look at where its probe made no call", async () => {
  await using home = new CatchupHome();
  await home.job("com.me.a", "true");
  const mistaken = await runCatchup(home, [], {
    env: { CLAUDE_QUOTA_PROBE_ARGS: "--version" },
  });
  assertEquals(said(mistaken.stdout), [
    "probe: no call was made; CLAUDE_QUOTA_PROBE_ARGS has to make one, as with -p; what is owed waits",
  ]);
  assertEquals(mistaken.code, 1);
  assertEquals(home.starts("com.me.a"), 0);
});

Deno.test(
  "quota_catchup says that there is no claude to probe",
  withoutClaude,
  async () => {
    await using home = new CatchupHome();
    await home.job("com.me.a", "true");
    Deno.removeSync(join(home.bin, "claude"));
    const gone = await runCatchup(home, []);
    assertEquals(said(gone.stdout), [
      "probe: no call was made, exit 127: see what is said above, or ask --doctor; what is owed waits",
    ]);
    assertMatch(gone.stderr, /^quota_guard: no claude found/);
    assertEquals(gone.code, 1);
    assertEquals(home.starts("com.me.a"), 0);
  },
);

Deno.test("quota_catchup says where the session is gone, and kicks nothing", async () => {
  await using home = new CatchupHome();
  await home.job("com.me.a", "true");
  for (const code of ["112", "125"]) {
    Deno.writeTextFileSync(join(home.launchd.folder, "domain"), code);
    const round = await home.catchUp();
    assertEquals(round.code, 0);
    assertMatch(round.stdout, /com\.me\.a: cannot tell: no graphical session/);
  }
  Deno.removeSync(join(home.launchd.folder, "domain"));
  for (const age of ["new", "old"]) {
    if (age === "old") {
      Deno.writeTextFileSync(join(home.launchd.folder, "old"), "");
    }
    await home.launchctl("bootout", `gui/${Deno.uid()}/com.me.a`);
    const round = await home.catchUp();
    assertMatch(
      round.stdout,
      /com\.me\.a: not loaded: run launchctl bootstrap/,
    );
    await home.launchctl(
      "bootstrap",
      `gui/${Deno.uid()}`,
      join(home.agents, "com.me.a.plist"),
    );
  }
  assertEquals(home.starts("com.me.a"), 0);
});

Deno.test("quota_catchup refuses a folder of agents that is not there, and knows itself", async () => {
  await using home = new Home();
  for (const mode of [[], ["--doctor"]]) {
    const missing = await runCatchup(home, [...mode, "--agents", "/nosuch"]);
    assertEquals(missing.code, 2);
    assertMatch(missing.stderr, /--agents: "\/nosuch" is no folder/);
  }
  home.plist("own", { ProgramArguments: ["/x/quota_catchup.js"] });
  const { stdout } = await runCatchup(home, ["--dry-run", "--all"]);
  assertMatch(stdout, /^own .* the catch-up itself$/m);
});
