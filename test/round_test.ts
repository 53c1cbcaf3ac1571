import { assert, assertEquals, assertMatch } from "@std/assert";
import { run } from "../lib/catchup.ts";
import { readBooks } from "../lib/state.ts";
import { Stage } from "./catchup_stage.ts";

const OPTIONS = { dryRun: false, noProbe: true, window: null };

/** Does something once, when the job ends. */
function atEndOf(stage: Stage, label: string, act: () => void): void {
  const job = stage.launchd.jobs.get(label);
  assert(job);
  const { work } = job;
  job.work = () => {
    act();
    return work();
  };
}

Deno.test("Round ends at the first new limit, and says how much is left", async () => {
  using stage = new Stage();
  stage.job("a", { end: "limit" });
  stage.job("b");
  stage.job("c");
  const world = stage.world();
  const { kick } = world;
  world.kick = async (...args) => {
    const end = await kick(...args);
    await stage.openCircuit(3600);
    return end;
  };
  const result = await run(world, OPTIONS);
  assertEquals([result.kicked, result.failed, result.exit], [1, 0, 75]);
  assertEquals(stage.launchd.starts, ["a"]);
  assertEquals(
    stage.told.at(-1),
    "the circuit has opened again; 2 left for later",
  );
});

Deno.test("Round exits with 75 where its last job met the limit", async () => {
  using stage = new Stage();
  stage.job("a", { end: "limit" });
  const world = stage.world();
  const { kick } = world;
  world.kick = async (...args) => {
    const end = await kick(...args);
    await stage.openCircuit(3600);
    return end;
  };
  assertEquals((await run(world, OPTIONS)).exit, 75);
});

Deno.test("Round kicks what is skipped again under its new time stamp, three times a day", async () => {
  using stage = new Stage();
  stage.job("a", { end: "limit" });
  for (let round = 0; round < 6; round++) {
    await stage.run({ noProbe: true });
    stage.host.advance(1800);
  }
  assertEquals(stage.launchd.starts, ["a", "a", "a"]);
  assertMatch(stage.told.at(-1) ?? "", /kicked 3 times today already/);
  assertEquals(new Set(stage.notes.map((note) => note.skip_ts)).size, 3);
  // The next day counts anew, if the skip is of that day.
  stage.host.set("2026-12-01T12:04:00+09:00");
  Deno.writeTextFileSync(stage.log("a"), stage.skip("a") + "\n");
  await stage.run({ noProbe: true });
  assertEquals(stage.launchd.starts.length, 4);
});

Deno.test("Round exits with 1 where a job fails, and goes on with the next", async () => {
  using stage = new Stage();
  stage.job("a", { end: "failed" });
  stage.job("b");
  const result = await stage.run();
  assertEquals([result.kicked, result.failed, result.exit], [2, 1, 1]);
  assertEquals(stage.notes.map(({ outcome, exit }) => [outcome, exit]), [
    ["ran, exit 3", 3],
    ["ran, exit 0", 0],
  ]);
});

Deno.test("Round notes label, skip, kick, length, outcome and exit code", async () => {
  using stage = new Stage();
  stage.job("a", { takes: 100 });
  const kickedAt = stage.before(0);
  await stage.run({ noProbe: true });
  const [note] = stage.notes;
  assert(
    note && note.seconds >= 100 && note.seconds <= 103,
    `${note?.seconds}`,
  );
  assertEquals({ ...note, seconds: 0 }, {
    label: "a",
    skip_ts: kickedAt - 4 * 3600,
    kicked_at: kickedAt,
    seconds: 0,
    outcome: "ran, exit 0",
    exit: 0,
  });
});

Deno.test("Round shows n of m, the job and its time while it runs", async () => {
  using stage = new Stage();
  stage.job("a", { takes: 100 });
  stage.job("b");
  await stage.run({ noProbe: true });
  assertEquals(stage.shown[0], "1 of 2 a, 0 s");
  assertMatch(
    stage.shown.findLast((line) => line?.includes(" a,")) ?? "",
    /^1 of 2 a, 1 min (3|4)\d s$/,
  );
  assert(stage.shown.includes("2 of 2 b, 0 s"));
  assertEquals(stage.shown.at(-1), null);
});

