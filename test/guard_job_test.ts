import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { join } from "@std/path/join";
import { noonZone } from "./daytime.ts";
import { textOf } from "./files.ts";
import {
  books,
  circuit,
  markers,
  newest,
  now,
  openCircuit,
  outcome,
  runJob,
  writeState,
} from "./guard_steps.ts";
import { Home, runCatchup, runGuard, together, until } from "./harness.ts";

Deno.test("a job runs with its exit code, and its log and the books say so", async () => {
  await using home = new Home();
  const start = Math.floor(now());
  const { code, stdout, stderr } = await runJob(
    home,
    "mail",
    "claude -p hi; printf done; exit 3",
  );
  assertEquals([code, stdout], [3, "hello\ndone"]);
  assertEquals(markers(stderr), ["CLAUDE_QUOTA_JOB_RAN job=mail exit=3 ts=T"]);
  assertEquals(outcome(home, "mail"), ["ran", 3, null, "ok", 1]);
  const ts = Number(/ts=(\d+)$/m.exec(stderr)?.[1]);
  assert(ts >= start && ts <= now());
  assertEquals(books(home).jobs?.mail?.ts, ts);
  assert(Number(books(home).last_ok) >= start);
  assertEquals([...Deno.readDirSync(join(home.state, "runs"))], []);
});

Deno.test("a job with a call sweeps what other runs left", async () => {
  await using home = new Home();
  const left = join(home.state, "runs", "1000000000-1-aaaaaaaa");
  await runJob(home, "mail", "true");
  Deno.writeTextFileSync(left, "");
  await runJob(home, "mail", "true");
  assertEquals(textOf(left), "");
  await runJob(home, "mail", "claude -p hi");
  assertEquals([...Deno.readDirSync(join(home.state, "runs"))], []);
});

Deno.test("a job learns who it is, and claude is the guard's", async () => {
  await using home = new Home();
  const { stdout } = await runJob(home, "mail", "env; command -v claude");
  const env = new Map(
    stdout.split("\n").map((line): [string, string] => {
      const [name = "", value = ""] = line.split(/=(.*)/s);
      return [name, value];
    }),
  );
  const shim = join(home.state, "bin", "claude");
  assertEquals(env.get("CLAUDE_AUTOMATION_GUARD"), "1");
  assertEquals(env.get("CLAUDE_QUOTA_JOB"), "mail");
  assertEquals(env.get("CLAUDE_QUOTA_DIR"), home.state);
  assertMatch(env.get("CLAUDE_QUOTA_RUN") ?? "", /^\d{10}-\d+-[0-9a-f]{8}$/);
  assertEquals(env.has("CLAUDE_QUOTA_PRIORITY_PROBE"), false);
  assertEquals([env.get("CLAUDE"), env.get("CLAUDE_BIN")], [shim, shim]);
  assertEquals(env.get("PATH")?.split(":")[0], join(home.state, "bin"));
  assertEquals(stdout.trimEnd().split("\n").at(-1), shim);
});

Deno.test("a job whose command is claude itself goes through the guard", async () => {
  await using home = new Home();
  const { code, stdout } = await runGuard(
    home,
    ["--job", "mail", "--", "claude", "-p", "hi"],
  );
  assertEquals([code, stdout], [0, "hello\n"]);
  assertEquals(outcome(home, "mail"), ["ran", 0, null, "ok", 1]);
});

Deno.test("a job is skipped while the circuit is open, at its own exit code", async () => {
  await using home = new Home();
  openCircuit(home);
  const ran = join(home.path, "ran");
  const before = textOf(join(home.state, "state.json"));
  const plain = await runJob(home, "mail", `touch '${ran}'`);
  assertEquals([plain.code, plain.stdout], [0, ""]);
  assertEquals(markers(plain.stderr), [
    "CLAUDE_QUOTA_JOB_SKIPPED job=mail reason=quota remaining=Ns ts=T",
  ]);
  const remaining = Number(/remaining=(\d+)s/.exec(plain.stderr)?.[1]);
  const left = Number(circuit(home).open_until) - now();
  assert(remaining >= left && remaining <= 7200, `${remaining} s`);
  assertEquals(outcome(home, "mail"), ["skipped", null, "quota", null, 0]);
  const chosen = await runJob(home, "__proto__", `touch '${ran}'`, {
    flags: ["--skip-exit", "75"],
  });
  assertEquals(chosen.code, 75);
  assertStringIncludes(
    textOf(join(home.state, "jobs.json")),
    '"__proto__":{"outcome":"skipped"',
  );
  assertEquals(textOf(ran), "");
  assertEquals(textOf(join(home.state, "state.json")), before);
});

