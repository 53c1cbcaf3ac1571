import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { join } from "@std/path/join";
import { textOf } from "./files.ts";
import {
  books,
  circuit,
  isOpen,
  markers,
  newest,
  now,
  openCircuit,
  outcome,
  runJob,
} from "./guard_steps.ts";
import { Home, runGuard, together, until } from "./harness.ts";

const priority = { flags: ["--priority"] };
const probing =
  "CLAUDE_QUOTA_JOB_PRIORITY_PROBE job=post reason=quota remaining=Ns ts=T";
const passing = "CLAUDE_QUOTA_PRIORITY_PROBE_PASS reason=quota remaining=Ns";

Deno.test("of 30 priority jobs that start at once exactly one gets the probe", async () => {
  await using home = new Home();
  openCircuit(home);
  const ran = join(home.path, "ran");
  const runs = Array.from(
    { length: 30 },
    (_, i) => runJob(home, `job-${i}`, `echo >> '${ran}'`, priority),
  );
  let unbooked = 0;
  const told = (await together(runs)).flatMap(({ code, stderr }) => {
    assertEquals(code, 0);
    // One that got no lock for the probe waits for no other.
    if (/not on the books|: no probe: /.test(stderr)) unbooked++;
    return markers(stderr);
  });
  const count = (kind: string): number =>
    told.filter((line) => line.startsWith(`CLAUDE_QUOTA_JOB_${kind} `)).length;
  assertEquals([count("PRIORITY_PROBE"), count("SKIPPED")], [1, 29]);
  assertEquals(textOf(ran), "\n");
  // A busy machine may keep a skip off the books, but never in silence.
  const booked = Object.keys(books(home).jobs ?? {}).length;
  assertEquals(booked + unbooked, 30);
});

Deno.test("a probe comes once an interval, 1800 s later again, and never with 0", async () => {
  await using home = new Home();
  const run = async (
    last: number,
    interval?: string,
  ): Promise<string | undefined> => {
    openCircuit(home, { last_priority_probe: last });
    const { stderr } = await runJob(home, "post", "true", {
      ...priority,
      env: interval === undefined
        ? {}
        : { CLAUDE_QUOTA_PRIORITY_PROBE_INTERVAL: interval },
    });
    return newest(stderr, "post");
  };
  const second = Math.floor(now());
  assertEquals(await run(second - 1700), "SKIPPED quota");
  assertEquals(await run(second - 1800), "RAN");
  assertEquals(await run(second + 4), "SKIPPED quota");
  assertEquals(await run(second + 4000), "RAN");
  assertEquals(await run(second - 60, "30"), "RAN");
  assertEquals(await run(0, "0"), "SKIPPED quota");
  assertEquals(await run(0, "-1"), "SKIPPED quota");
  assertEquals(await run(second - 60, "soon"), "SKIPPED quota");
});

Deno.test("a probe that is answered closes the circuit", async () => {
  await using home = new Home();
  openCircuit(home);
  const { code, stdout, stderr } = await runJob(
    home,
    "post",
    "claude -p 1 && claude -p 2",
    priority,
  );
  assertEquals([code, stdout], [0, "hello\nhello\n"]);
  assertEquals(markers(stderr), [
    probing,
    passing,
    "CLAUDE_QUOTA_JOB_RAN job=post exit=0 ts=T",
  ]);
  assert(!isOpen(home));
  const closed = Number(circuit(home).closed_at);
  assert(closed > now() - 30 && closed <= now());
  assert(Number(books(home).last_ok) >= closed, "no further probe is needed");
});

Deno.test("a probe that meets a new limit moves the reset either way, and is owed", async () => {
  await using home = new Home();
  const second = Math.floor(now());
  for (const reset of [second + 1000, second + 9000]) {
    openCircuit(home);
    home.claude.script(`limit-stream ${reset}`);
    const { code, stderr } = await runJob(
      home,
      "post",
      "claude -p 1",
      priority,
    );
    assertEquals(code, 1);
    assertEquals(markers(stderr), [
      probing,
      passing,
      "CLAUDE_QUOTA_JOB_SKIPPED job=post reason=priority-probe-quota exit=1 ts=T",
    ]);
    assertEquals(circuit(home).open_until, reset + 60);
    assertEquals(outcome(home, "post"), [
      "skipped",
      1,
      "priority-probe-quota",
      "limit",
      1,
    ]);
  }
});

Deno.test("a probing job's calls pass until one of them meets the limit", async () => {
  await using home = new Home();
  openCircuit(home);
  home.claude.script("failed", "limit", "ok");
  const { stderr } = await runJob(
    home,
    "post",
    "for i in 1 2 3 4; do claude -p $i; echo $?; done; exit 0",
    priority,
  );
  assertEquals(home.claude.calls().map((call) => call.output), [
    "failed",
    "limit",
  ]);
  assertEquals(markers(stderr), [
    probing,
    passing,
    passing,
    "CLAUDE_QUOTA_CIRCUIT_OPEN reason=quota remaining=Ns",
    "CLAUDE_QUOTA_CIRCUIT_OPEN reason=quota remaining=Ns",
    "CLAUDE_QUOTA_JOB_SKIPPED job=post reason=priority-probe-quota exit=0 ts=T",
  ]);
  assertEquals(outcome(home, "post").at(-1), 4);
});