Deno.test("Round leaves a job that was made up, started or skipped anew meanwhile", async () => {
  using stage = new Stage();
  for (const label of ["a", "b", "c", "d", "e"]) stage.job(label);
  const append = (label: string, line: string): void =>
    Deno.writeTextFileSync(stage.log(label), line + "\n", { append: true });
  atEndOf(stage, "a", () => {
    append("b", stage.ran("b"));
    const c = stage.launchd.jobs.get("c");
    if (c) c.runs++;
    const d = stage.launchd.jobs.get("d");
    if (d) d.takes = 9000;
    stage.launchd.start("d");
    // Skipped anew: still owed, under the new skip.
    append("e", stage.skip("e", stage.before(1)));
  });
  await stage.run({ noProbe: true });
  assertEquals(stage.launchd.starts, ["a", "d", "e"]);
  const said = (label: string): string =>
    stage.told.find((line) => line.startsWith(`${label}:`)) ?? "";
  assertMatch(said("b"), /^b: ran 12:04, exit 0; not kicked$/);
  assertMatch(said("c"), /launchd has started it meanwhile; not kicked$/);
  assertMatch(said("d"), /running already \(running\); not kicked$/);
});

Deno.test("Round leaves a job that expired or whose slot came near meanwhile", async () => {
  using stage = new Stage();
  stage.job("a", { takes: 1200 });
  stage.job("b", { flags: ["--expires", "4h10m"] });
  stage.job("c", {
    keys: {
      StartCalendarInterval: [{ Hour: 8, Minute: 0 }, { Hour: 12, Minute: 40 }],
    },
  });
  await stage.run({ noProbe: true });
  assertEquals(stage.launchd.starts, ["a"]);
  assertMatch(stage.told.at(-2) ?? "", /^b: expired 12:14/);
  assertMatch(stage.told.at(-1) ?? "", /^c: its 12:40 slot will make it up/);
});

Deno.test("Round minds the slots that launchd holds, not only those in the file", async () => {
  using stage = new Stage();
  stage.job("a");
  const job = stage.launchd.jobs.get("a");
  assert(job);
  job.calendar = [{ Hour: 12, Minute: 30 }];
  const result = await stage.run({ noProbe: true });
  assertEquals(stage.launchd.starts, []);
  assertMatch(result.agents[0]?.why ?? "", /its 12:30 slot will make it up/);
});

Deno.test("Round does not forget at midnight what it began with", async () => {
  using stage = new Stage("2026-11-30T23:20:00+09:00");
  stage.job("a", { takes: 2600 });
  stage.job("b");
  await stage.run({ noProbe: true });
  assertEquals(stage.launchd.starts, ["a", "b"]);
});

Deno.test("Round lets launchd go first after a sleep", async () => {
  using stage = new Stage();
  stage.job("a");
  stage.job("b");
  atEndOf(stage, "a", () => stage.host.suspend(7200));
  stage.host.onSleep = () => {
    // launchd makes up a slot of b half a minute after the wake.
    const wake = stage.host.slept.indexOf(60);
    if (wake >= 0 && stage.host.slept.length === wake + 1) {
      stage.launchd.start("b");
      stage.host.advance(1);
      stage.launchd.settle();
    }
  };
  await stage.run({ noProbe: true });
  assertEquals(stage.launchd.starts, ["a", "b"]);
  assertMatch(stage.told.at(-1) ?? "", /^b: ran .*; not kicked$/);
});

Deno.test("Round does not wait where nobody slept", async () => {
  using stage = new Stage();
  stage.job("a", { takes: 2000 });
  stage.job("b");
  atEndOf(stage, "a", () => stage.host.suspend(30));
  await stage.run({ noProbe: true });
  assertEquals(stage.host.slept.includes(60), false);
});

Deno.test("Round lets launchd go first where a slot was slept through since the last one", async () => {
  for (
    const [lastRound, waits] of [["11:20", true], ["11:50", false]] as const
  ) {
    using stage = new Stage();
    const slots = [{ Hour: 8, Minute: 0 }, { Hour: 11, Minute: 30 }];
    stage.job("a", { keys: { StartCalendarInterval: slots } });
    const ts = Temporal.Instant.from(`2026-11-30T${lastRound}:00+09:00`)
      .epochMilliseconds / 1000;
    await stage.set(({ books }) => ({
      books: { ...books, heartbeats: new Map([["catchup", ts]]) },
      result: null,
    }));
    await stage.run({ noProbe: true });
    assertEquals(stage.host.slept.includes(60), waits, lastRound);
    assertEquals(stage.launchd.starts, ["a"]);
  }
});