Deno.test("a command that cannot be started is RAN exit=127 or 126", async () => {
  await using home = new Home();
  const missing = await runGuard(home, ["--job", "a", "--", "/no/such", "x"]);
  assertEquals(missing.code, 127);
  assertStringIncludes(missing.stderr, 'job a: cannot start "/no/such"');
  assertEquals(markers(missing.stderr), [
    "CLAUDE_QUOTA_JOB_RAN job=a exit=127 ts=T",
  ]);
  const plain = join(home.path, "plain");
  Deno.writeTextFileSync(plain, "#!/bin/sh\n", { mode: 0o644 });
  const forbidden = await runGuard(home, ["--job", "a", "--", plain]);
  assertEquals(forbidden.code, 126);
  assertEquals(outcome(home, "a"), ["ran", 126, null, null, 0]);
  // Not even a probe of that kind is owed.
  openCircuit(home);
  const probe = await runGuard(
    home,
    ["--job", "a", "--priority", "--", "/no/such"],
  );
  assertEquals(newest(probe.stderr, "a"), "RAN");
});

Deno.test("signals go on to the job, and the marker is still written", async () => {
  await using home = new Home();
  // A sleep that the signal misses must not hold the test's pipes.
  const caught = "trap 'kill $!; exit 7' TERM; sleep 600 > /dev/null 2>&1 &";
  const cases = [
    ["SIGTERM", "", "exec sleep 600", 143],
    ["SIGHUP", "", "exec sleep 600", 129],
    ["SIGINT", "", "exec sleep 600", 130],
    ["SIGTERM", caught, "wait; exit 1", 7],
  ] as const;
  const ends = cases.map(async ([signal, before, line, code], i) => {
    const ready = join(home.path, `ready ${i}`);
    const job = `${before} echo > '${ready}'; ${line}`;
    const child = home.start([
      ...home.words("quota_guard"),
      ...["--job", `job-${i}`, "--", "/bin/sh", "-c", job],
    ]);
    await until(() => textOf(ready), "the job runs");
    child.kill(signal);
    const { code: ended, stderr } = await child.output();
    const text = new TextDecoder().decode(stderr);
    assertEquals(ended, code, `${signal} ${line}`);
    assertEquals(markers(text), [
      `CLAUDE_QUOTA_JOB_RAN job=job-${i} exit=${code} ts=T`,
    ]);
    assertEquals(outcome(home, `job-${i}`)[1], code);
  });
  await together(ends);
});

Deno.test("a job that outlives its --timeout is ended and has run", async () => {
  await using home = new Home();
  const { code, stderr } = await runJob(home, "slow", "exec sleep 600", {
    flags: ["--timeout", "1"],
  });
  assertEquals(code, 143);
  assertStringIncludes(stderr, "job slow: stopped after its --timeout of 1 s");
  assertEquals(newest(stderr, "slow"), "RAN");
});

Deno.test("an interrupted call is the killed one of its run", async () => {
  await using home = new Home();
  home.claude.script("hang");
  const child = home.start([
    ...home.words("quota_guard"),
    ...["--job", "mail", "--", "claude", "-p", "hi"],
  ]);
  await until(() => home.claude.calls().length === 1, "the call has begun");
  child.kill("SIGTERM");
  const { code, stderr } = await child.output();
  assertEquals(code, 143);
  assertEquals(markers(new TextDecoder().decode(stderr)), [
    "CLAUDE_QUOTA_JOB_RAN job=mail exit=143 end=killed ts=T",
  ]);
});

Deno.test("a job's own stdin, stdout and stderr pass through", async () => {
  await using home = new Home();
  const { stdout, stderr } = await runJob(home, "a", "cat; echo oops >&2", {
    stdin: "a\0b\r\n\n",
  });
  assertEquals(stdout, "a\0b\r\n\n");
  assert(stderr.startsWith("oops\n\nCLAUDE_QUOTA_JOB_RAN "), stderr);
});

Deno.test("the marker is read though the last output has no newline, in one log for both", async () => {
  await using home = new Home();
  const log = join(home.logs, "log");
  const words = home.words("quota_guard").map((word) => `'${word}'`).join(" ");
  for (const exit of [0, 4]) {
    home.claude.script("budget");
    const line =
      `${words} --job mail -- /bin/sh -c 'claude -p hi; exit ${exit}'`;
    await home.run(["/bin/sh", "-c", `${line} >> '${log}' 2>&1`]);
    assertStringIncludes(textOf(log), "Exceeded USD budget (0.01)");
    assertEquals(
      markers(textOf(log)).at(-1),
      `CLAUDE_QUOTA_JOB_RAN job=mail exit=${exit} end=budget ts=T`,
    );
    assertEquals(newest(textOf(log), "mail"), "RAN");
  }
});

