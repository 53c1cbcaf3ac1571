import { assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path/join";
import { closedCircuit } from "../lib/circuit_json.ts";
import { SignalRelay } from "../lib/child.ts";
import type { Ending } from "../lib/ending.ts";
import type { Guard } from "../lib/guard.ts";
import { recordClaudeResult } from "../lib/record_call.ts";
import { anEnding } from "./samples.ts";
import { notifier, openedNotice, sendNotice } from "../lib/notice.ts";
import { roundNotice } from "../lib/round_notice.ts";
import { fakeHost } from "./fake_host.ts";
import { executable, textOf } from "./files.ts";
import { circuit, now, writeState } from "./guard_steps.ts";
import { Home, runGuard, type RunOptions, together } from "./harness.ts";

const NOW = 1_796_056_215; // 2026-11-30T16:30:15Z

/** A home with a notifier that writes down what it gets. */
class ToldHome extends Home {
  readonly #told = join(this.path, "told");
  readonly options: RunOptions;

  constructor(env: Record<string, string> = {}, end = "exit 0") {
    super();
    const notifier = executable(
      join(this.path, "notifier"),
      `printf '%s|' "$@" >> '${this.#told}'; echo >> '${this.#told}'; ${end}`,
    );
    this.options = {
      env: { CLAUDE_QUOTA_NOTIFY: `'${notifier}' --flag`, ...env },
    };
  }

  /** A line for each notice. */
  get told(): string[] {
    return textOf(this.#told).split("\n").filter((line) => line !== "");
  }

  /** Runs a job that calls claude; what it leaves on stderr. */
  async job(label: string, flags: string[] = []): Promise<string> {
    const { stderr } = await runGuard(this, [
      ...["--job", label, ...flags, "--", "/bin/sh", "-c", "claude -p hi"],
    ], this.options);
    return stderr;
  }
}

Deno.test("one notice when the circuit opens, however many jobs meet the limit", async () => {
  await using home = new ToldHome();
  home.claude.script("limit");
  await together(["a", "b", "c"].map((label) => home.job(label)));
  await home.job("d");
  await home.job("probe", ["--priority"]);
  assertEquals(home.told.length, 1);
  assertMatch(
    home.told[0] ?? "",
    /^--flag\|claude: usage limit, jobs wait until .* \(\d+ h.*\); met by [abc]: You've hit your 5-hour limit\|$/,
  );
});

Deno.test("one notice when a probe finds that claude answers", async () => {
  await using home = new ToldHome();
  home.claude.script("limit");
  await home.job("a");
  home.claude.script("ok");
  await home.job("probe", ["--priority"]);
  await home.job("a");
  assertEquals(home.told.slice(1), ["--flag|claude: answers again, jobs run|"]);
});

Deno.test("one notice at the first answer after a limit has run out", async () => {
  await using home = new ToldHome();
  home.claude.script("limit");
  await home.job("a");
  writeState(home, "state.json", { ...circuit(home), open_until: now() });
  home.claude.script("ok");
  await home.job("b");
  await home.job("a");
  assertEquals(home.told.slice(1), ["--flag|claude: answers again, jobs run|"]);
});

Deno.test("no notice of later answers, however long after the limit", async () => {
  const folder = Deno.makeTempDirSync({ prefix: "quota notice " });
  try {
    const told = join(folder, "told");
    const env = { CLAUDE_QUOTA_NOTIFY: `f() { echo "$1" >> '${told}'; }; f` };
    const host = fakeHost(NOW, { env });
    const guard: Guard = {
      host,
      signals: new SignalRelay(),
      self: { interpreter: "/none", script: null },
      policy: { probeInterval: 1800, cooldown: 3600 },
      folder: join(folder, "state"),
      troubled: false,
    };
    const call = (ending: Ending): Promise<void> =>
      recordClaudeResult(guard, {
        ending,
        model: "default",
        passed: null,
        startedAt: host.now(),
      });
    await call(anEnding("limit"));
    for (let hours = 0; hours < 3; hours++) {
      host.advance(3600);
      await call(anEnding("ok"));
    }
    assertMatch(
      textOf(told),
      /^claude: usage limit.*\nclaude: answers again.*\n$/,
    );
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("no notice of what the user did by hand, nor without a limit", async () => {
  await using home = new ToldHome();
  await home.job("a");
  await runGuard(home, ["--open"], home.options);
  await runGuard(home, ["--close"], home.options);
  await home.job("a");
  assertEquals(home.told, []);
});

Deno.test("a notifier that fails is told, and changes nothing", async () => {
  await using home = new ToldHome({}, "exit 7");
  home.claude.script("limit");
  const log = await home.job("a");
  assertMatch(
    log,
    /^quota_guard: the notifier failed with exit code 7; quota_guard --notify TEXT shows why$/m,
  );
  assertMatch(
    log,
    /_JOB_SKIPPED job=a reason=quota-during-run exit=1 ts=\d+\n$/,
  );
});

Deno.test("--notify shows what the notifier says of its failure", async () => {
  await using home = new ToldHome({}, "echo no such topic >&2; exit 7;");
  const { code, stderr } = await runGuard(
    home,
    ["--notify", "It works"],
    home.options,
  );
  assertEquals(code, 1);
  assertEquals(
    stderr,
    "no such topic\nquota_guard: the notifier failed with exit code 7\n",
  );
});

Deno.test("sendNotice() cuts off a notifier that hangs", async () => {
  assertEquals(
    await sendNotice("trap '' TERM; exec sleep 600;", "text", 0.2),
    "the notifier took over 0.2 s and was cut off",
  );
});

Deno.test("notifier() is the variable's, else the state folder's", () => {
  const folder = Deno.makeTempDirSync();
  try {
    const host = fakeHost(NOW);
    assertEquals(notifier(host, folder), null);
    assertEquals(notifier(host, null), null);
    Deno.writeTextFileSync(join(folder, "notify"), "curl -d\nmore\n");
    assertEquals(notifier(host, folder), "curl -d");
    const env = { CLAUDE_QUOTA_NOTIFY: "say" };
    assertEquals(notifier(fakeHost(NOW, { env }), folder), "say");
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});

Deno.test("--notify tries the notifier, or says what to set", async () => {
  await using home = new ToldHome();
  const tried = await runGuard(home, ["--notify", "it works"], home.options);
  assertEquals([tried.code, home.told], [0, ["--flag|it works|"]]);
  const unset = await runGuard(home, ["--notify", "x"]);
  assertEquals(unset.code, 2);
  assertMatch(unset.stderr, /set CLAUDE_QUOTA_NOTIFY to a command/);
});

Deno.test("openedNotice() says until when, by whom and why", {
  permissions: "none",
}, () => {
  const circuit = {
    ...closedCircuit(),
    open_until: NOW + 7200,
    opened_at: NOW,
    reason: "suspected",
    opened_by: { job: null, sentence: "" },
  };
  assertEquals(
    openedNotice(circuit, NOW, "Asia/Tokyo"),
    "claude: what looks like a usage limit, jobs wait until 03:30 (2 h); met by a call outside of jobs",
  );
});

Deno.test("roundNotice() tells what was caught up and what was not", {
  permissions: "none",
}, () => {
  const kick = (label: string, exit: number | null, outcome: string) => ({
    label,
    skip_ts: 0,
    kicked_at: 0,
    seconds: 1,
    outcome,
    exit,
  });
  assertEquals(
    roundNotice([
      kick("a", 0, "ran, exit 0"),
      kick("b", 1, "ran, exit 1"),
      kick("c", 0, "ran, exit 0"),
    ]),
    "claude: caught up a, c; in vain b (ran, exit 1)",
  );
  assertEquals(
    roundNotice([kick("b", null, "not started")]),
    "claude: in vain b (not started)",
  );
});