Deno.test("Round told to end makes no new kick, and the next one waits for what it left", async () => {
  using stage = new Stage();
  stage.job("a", { takes: 500 });
  stage.job("b");
  stage.host.onSleep = () => {
    if (stage.host.slept.length === 5) stage.stop.abort(143);
  };
  const result = await stage.run({ noProbe: true });
  assertEquals([result.exit, result.kicked], [143, 1]);
  assertEquals(stage.launchd.starts, ["a"]);
  assertEquals(stage.launchd.jobs.get("a")?.lastExit, null);
  assertEquals(stage.told.slice(-2), [
    "a: goes on without the catch-up",
    "told to end; what is owed waits",
  ]);
  stage.stop = new AbortController();
  const next = await stage.run({ noProbe: true });
  assertEquals([next.exit, next.kicked], [0, 1]);
  assertEquals(stage.launchd.starts, ["a", "b"]);
  assertEquals(stage.launchd.most, 1);
  assertMatch(
    stage.told.at(-4) ?? "",
    /^a: still runs, kicked 12:04; waited for/,
  );
  assertEquals((await stage.run({ noProbe: true })).candidates, []);
});

Deno.test("run() told to end while it looks around ends at once", async () => {
  using stage = new Stage();
  stage.job("a");
  stage.job("b");
  stage.launchd.answer = ([verb]) => {
    if (verb === "print") stage.stop.abort(129);
    return null;
  };
  assertEquals((await stage.run({ noProbe: true })).exit, 129);
  assertEquals(stage.launchd.calls.length, 2);
});

Deno.test("Round told to end during the probe kicks nothing", async () => {
  for (const ok of [true, false]) {
    using stage = new Stage();
    stage.job("a");
    stage.probe = () => {
      stage.stop.abort(130);
      return Promise.resolve(ok);
    };
    assertEquals((await stage.run()).exit, 130);
    assertEquals(stage.launchd.calls.some((c) => c.startsWith("kick")), false);
  }
});

Deno.test("Round does not wait for what was left running where nothing else is owed", async () => {
  using stage = new Stage();
  stage.job("a", { takes: 500 });
  stage.host.onSleep = () => stage.stop.abort(143);
  await stage.run({ noProbe: true });
  stage.stop = new AbortController();
  const { slept } = stage.host;
  const before = slept.length;
  assertEquals((await stage.run({ noProbe: true })).exit, 0);
  assertEquals(slept.length, before);
  assertMatch(stage.told.at(-1) ?? "", /^a: running already/);
});

Deno.test("Round exits with 1 where a job failed before the circuit opened again", async () => {
  using stage = new Stage();
  stage.job("a", { end: "failed" });
  stage.job("b");
  const world = stage.world();
  const { kick } = world;
  world.kick = async (...args) => {
    const end = await kick(...args);
    await stage.openCircuit(3600);
    return end;
  };
  assertEquals((await run(world, OPTIONS)).exit, 1);
  assertEquals(stage.launchd.starts, ["a"]);
});

Deno.test("Round ends where a job cannot be stopped, and the next one waits for it", async () => {
  using stage = new Stage();
  stage.job("a", { takes: 1e6 });
  stage.job("b");
  const job = stage.launchd.jobs.get("a");
  assert(job);
  job.stubborn = job.immortal = true;
  const result = await stage.run({ noProbe: true });
  assertEquals([result.failed, result.exit], [1, 1]);
  assertEquals(stage.launchd.starts, ["a"]);
  assertEquals(stage.told.at(-1), "the round ends: nothing may run beside a");
  assertEquals((await stage.run({ noProbe: true })).kicked, 0);
  assertEquals(stage.launchd.starts, ["a"]);
  job.immortal = false;
  await stage.run({ noProbe: true });
  assertEquals(stage.launchd.starts, ["a", "b"]);
});

Deno.test("Round undoes its record where launchd refuses, and tries again", async () => {
  using stage = new Stage();
  stage.job("a");
  stage.job("b");
  stage.launchd.answer = ([verb, target]) =>
    verb === "kickstart" && target?.endsWith("/a") ? { code: 139 } : null;
  const result = await stage.run({ noProbe: true });
  assertEquals([result.kicked, result.failed, result.exit], [1, 1, 1]);
  assertEquals(stage.launchd.starts, ["b"]);
  assertMatch(stage.notes[0]?.outcome ?? "", /^not started: .*139/);
  const { kicks } = await readBooks(stage.state, stage.host);
  assertEquals(kicks.has("a"), false);
  stage.launchd.answer = () => null;
  await stage.run({ noProbe: true });
  assertEquals(stage.launchd.starts, ["b", "a"]);
});