Deno.test("a skip is owed by its log alone, also behind a line that was cut", async () => {
  await using home = new Home();
  home.env.TZ = noonZone(now());
  const log = join(home.logs, "log");
  // As a run leaves it whose guard was killed.
  Deno.writeTextFileSync(log, "Exceeded USD budget (0.01)");
  const words = home.words("quota_guard");
  home.plist("mail", {
    ProgramArguments: [...words, "--job", "mail", "--", "true"],
    StandardErrorPath: log,
    StartCalendarInterval: { Hour: 0 },
  });
  openCircuit(home);
  const line = words.map((word) => `'${word}'`).join(" ");
  await home.run([
    "/bin/sh",
    "-c",
    `${line} --job mail -- true 2>> '${log}'`,
  ]);
  assertMatch(textOf(log), /^Exceeded .*\nCLAUDE_QUOTA_JOB_SKIPPED job=mail /);
  assertEquals(newest(textOf(log), "mail"), "SKIPPED quota");
  Deno.removeSync(join(home.state, "jobs.json"));
  const { stdout } = await runCatchup(home, ["--dry-run"]);
  assertMatch(stdout, /^mail .* skipped \d\d:\d\d \(quota\)/m);
});

Deno.test("markers in a job's output are none: quoted, indented, another job's", async () => {
  await using home = new Home();
  const log = join(home.logs, "log");
  openCircuit(home);
  const first = await runJob(home, "mail", "true");
  const skip = first.stderr.trim();
  const ran = skip.replace(/SKIPPED.*ts=/, "RAN job=mail exit=0 ts=");
  assertEquals(newest(ran, "mail"), "RAN");
  const quotes = [
    `the log says ${ran}`,
    `  ${ran}`,
    ran.replace("job=mail", "job=mail2"),
    `${ran} and more`,
  ];
  writeState(home, "state.json", "{}");
  const second = await runJob(
    home,
    "other",
    `printf '%s\\n' ${quotes.map((quote) => `'${quote}'`).join(" ")}`,
  );
  Deno.writeTextFileSync(log, `${skip}\n${second.stdout}${second.stderr}`);
  assertEquals(newest(textOf(log), "mail"), "SKIPPED quota");
  assertEquals(newest(textOf(log), "other"), "RAN");
});

Deno.test("a job within a job is a run of its own", async () => {
  await using home = new Home();
  home.claude.script("ok", "limit");
  const words = home.words("quota_guard").map((word) => `'${word}'`).join(" ");
  const { stderr } = await runJob(
    home,
    "outer",
    `claude -p 1; ${words} --job inner -- /bin/sh -c 'claude -p 2'; true`,
  );
  assertEquals(newest(stderr, "inner"), "SKIPPED quota-during-run");
  assertEquals(newest(stderr, "outer"), "RAN");
  assertEquals(outcome(home, "outer"), ["ran", 0, null, "ok", 1]);
});

Deno.test("a job runs although there is no state to be had", async () => {
  await using home = new Home();
  const file = join(home.path, "file");
  Deno.writeTextFileSync(file, "");
  const places: Record<string, string | null>[] = [
    { CLAUDE_QUOTA_DIR: file },
    { CLAUDE_QUOTA_DIR: join(file, "below") },
    {
      CLAUDE_QUOTA_DIR: null,
      HOME: null,
      DENO_DIR: join(home.path, ".cache", "deno"),
    },
  ];
  const runs = places.map(async (env) => {
    const { code, stdout, stderr } = await runJob(
      home,
      "mail",
      "claude -p hi; exit 3",
      { env },
    );
    assertEquals([code, stdout], [3, "hello\n"], JSON.stringify(env));
    assertEquals(newest(stderr, "mail"), "RAN");
    assertMatch(stderr, /^(quota_guard: |")/m);
  });
  await together(runs);
});

Deno.test("a job runs whatever permission the guard lacks, except to run", async () => {
  await using home = new Home();
  openCircuit(home);
  const before = circuit(home);
  const words = home.words("quota_guard");
  const script = words.at(-1) ?? "";
  for (
    const granted of [
      [],
      ["--allow-env"],
      ["--allow-env", "--allow-write"],
      ["--allow-env", "--allow-write", "--allow-read=/usr"],
      [
        "--allow-env",
        "--allow-write",
        "--allow-read",
        `--deny-read=${join(home.state, "state.json")}`,
      ],
    ]
  ) {
    const { code, stdout } = await home.run([
      ...[Deno.execPath(), "run", "--quiet", "--no-prompt", "--allow-run"],
      ...granted,
      script,
      ...["--job", "mail", "--", "/bin/sh", "-c", "echo hello; exit 3"],
    ]);
    assertEquals([code, stdout], [3, "hello\n"], granted.join(" "));
  }
  // A file that only this process may not read stays where it is.
  assertEquals(circuit(home), before);
});
