/**
 * The guard around the real claude, which is installed from npm into a temporary
 * folder and speaks to an API on this machine only: `deno task test:claude`.
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path/join";
import { executable, textOf } from "./files.ts";
import { type Finished, type Home, runGuard, until } from "./harness.ts";
import { installClaude, realHome } from "./real_claude.ts";
import { Api, type Behaviour } from "./stand_in/api.ts";

const formats = ["text", "json", "stream-json"] as const;
const claude = await installClaude();

/** Runs the job `t`, one call of claude, and what the call printed by itself. */
async function recordedJob(
  home: Home,
  args: string[],
): Promise<{ job: Finished; call: Finished }> {
  const file = (name: string): string => join(home.path, name);
  const recorder = executable(
    file("recorder"),
    `'${claude}' "$@" > '${file("out")}' 2> '${file("err")}'
    echo $? > '${file("code")}'
    cat '${file("out")}'
    cat '${file("err")}' >&2
    exit $(cat '${file("code")}')`,
  );
  const job = await runGuard(
    home,
    ["--job", "t", "--", "sh", "-c", '"$CLAUDE" "$@"', "sh", ...args],
    { env: { CLAUDE_REAL_BIN: recorder } },
  );
  const call = {
    code: Number(textOf(file("code"))),
    signal: null,
    stdout: textOf(file("out")),
    stderr: textOf(file("err")),
  };
  return { job, call };
}

async function status(home: Home): Promise<Status> {
  return JSON.parse((await runGuard(home, ["--status", "--json"])).stdout);
}

interface Status {
  is_open: boolean;
  open_until: number;
  scopes: Record<string, { open_until: number }>;
  jobs: Record<string, { outcome: string; ending: string; calls: number }>;
}

interface Case {
  api: Behaviour;
  args?: string[];
  answer?: string;
  ending: string;
  scope?: string;
  /** Without it an open circuit waits for one probe interval. */
  resets?: boolean;
  zone?: string;
}

const bash = ["--allowedTools", "Bash"];
const sentence = "You've hit your session limit · resets 5pm (UTC)";
const limit = { ending: "limit", resets: true };

const cases: Record<string, Case> = {
  "five-hour limit": { ...limit, api: "five_hour" },
  "weekly limit": { ...limit, api: "seven_day" },
  "Opus limit": { ...limit, api: "seven_day_opus", scope: "opus" },
  "Sonnet limit": { ...limit, api: "seven_day_sonnet", scope: "sonnet" },
  "Fable limit": {
    ...limit,
    api: "seven_day_overage_included",
    scope: "fable",
  },
  "overage limit": { ...limit, api: "overage" },
  "limit in Tokyo": { ...limit, api: "five_hour", zone: "Asia/Tokyo" },
  "limit in Kolkata": { ...limit, api: "seven_day", zone: "Asia/Calcutta" },
  "limit in mid-run": { ...limit, api: "tool-then-five_hour", args: bash },
  "empty credit balance": { api: "credit", ending: "limit" },
  "spend limit": { ...limit, api: "spend" },
  "throttle": { api: "throttle", ending: "throttle" },
  "overloaded API": { api: "overloaded", ending: "overloaded" },
  "broken API": { api: "server", ending: "failed" },
  "expired login": { api: "auth", ending: "auth" },
  "budget stop": {
    api: "ok",
    args: ["--max-budget-usd", "0.01"],
    ending: "budget",
  },
  "turn stop": {
    api: "tools",
    args: ["--max-turns", "1", ...bash],
    ending: "turns",
  },
  "budget stop of an answer that quotes a limit": {
    api: "ok",
    args: ["--max-budget-usd", "0.01"],
    answer: sentence,
    ending: "budget",
  },
  "good answer": { api: "ok", ending: "ok" },
  "good answer that quotes a limit": {
    api: "ok",
    answer: `This line has to stop the jobs:\n\n${sentence}\n\nThat is all.`,
    ending: "ok",
  },
};

/** Runs a check in all formats at once and lets each come to its end. */
async function inEachFormat(
  run: (format: string) => Promise<void>,
): Promise<void> {
  for (const end of await Promise.allSettled(formats.map(run))) {
    if (end.status === "rejected") throw end.reason;
  }
}