Deno.test("Round tries a job that was not seen to start three times a day", async () => {
  using stage = new Stage();
  stage.job("a");
  stage.launchd.answer = ([verb]) => verb === "kickstart" ? {} : null;
  for (let round = 0; round < 5; round++) {
    await stage.run({ noProbe: true });
    stage.host.advance(1800);
  }
  const asked = stage.launchd.calls.filter((c) => c.startsWith("kickstart"));
  assertEquals(asked.length, 3);
  assertMatch(stage.notes[0]?.outcome ?? "", /not seen to start: .* 60 s/);
});

Deno.test("Round makes no kick that it cannot record", async () => {
  using stage = new Stage();
  stage.job("a");
  using lock = Deno.openSync(`${stage.state}/state.json.lock`, {
    create: true,
    write: true,
  });
  lock.lockSync(true);
  const result = await stage.run({ noProbe: true });
  assertEquals([result.kicked, result.failed, result.exit], [0, 1, 1]);
  assertEquals(stage.launchd.starts, []);
  assertMatch(stage.told.at(-1) ?? "", /^a: not kicked: no record .* held by/);
});

Deno.test("Round makes no kick that another catch-up has recorded since", async () => {
  using stage = new Stage();
  stage.job("a");
  const world = stage.world();
  const { run: real } = stage.launchd.launchctl;
  let looks = 0;
  world.launchctl = {
    domain: "gui/501",
    run: async (args, seconds) => {
      const answer = await real(args, seconds);
      // The other one records its kick right after the last look of this one.
      if (args[0] === "print" && ++looks === 2) {
        await stage.set(({ books }) => ({
          books: {
            ...books,
            kicks: new Map([["a", {
              skip_ts: stage.before(4 * 3600),
              at: stage.before(1),
              runs: 0,
              count: 0,
              done: false,
            }]]),
          },
          result: null,
        }));
      }
      return answer;
    },
  };
  const result = await run(world, OPTIONS);
  assertEquals([looks, result.kicked, result.exit], [2, 0, 0]);
  assertEquals(stage.launchd.starts, []);
  assertMatch(stage.told.at(-1) ?? "", /another catch-up has just kicked it/);
  const { kicks } = await readBooks(stage.state, stage.host);
  assertEquals(kicks.get("a")?.at, stage.before(1));
});

Deno.test("Round does not kick again what ran under a kick that was never closed", async () => {
  for (const runs of [1, null]) {
    using stage = new Stage();
    stage.job("a");
    await stage.set(({ books }) => ({
      books: {
        ...books,
        kicks: new Map([["a", {
          skip_ts: stage.before(4 * 3600),
          at: stage.before(3600),
          runs,
          count: 0,
          done: false,
        }]]),
      },
      result: null,
    }));
    // A reboot sets launchd's count back: then nobody knows.
    const result = await stage.run({ noProbe: true });
    assertEquals(stage.launchd.starts, []);
    assertMatch(result.agents[0]?.why ?? "", /how it ended is not known/);
  }
});

Deno.test("Round tells of a job that launchd has dropped", async () => {
  using stage = new Stage();
  stage.job("a");
  stage.launchd.answer = ([verb]) => {
    if (verb !== "kickstart") return null;
    stage.launchd.jobs.delete("a");
    return {};
  };
  const result = await stage.run({ noProbe: true });
  assertEquals([result.failed, result.exit], [1, 1]);
  assertMatch(stage.notes[0]?.outcome ?? "", /does not know it any more/);
});

Deno.test("Round takes a clock that steps back for no news", async () => {
  using stage = new Stage();
  stage.job("a");
  atEndOf(stage, "a", () => stage.host.set("2026-11-30T11:00:00+09:00"));
  const result = await stage.run({ noProbe: true });
  assertEquals([result.kicked, result.failed], [1, 0]);
  assertEquals(stage.notes[0]?.outcome, "ran, exit 0");
  assertEquals((await stage.run({ noProbe: true })).candidates, []);
});

Deno.test("Round says when a model's limit is the reason to wait", async () => {
  using stage = new Stage();
  const ts = stage.before(4 * 3600);
  stage.job("a");
  await stage.set(({ books }) => ({
    books: {
      ...books,
      jobs: new Map([["a", {
        outcome: "skipped" as const,
        ts,
        exit: 1,
        reason: "quota-during-run",
        ending: "limit",
        calls: 1,
        seconds: 4,
        owed_from: stage.before(-600),
      }]]),
    },
    result: null,
  }));
  const result = await stage.run({ noProbe: true });
  assertEquals(result.agents[0]?.kickable, false);
  assertMatch(result.agents[0]?.why ?? "", /model's limit lasts until 12:14/);
  stage.host.advance(600);
  assertEquals((await stage.run({ noProbe: true })).kicked, 1);
});
