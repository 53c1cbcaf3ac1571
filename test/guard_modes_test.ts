import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { join } from "@std/path/join";
import { circuit, isOpen, now, openCircuit, runJob } from "./guard_steps.ts";
import { Home, runGuard } from "./harness.ts";

Deno.test("--status tells of a limit in lines for people and as JSON", async () => {
  await using home = new Home();
  const fresh = await runGuard(home, ["--status"]);
  assertEquals(
    [fresh.code, fresh.stdout],
    [0, "Circuit closed\nNo job has run through the guard yet\n"],
  );
  const reset = Math.floor(now()) + 4000;
  home.claude.script(`limit-stream ${reset}`);
  await runJob(home, "mail", "claude -p hi");
  await runJob(home, "news", "true");
  const { stdout } = await runGuard(home, ["--status"]);
  assertMatch(
    stdout,
    /^Circuit OPEN until .*\d\d:\d\d \(1 h \d+ min left\), reason quota, window five_hour$/m,
  );
  assertMatch(
    stdout,
    /^\s\ssince .*, by job mail: "You've hit your 5-hour limit/m,
  );
  assertMatch(stdout, /^\s\snext probe: by the next --priority job$/m);
  assertMatch(stdout, /^mail\s.*skipped \(quota-during-run\), exit 1, 1 ca/m);
  assertMatch(stdout, /^news\s.*skipped \(quota\)$/m);
  const json = JSON.parse(
    (await runGuard(home, ["--status", "--json"])).stdout,
  );
  assertEquals([json.is_open, json.reason, json.window], [
    true,
    "quota",
    "five_hour",
  ]);
  assertEquals(json.open_until, reset + 60);
  const left = json.open_until - now();
  assert(json.remaining_seconds >= Math.floor(left));
  assert(json.remaining_seconds <= 4060);
  assertEquals(json.opened_by.job, "mail");
  assertEquals(json.scopes, {});
  const { ts, ...mail } = json.jobs.mail;
  assert(Number.isInteger(ts));
  assertEquals(mail, {
    outcome: "skipped",
    exit: 1,
    reason: "quota-during-run",
    ending: "limit",
    calls: 1,
  });
});

Deno.test("--open and --close hold and free the circuit by hand", async () => {
  await using home = new Home();
  const opened = await runGuard(home, ["--open", "--until", "+5m"]);
  assertEquals([opened.code, opened.stdout], [0, ""]);
  assertMatch(
    opened.stderr,
    /^quota_guard: the circuit is open until .*\d\d:\d\d \(\S+ min\), reason manual\n$/,
  );
  const { stderr } = await runJob(home, "mail", "true");
  const [, remaining] =
    /SKIPPED job=mail reason=manual remaining=(\d+)s ts=/.exec(stderr) ?? [];
  const left = Number(circuit(home).open_until) - now();
  assert(Number(remaining) >= left && Number(remaining) <= 300, stderr);
  const closed = await runGuard(home, ["--close"]);
  assertEquals([closed.code, closed.stderr], [
    0,
    "quota_guard: the circuit is closed\n",
  ]);
  assert(!isOpen(home));
  for (const until of ["soon", "1796056215"]) {
    const wrong = await runGuard(home, ["--open", "--until", until]);
    assertEquals(wrong.code, 2, until);
    assertStringIncludes(wrong.stderr, until);
  }
  assert(!isOpen(home));
});

Deno.test("--open says which word its reason becomes, and whose the circuit's is", async () => {
  await using home = new Home();
  const open = async (...args: string[]): Promise<string> =>
    (await runGuard(home, ["--open", ...args])).stderr
      .replace(/.*, (?=reason)/, "");
  assertEquals(
    await open("--reason", "two words\nts=1"),
    "reason two_words_ts=1 (one word, for the markers)\n",
  );
  assertEquals(await open("--reason", "repair"), "reason repair\n");
  openCircuit(home);
  // The limit lasts longer than the hold.
  assertEquals(
    await open("--until", "+5m", "--reason", "two words"),
    "reason quota\n",
  );
});

Deno.test("--open and --close say if there is no state to change", async () => {
  await using home = new Home();
  const file = join(home.path, "file");
  Deno.writeTextFileSync(file, "");
  const { code, stderr } = await runGuard(home, ["--open"], {
    env: { CLAUDE_QUOTA_DIR: file },
  });
  assertEquals(code, 1);
  assertStringIncludes(stderr, `"${file}" is no folder`);
});

Deno.test("--classify judges a file or standard input, at a time and in a zone", async () => {
  await using home = new Home();
  const text = "You've hit your session limit · resets 3pm\n";
  const file = join(home.path, "out.txt");
  Deno.writeTextFileSync(file, text);
  const at = ["--exit", "1", "--at", "2026-11-30T12:00Z"];
  const tokyo = await runGuard(
    home,
    ["--classify", ...at, "--tz", "Asia/Tokyo", file],
  );
  const { evidence, ...rest } = JSON.parse(tokyo.stdout);
  assertEquals(rest, {
    ending: "limit",
    scope: "account",
    window: "five_hour",
    reset_at: Temporal.Instant.from("2026-12-01T06:00Z").epochMilliseconds /
      1000,
  });
  assert(typeof evidence === "string" && evidence !== "");
  const piped = await runGuard(home, ["--classify", ...at, "--tz", "UTC"], {
    stdin: text,
  });
  assertEquals(
    JSON.parse(piped.stdout).reset_at,
    Temporal.Instant.from("2026-11-30T15:00Z").epochMilliseconds / 1000,
  );
  const ok = await runGuard(home, ["--classify"], { stdin: "All is well.\n" });
  assertEquals(JSON.parse(ok.stdout).ending, "ok");
  for (const wrong of [["--tz", "Mars/Base"], ["--at", "soon"], ["/no/such"]]) {
    const { code, stderr } = await runGuard(home, ["--classify", ...wrong], {
      stdin: "",
    });
    assertEquals(code, 2);
    assertStringIncludes(stderr, wrong.at(-1) ?? "");
  }
});

Deno.test("--help and --version tell, a mistake is 2 and names the way out", async () => {
  await using home = new Home();
  for (const args of [[], ["--help"], ["--job", "a", "--help"]]) {
    const { code, stdout } = await runGuard(home, args);
    assertEquals(code, 0);
    assertStringIncludes(stdout, "--job LABEL");
  }
  const version = await runGuard(home, ["--version"]);
  assertMatch(version.stdout, /^quota_guard \d+\.\d+\.\d+\n$/);
  const wrong = await runGuard(home, ["--job", "a", "--prioritty", "--", "b"]);
  assertEquals([wrong.code, wrong.stdout], [2, ""]);
  assertMatch(
    wrong.stderr,
    /^quota_guard: .*did you mean --priority\?.*--help\n$/,
  );
});

Deno.test("A mistyped mode is told, and does not get to claude", async () => {
  await using home = new Home();
  const mistyped = await runGuard(home, ["--stauts"]);
  assertEquals([mistyped.code, mistyped.stderr], [
    2,
    "quota_guard: --stauts is no flag of quota_guard or claude; did you mean --status?; see --help\n",
  ]);
  assertEquals(home.claude.calls().length, 0);
  assertEquals((await runGuard(home, ["--model", "opus", "-p", "x"])).code, 0);
  assertEquals(home.claude.calls().length, 1);
});
