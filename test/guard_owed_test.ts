import { assert, assertEquals } from "@std/assert";
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
import { Home, runGuard, until } from "./harness.ts";

Deno.test("a job that meets the limit opens the circuit and is owed, whatever its exit code", async () => {
  await using home = new Home();
  const reset = Math.floor(now()) + 5000;
  for (const exit of [0, 9]) {
    home.claude.script(`limit-stream ${reset}`);
    const { code, stderr } = await runJob(
      home,
      "mail",
      `claude -p; exit ${exit}`,
    );
    assertEquals(code, exit);
    assertEquals(markers(stderr), [
      `CLAUDE_QUOTA_JOB_SKIPPED job=mail reason=quota-during-run exit=${exit} ts=T`,
    ]);
    const { open_until, reason, window, opened_by } = circuit(home);
    assertEquals([open_until, reason, window], [
      reset + 60,
      "quota",
      "five_hour",
    ]);
    assert(JSON.stringify(opened_by).includes('"job":"mail"'));
    await runGuard(home, ["--close"]);
  }
});

Deno.test("a job that swallows 75 and exits 0 is owed", async () => {
  await using home = new Home();
  const ready = join(home.path, "ready");
  const go = join(home.path, "go");
  const waiting = runJob(
    home,
    "mail",
    `echo > '${ready}'; until [ -e '${go}' ]; do sleep 0.02; done
    claude -p hi; echo "got $?"; exit 0`,
  );
  await until(() => textOf(ready), "the job runs");
  openCircuit(home);
  Deno.writeTextFileSync(go, "");
  const { code, stdout, stderr } = await waiting;
  assertEquals([code, stdout], [0, "got 75\n"]);
  assertEquals(home.claude.calls(), []);
  assertEquals(markers(stderr), [
    "CLAUDE_QUOTA_CIRCUIT_OPEN reason=quota remaining=Ns",
    "CLAUDE_QUOTA_JOB_SKIPPED job=mail reason=quota-during-run exit=0 ts=T",
  ]);
});

Deno.test("a job that fails for its own reasons while another opens the circuit is not owed", async () => {
  await using home = new Home();
  const ready = join(home.path, "ready");
  const go = join(home.path, "go");
  const waiting = runJob(
    home,
    "mail",
    `echo > '${ready}'; until [ -e '${go}' ]; do sleep 0.02; done; exit 1`,
  );
  await until(() => textOf(ready), "the job runs");
  home.claude.script("limit");
  await runJob(home, "news", "claude -p hi");
  assert(isOpen(home));
  Deno.writeTextFileSync(go, "");
  assertEquals(newest((await waiting).stderr, "mail"), "RAN");
  assertEquals(outcome(home, "mail"), ["ran", 1, null, null, 0]);
  assertEquals(outcome(home, "news").slice(0, 3), [
    "skipped",
    1,
    "quota-during-run",
  ]);
});

Deno.test("a job that was answered and then met the limit is owed with --resumable only", async () => {
  await using home = new Home();
  for (
    const [flags, marker] of [
      [[], "RAN job=mail exit=1 end=limit"],
      [["--resumable"], "SKIPPED job=mail reason=quota-during-run exit=1"],
    ] as const
  ) {
    home.claude.script("ok", "limit");
    const { code, stderr } = await runJob(
      home,
      "mail",
      "claude -p 1; claude -p 2",
      { flags: [...flags] },
    );
    assertEquals(code, 1);
    assertEquals(markers(stderr), [`CLAUDE_QUOTA_JOB_${marker} ts=T`]);
    assert(isOpen(home));
    await runGuard(home, ["--close"]);
  }
});

Deno.test("a job with --once is never owed once it has started", async () => {
  await using home = new Home();
  home.claude.script("limit");
  const { stderr } = await runJob(home, "mail", "claude -p 1", {
    flags: ["--once"],
  });
  assertEquals(markers(stderr), [
    "CLAUDE_QUOTA_JOB_RAN job=mail exit=1 end=limit ts=T",
  ]);
  // Not started, it is.
  const skipped = await runJob(home, "mail", "claude -p 1", {
    flags: ["--once"],
  });
  assertEquals(newest(skipped.stderr, "mail"), "SKIPPED quota");
});

Deno.test("other bad ends open nothing and are not owed", async () => {
  await using home = new Home();
  for (
    const [output, end] of [
      ["budget", "budget"],
      ["turns-json", "turns"],
      ["throttle", "throttle"],
      ["overloaded-stream", "overloaded"],
      ["auth", "auth"],
      ["failed", "failed"],
      ["quote", null],
    ] as const
  ) {
    home.claude.script(output);
    const { stderr } = await runJob(home, "mail", "claude -p hi");
    assertEquals(newest(stderr, "mail"), "RAN", output);
    assertEquals(/ end=(\w+)/.exec(stderr)?.[1] ?? null, end, output);
    assert(!isOpen(home), output);
  }
});

Deno.test("one model's limit refuses that model alone, and is owed from its reset on", async () => {
  await using home = new Home();
  const reset = Math.floor(now()) + 3 * 86_400;
  home.claude.script(`opus-limit-stream ${reset}`, "ok");
  const first = await runJob(home, "mail", "claude -p 1 --model opus");
  assertEquals(newest(first.stderr, "mail"), "SKIPPED quota-during-run");
  assert(!isOpen(home));
  assertEquals(books(home).jobs?.mail?.owed_from, reset + 60);
  const second = await runJob(
    home,
    "news",
    "claude -p 2 --model opus; claude -p 3; claude -p 4 --model=sonnet",
  );
  assertEquals(home.claude.calls().map((call) => call.arguments), [
    "-p 1 --model opus",
    "-p 3",
    "-p 4 --model=sonnet",
  ]);
  assertEquals(
    markers(second.stderr)[0],
    "CLAUDE_QUOTA_CIRCUIT_OPEN reason=quota-opus remaining=Ns",
  );
  const third = await runJob(home, "post", "claude -p 5 --model opus || true");
  assertEquals(newest(third.stderr, "post"), "SKIPPED quota-during-run");
  assertEquals(books(home).jobs?.post?.owed_from, reset + 60);
});

Deno.test("two different jobs with a refusal in unknown words open the circuit for one probe interval", async () => {
  await using home = new Home();
  home.claude.script("suspected-json");
  await runJob(home, "mail", "claude -p 1");
  await runJob(home, "mail", "claude -p 2");
  assert(!isOpen(home));
  const { stderr } = await runJob(home, "news", "claude -p 3");
  assert(isOpen(home));
  assertEquals(newest(stderr, "news"), "RAN");
  const { reason, open_until } = circuit(home);
  assertEquals(reason, "suspected");
  const left = Number(open_until) - now();
  assert(left > 1700 && left <= 1800);
  const skipped = await runJob(home, "post", "true");
  assertEquals(newest(skipped.stderr, "post"), "SKIPPED suspected");
});
