import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "@std/path/join";
import { Stage } from "./catchup_stage.ts";

Deno.test("run() with nothing owed asks neither claude nor launchd", async () => {
  using stage = new Stage();
  stage.job("done", { log: [stage.skip("done"), stage.ran("done")] });
  const result = await stage.run();
  assertEquals([result.candidates, result.kicked, result.failed], [[], 0, 0]);
  assertEquals(stage.probes, []);
  assertEquals(stage.launchd.calls, []);
  assertEquals(stage.told, []);
});

Deno.test("run() as a dry run neither probes nor kicks", async () => {
  using stage = new Stage();
  stage.job("owed");
  const result = await stage.run({ dryRun: true });
  assertEquals(result.candidates, ["owed"]);
  assertEquals(result.agents[0]?.kickable, true);
  assertEquals(stage.probes, []);
  assertEquals(stage.launchd.starts, []);
  assertEquals([...Deno.readDirSync(stage.state)], []);
});

Deno.test("run() probes once and then starts what is owed", async () => {
  using stage = new Stage();
  stage.job("one");
  stage.job("two");
  const result = await stage.run();
  assertEquals(stage.probes.length, 1);
  assertEquals(stage.launchd.starts, ["one", "two"]);
  assertEquals([result.kicked, result.failed, result.exit], [2, 0, 0]);
  assertEquals((await stage.run()).candidates, []);
});

Deno.test("run() starts priority jobs first, then the oldest skip", async () => {
  using stage = new Stage();
  stage.job("a-late", { log: [stage.skip("a-late", stage.before(100))] });
  stage.job("b-early", { log: [stage.skip("b-early", stage.before(9000))] });
  stage.job("c-post", {
    log: [stage.skip("c-post", stage.before(50))],
    flags: ["--priority"],
  });
  const order = ["c-post", "b-early", "a-late"];
  assertEquals((await stage.run()).candidates, order);
  assertEquals(stage.launchd.starts, order);
  assertEquals(stage.launchd.most, 1);
});

Deno.test("run() does without a probe where a call was answered since the circuit closed", async () => {
  for (const [lastOk, probes] of [[-1, 1], [0, 0]] as const) {
    using stage = new Stage();
    stage.job("owed");
    const closed = stage.before(60);
    await stage.set(({ circuit, books }) => ({
      circuit: { ...circuit, closed_at: closed },
      books: { ...books, last_ok: closed + lastOk },
      result: null,
    }));
    await stage.run();
    assertEquals(stage.probes.length, probes, `last_ok ${lastOk}`);
    assertEquals(stage.launchd.starts, ["owed"]);
  }
});

Deno.test("run() starts nothing where the probe meets the limit", async () => {
  using stage = new Stage();
  stage.job("owed");
  stage.probe = async (folder) => {
    await stage.openCircuit(3600, folder);
    return false;
  };
  const result = await stage.run();
  assertEquals(result.exit, 75);
  assertEquals(stage.launchd.starts, []);
  assertEquals(stage.told, [
    "probe: the limit still holds; what is owed waits",
  ]);
});

Deno.test("run() starts nothing where the probe fails for another reason", async () => {
  using stage = new Stage();
  stage.job("owed");
  const world = stage.world();
  world.probe = () => Promise.resolve({ ok: false, words: "auth" });
  const { run } = await import("../lib/catchup.ts");
  const result = await run(world, {
    dryRun: false,
    noProbe: false,
    window: null,
  });
  assertEquals(result.exit, 1);
  assertEquals(stage.launchd.starts, []);
  assertMatch(stage.told[0] ?? "", /not logged in/);
});

Deno.test("run() looks for a job's state in the home that its plist names", async () => {
  using stage = new Stage();
  const EnvironmentVariables = { HOME: join(stage.path, "other home") };
  stage.job("owed", { keys: { EnvironmentVariables } });
  const state = join(EnvironmentVariables.HOME, ".local/state/claude-quota");
  await stage.openCircuit(7200, state);
  assertEquals((await stage.run()).exit, 75);
  assertEquals(stage.launchd.starts, []);
});