/** One call, judged by what the guard says about it afterwards. */
async function check(expected: Case, format: string): Promise<void> {
  await using api = new Api();
  await using home = realHome(claude, api);
  api.behaviour = expected.api;
  api.answer = expected.answer ?? api.answer;
  home.env.TZ = expected.zone ?? "UTC";
  const started = Math.floor(Date.now() / 1000);
  const { job, call } = await recordedJob(home, [
    ...["-p", "hi", "--output-format", format],
    ...(format === "stream-json" ? ["--verbose"] : []),
    ...(expected.args ?? []),
  ]);
  const ended = Date.now() / 1000;
  assertEquals(job.stdout, call.stdout, format);
  assert(job.stderr.startsWith(call.stderr), format);
  assertEquals(job.code, call.code, format);

  const { scope = "account", ending, resets } = expected;
  const exact = format === "stream-json" && api.behaviour !== "spend";
  const reset = exact ? api.resetAt : Math.floor(api.resetAt / 60) * 60;
  const { stdout } = await runGuard(
    home,
    ["--classify", "--exit", `${call.code}`],
    { stdin: call.stdout + call.stderr },
  );
  const classified = JSON.parse(stdout);
  assertEquals(
    [classified.ending, classified.scope, classified.reset_at],
    [ending, scope, resets ? reset : null],
    `${format}: ${classified.evidence}`,
  );

  const now = await status(home);
  const limited = ending === "limit";
  assertEquals(now.jobs.t?.outcome, limited ? "skipped" : "ran", format);
  assertEquals(now.jobs.t?.calls, 1, format);
  if (!limited) assertEquals(now.jobs.t?.ending ?? "ok", ending, format);
  assertEquals(now.is_open, limited && scope === "account", format);
  if (resets) {
    const until = scope === "account"
      ? now.open_until
      : now.scopes.default?.open_until;
    assertEquals(until, reset + (exact ? 60 : 120), format);
  } else if (limited) {
    const opened = now.open_until - 1800;
    assert(opened >= started && opened <= ended, `${format}: ${opened}`);
  }
}

for (const [name, expected] of Object.entries(cases)) {
  Deno.test(
    { name: `real claude: ${name}`, ignore: claude === null },
    () => inEachFormat((format) => check(expected, format)),
  );
}

Deno.test({
  name: "real claude: an open circuit sends no request, a probe exactly one",
  ignore: claude === null,
}, async () => {
  await using api = new Api();
  await using home = realHome(claude, api);
  const job = (label: string, flags: string[], interval = 1800) =>
    runGuard(home, [
      ...["--job", label, ...flags],
      ...["--", "sh", "-c", '"$CLAUDE" -p hi; "$CLAUDE" -p again'],
    ], { env: { CLAUDE_QUOTA_PRIORITY_PROBE_INTERVAL: `${interval}` } });
  api.behaviour = "five_hour";
  await job("first", []);
  assertEquals(api.requests, 1); // its second call was refused

  assertEquals((await runGuard(home, ["-p", "hi"])).code, 75);
  const second = await job("second", []);
  assertMatch(second.stderr, /_SKIPPED job=second reason=quota remaining/);
  assertEquals(api.requests, 1);

  api.resetAt += 3600;
  const third = await job("third", ["--priority"]);
  assertMatch(third.stderr, /_SKIPPED job=third reason=priority-probe-quota/);
  assertEquals(api.requests, 2);
  const minute = Math.floor(api.resetAt / 60) * 60;
  assertEquals((await status(home)).open_until, minute + 120);
  await job("third", ["--priority"]); // too early for another probe
  assertEquals(api.requests, 2);

  api.behaviour = "ok";
  const good = await until(async () => {
    const fourth = await job("fourth", ["--priority"], 1);
    return fourth.stdout !== "" && fourth;
  }, "the next probe is due");
  assertEquals(good.stdout, "hello\nhello\n");
  assertEquals(api.requests, 4);
  assertEquals((await status(home)).is_open, false);
});

/** A signal during a call that waits for its answer. */
async function interrupt(
  signal: Deno.Signal,
  code: number,
  format: string,
): Promise<void> {
  await using api = new Api();
  await using home = realHome(claude, api);
  api.behaviour = "hang";
  const call = ["-p", "hi", "--output-format", format, "--verbose"];
  const guard = home.start([
    ...[...home.words("quota_guard"), "--job", "t", "--"],
    ...["sh", "-c", 'exec "$CLAUDE" "$@"', "sh", ...call],
  ]);
  await until(() => api.requests === 1, "claude waits for an answer");
  guard.kill(signal);
  const end = await guard.output();
  assertEquals(end.code, code, format);
  const now = await status(home);
  const said = new TextDecoder().decode(end.stdout);
  assertEquals(
    [now.is_open, now.jobs.t?.ending],
    [false, "killed"],
    `${format}: ${said}`,
  );
}

for (const [signal, code] of [["SIGTERM", 143], ["SIGINT", 0]] as const) {
  Deno.test({
    name: `real claude: ${signal} ends a waiting call`,
    ignore: claude === null,
  }, () => inEachFormat((format) => interrupt(signal, code, format)));
}