Deno.test("claude --version in a probing job neither closes nor counts", async () => {
  await using home = new Home();
  openCircuit(home);
  const { stdout, stderr } = await runJob(
    home,
    "post",
    "claude --version; claude mcp list; exit 1",
    priority,
  );
  assertStringIncludes(stdout, "(Claude Code)");
  assert(isOpen(home));
  assertEquals(outcome(home, "post").at(-1), 0);
  // No call, failed, still open: owed, as in the original.
  assertEquals(newest(stderr, "post"), "SKIPPED priority-probe-quota");
});

Deno.test("a call that began before the circuit opened and is answered afterwards does not close it", async () => {
  await using home = new Home();
  home.claude.script("echo", `limit ${Math.floor(now()) + 5000}`);
  const early = home.start(
    [...home.words("quota_guard"), "--claude", "--", "-p", "slow"],
    { stdin: "" },
  );
  await until(() => home.claude.calls().length === 1, "the call has begun");
  await runGuard(home, ["-p", "hi"]);
  assert(isOpen(home));
  const opened = circuit(home);
  const writer = early.stdin.getWriter();
  await writer.write(new TextEncoder().encode("an answer"));
  await writer.close();
  const { code, stdout } = await early.output();
  assertEquals([code, new TextDecoder().decode(stdout)], [0, "an answer"]);
  assertEquals(circuit(home), opened);
});

Deno.test("a call that began before the circuit opened extends it, never shortens it", async () => {
  await using home = new Home();
  const second = Math.floor(now());
  const until1 = async (reset: number): Promise<number> => {
    // The first call waits for its input while a second one opens the circuit.
    Deno.removeSync(home.state, { recursive: true });
    const late = join(home.path, "late");
    Deno.writeTextFileSync(late, limitRow(reset));
    home.claude.script("echo-text", `limit-stream ${second + 5000}`);
    const early = home.start(
      [...home.words("quota_guard"), "--claude", "--", "-p", "slow"],
      { stdin: "" },
    );
    await until(() => home.claude.calls().length === 1, "the call has begun");
    await runGuard(home, ["-p", "hi"]);
    assertEquals(circuit(home).open_until, second + 5060);
    const writer = early.stdin.getWriter();
    await writer.write(Deno.readFileSync(late));
    await writer.close();
    await early.output();
    return Number(circuit(home).open_until);
  };
  Deno.mkdirSync(home.state);
  assertEquals(await until1(second + 1000), second + 5060);
  assertEquals(await until1(second + 9000), second + 9060);
});

/** The rows of a stream that end in a limit. */
function limitRow(reset: number): string {
  return [
    { type: "system", subtype: "init", session_id: "x" },
    {
      type: "rate_limit_event",
      rate_limit_info: {
        status: "rejected",
        resetsAt: reset,
        rateLimitType: "five_hour",
      },
    },
    {
      type: "result",
      subtype: "success",
      is_error: true,
      api_error_status: 429,
      result: "You've hit your 5-hour limit",
      session_id: "x",
    },
  ].map((row) => JSON.stringify(row) + "\n").join("");
}

Deno.test("what carries the flag or the id of a run that has ended is refused", async () => {
  await using home = new Home();
  openCircuit(home);
  const { stdout } = await runJob(
    home,
    "post",
    "env | grep ^CLAUDE_QUOTA",
    priority,
  );
  const env = Object.fromEntries(
    stdout.trim().split("\n").map((line) => line.split(/=(.*)/s)),
  );
  assertEquals(env.CLAUDE_QUOTA_PRIORITY_PROBE, "1");
  const late = await runGuard(home, ["-p", "hi"], { env });
  assertEquals(late.code, 75);
  const made = await runGuard(home, ["-p", "hi"], {
    env: { CLAUDE_QUOTA_PRIORITY_PROBE: "1" },
  });
  assertEquals(made.code, 75);
  assertEquals(home.claude.calls(), []);
});

Deno.test("a hold by hand stands until its time or --close, whatever a probe says", async () => {
  await using home = new Home();
  const held = await runGuard(
    home,
    ["--open", "--until", "+1h", "--reason", "moving house"],
  );
  assertEquals(held.code, 0);
  const { stderr } = await runJob(home, "post", "claude -p 1", priority);
  assertEquals(
    markers(stderr).at(-1),
    "CLAUDE_QUOTA_JOB_RAN job=post exit=0 ts=T",
  );
  assertStringIncludes(stderr, "reason=moving_house ");
  assert(isOpen(home));
  assertEquals(
    (await runJob(home, "mail", "true")).stderr.includes("SKIPPED"),
    true,
  );
  assertEquals((await runGuard(home, ["--close"])).code, 0);
  assert(!isOpen(home));
  assertEquals(
    newest((await runJob(home, "mail", "true")).stderr, "mail"),
    "RAN",
  );
});

Deno.test("a job whose calls cannot be watched is no probe", async () => {
  await using home = new Home();
  openCircuit(home);
  Deno.writeTextFileSync(join(home.state, "runs"), "");
  const { code, stderr } = await runJob(home, "mail", "claude -p hi; exit 1", {
    flags: ["--priority"],
  });
  assertEquals(code, 0);
  assertEquals(newest(stderr, "mail"), "SKIPPED quota");
  assertMatch(stderr, /the calls of a probe cannot be watched: .*; see to "/);
  assertEquals(home.claude.calls(), []);
  assertEquals(outcome(home, "mail")[0], "skipped");
});