Deno.test("run() looks for no other job's state where a second account is looked at", async () => {
  using stage = new Stage();
  stage.job("first");
  const CLAUDE_QUOTA_DIR = stage.state;
  stage.job("second", {
    keys: { EnvironmentVariables: { CLAUDE_QUOTA_DIR } },
  });
  await stage.openCircuit(7200, join(stage.home, ".local/state/claude-quota"));
  assertEquals((await stage.run()).exit, 75);
  assertEquals(stage.launchd.starts, ["second"]);
});

Deno.test("run() with --no-probe asks nobody, but minds the circuit", async () => {
  using stage = new Stage();
  stage.job("owed");
  await stage.openCircuit(7200);
  assertEquals((await stage.run({ noProbe: true })).exit, 75);
  stage.host.advance(7200);
  assertEquals((await stage.run({ noProbe: true })).kicked, 1);
  assertEquals(stage.probes, []);
});

Deno.test("run() spends nothing on a candidate that cannot be kicked, ten rounds in a row", async () => {
  using stage = new Stage();
  const now = stage.before(0);
  stage.job("unloaded", { unloaded: true });
  stage.job("disabled");
  stage.launchd.disabled.set("disabled", true);
  stage.job("expired", { flags: ["--expires", "1h"] });
  stage.job("never", { flags: ["--expires", "0"] });
  stage.job("used-up");
  await stage.set(({ books }) => ({
    books: {
      ...books,
      kicks: new Map([["used-up", {
        skip_ts: now - 9000,
        at: now - 8000,
        runs: 0,
        count: 3,
        done: true,
      }]]),
    },
    result: null,
  }));
  for (let round = 0; round < 10; round++) {
    const result = await stage.run();
    assertEquals(result.candidates.length, 5);
    assertEquals(result.kicked, 0);
    stage.host.advance(60);
  }
  assertEquals(stage.probes, []);
  assertEquals(stage.launchd.starts, []);
  assertEquals(
    stage.told.slice(0, 5).map((line) => line.replace(/[:(].*/, "")).sort(),
    ["disabled", "expired", "never", "unloaded", "used-up"],
  );
});

Deno.test("run() leaves a job to its own slot at 10:30, and kicks it two hours before", async () => {
  const slots = [{ Hour: 8, Minute: 0 }, { Hour: 10, Minute: 30 }];
  for (const [time, kicked] of [["10:25", 0], ["08:40", 1]] as const) {
    using stage = new Stage(`2026-11-30T${time}:00+09:00`);
    const skip = Temporal.Instant.from("2026-11-30T08:00:02+09:00")
      .epochMilliseconds / 1000;
    stage.job("brief", {
      keys: { StartCalendarInterval: slots },
      log: [stage.skip("brief", skip)],
    });
    const result = await stage.run();
    assertEquals(result.candidates, ["brief"]);
    assertEquals(result.kicked, kicked, time);
    const why = result.agents[0]?.why ?? "";
    if (kicked === 0) assertStringIncludes(why, "10:30 slot will make it up");
  }
});

Deno.test("run() works account by account, each by its own circuit and environment", async () => {
  using stage = new Stage();
  const second = join(stage.path, "second");
  Deno.mkdirSync(second);
  const environment = {
    CLAUDE_QUOTA_DIR: second,
    CLAUDE_CONFIG_DIR: "/second",
  };
  stage.job("first");
  stage.job("other", { keys: { EnvironmentVariables: environment } });
  await stage.openCircuit(3600);
  const result = await stage.run();
  assertEquals(stage.launchd.starts, ["other"]);
  assertEquals(stage.probes, [[second, environment, false]]);
  assertEquals(result.exit, 75);
});

Deno.test("run() asks by itself where nobody has probed an open circuit for two intervals", async () => {
  using stage = new Stage();
  stage.job("owed");
  await stage.openCircuit(86400);
  stage.host.advance(3599);
  assertEquals((await stage.run()).exit, 75);
  assertEquals(stage.probes, []);
  stage.host.advance(1);
  stage.probe = () => Promise.resolve(false);
  assertEquals((await stage.run()).exit, 75);
  assertEquals(stage.probes.map(([, , holds]) => holds), [true]);
  // Its claim counts for everybody.
  stage.host.advance(3599);
  await stage.run();
  assertEquals(stage.probes.length, 1);
  stage.host.advance(1);
  stage.probe = async () => {
    await stage.openCircuit(0);
    return true;
  };
  assertEquals((await stage.run()).kicked, 1);
});

Deno.test("run() does not probe a hold by hand", async () => {
  using stage = new Stage();
  stage.job("owed");
  await stage.set(({ circuit }) => ({
    circuit: {
      ...circuit,
      open_until: stage.host.now() + 9e4,
      hold: stage.host.now() + 9e4,
    },
    result: null,
  }));
  stage.host.advance(8000);
  assertEquals((await stage.run()).exit, 75);
  assertEquals(stage.probes, []);
  assertMatch(stage.told.at(-1) ?? "", /held open by hand until/);
  // A limit that a priority job met meanwhile lasts longer.
  await stage.set(({ circuit }) => ({
    circuit: { ...circuit, open_until: circuit.hold + 60 },
    result: null,
  }));
  await stage.run();
  assertMatch(stage.told.at(-1) ?? "", /the circuit is open until/);
});

Deno.test("run() tells of plists that share a label, and kicks the one in force only", async () => {
  using stage = new Stage();
  stage.job("a");
  const other = stage.plist("b", [], { Label: "a" });
  const result = await stage.run({ dryRun: true });
  const [a, b] = result.agents;
  assertEquals([a?.kickable, b?.kickable], [true, false]);
  assertMatch(a?.why ?? "", /label is that of ".*b.plist" too/);
  const job = stage.launchd.jobs.get("a");
  if (job) job.path = other;
  const now = await stage.run();
  assertEquals(now.kicked, 0);
  assertMatch(
    now.agents[0]?.why ?? "",
    /launchd has the job of this label from ".*b.plist"/,
  );
});

Deno.test("run() kicks once where two jobs share the label in their markers", async () => {
  using stage = new Stage();
  stage.job("a");
  stage.job("b", {
    keys: {
      ProgramArguments: ["quota_guard.js", "--job", "a", "--", "/bin/true"],
      StandardErrorPath: stage.log("a"),
    },
  });
  const result = await stage.run();
  assertEquals(stage.launchd.starts, ["a"]);
  assertMatch(result.agents[1]?.why ?? "", /shares the job label of a/);
  stage.host.advance(1800);
  await stage.run();
  assertEquals(stage.launchd.starts, ["a"]);
});

Deno.test("run() lists every plist with the reason in words", async () => {
  using stage = new Stage();
  stage.job("owed");
  stage.plist("other", [], { ProgramArguments: ["/bin/true"] });
  Deno.writeTextFileSync(join(stage.agents, "torn.plist"), "<plist><dict>");
  Deno.mkdirSync(join(stage.agents, "folder.plist"));
  const { agents } = await stage.run({ dryRun: true });
  const why = Object.fromEntries(agents.map((one) => [one.label, one.why]));
  assertEquals(Object.keys(why), ["folder", "other", "owed", "torn"]);
  assertMatch(why.folder ?? "", /cannot be read: .*not a regular file/);
  assertMatch(why.torn ?? "", /^cannot be read: /);
  assertEquals(why.other, "not started through quota_guard");
  assertEquals(why.owed, "skipped 08:04 (quota)");
});

Deno.test("run() explains where there is no launchctl and no folder", async () => {
  using stage = new Stage();
  stage.job("owed");
  const { run } = await import("../lib/catchup.ts");
  const options = { dryRun: false, noProbe: false, window: null };
  const world = { ...stage.world(), launchctl: null };
  const result = await run(world, options);
  assertMatch(result.agents[0]?.why ?? "", /no launchctl here/);
  assertEquals(stage.probes, []);
  await run({ ...world, agentsFolder: "/nowhere" }, options);
  assertEquals(stage.told.at(-1), 'no LaunchAgents in "/nowhere"');
});

Deno.test("run() leaves the time of each round, and says it nowhere else", async () => {
  using stage = new Stage();
  await stage.run();
  const { readBooks } = await import("../lib/state.ts");
  const books = await readBooks(stage.state, stage.host);
  assertEquals(books.heartbeats.get("catchup"), stage.before(0));
  assertEquals(stage.notes, []);
});
