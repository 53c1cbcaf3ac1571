import {
  assertEquals,
  assertMatch,
  assertNotMatch,
  assertThrows,
} from "@std/assert";
import { join } from "@std/path/join";
import type { ChildEnd } from "../lib/child.ts";
import { parseGuardArguments } from "../lib/guard_arguments.ts";
import { counts, nextAttempt } from "../lib/progress_gate.ts";
import type { CallRecord } from "../lib/tally.ts";
import { UsageError } from "../lib/usage.ts";
import { executable, textOf } from "./files.ts";
import { type Finished, Home, runGuard } from "./harness.ts";

const pure = { permissions: "none" } as const;

function calls(...met: CallRecord["met"][]): CallRecord[] {
  return met.map((met) => ({ met, owedFrom: null, cost: null }));
}

function ended(code: number): ChildEnd {
  return { started: true, code, timedOut: false };
}

Deno.test(
  "nextAttempt() wants more files than ever, after a failure",
  pure,
  () => {
    const failed = { end: ended(1), calls: calls("budget") };
    assertEquals(nextAttempt(failed, 3, 4), "again");
    assertEquals(nextAttempt(failed, 3, 3), "stuck");
    assertEquals(nextAttempt(failed, 3, 1), "stuck");
    // Some versions of claude end with 0 at a stop by policy.
    for (const met of ["budget", "turns"] as const) {
      const stopped = { end: ended(0), calls: calls("ok", met) };
      assertEquals(nextAttempt(stopped, 3, 3), "stuck");
      assertEquals(nextAttempt(stopped, 3, 4), "again");
    }
  },
);

Deno.test(
  "nextAttempt() is over at success, a limit, or without a start",
  pure,
  () => {
    const over: [ChildEnd, CallRecord[]][] = [
      [ended(0), []],
      [ended(0), calls("budget", "ok")],
      [ended(0), calls("failed")],
      [ended(1), calls("ok", "limit")],
      [ended(1), calls("refused", "failed")],
      [{ started: false, code: 127, why: "" }, []],
    ];
    for (const [end, seen] of over) {
      assertEquals(nextAttempt({ end, calls: seen }, 0, 0), "over");
      assertEquals(nextAttempt({ end, calls: seen }, 0, 1), "over");
    }
  },
);

Deno.test("counts() leaves out logs and the guard's own state", pure, () => {
  const state = "/home/u/.local/state/claude-quota";
  for (
    const path of ["/w/done/a.json", "/w/a.out", "/w/catalog", `${state}2`]
  ) {
    assertEquals(counts(path, state), true, path);
  }
  for (
    const path of ["/w/a.log", "/w/a.err", "/w/a.log.1", "/w/a.out.log.gz"]
      .concat(`${state}/runs/1`)
  ) assertEquals(counts(path, state), false, path);
  assertEquals(counts("/w/a", null), true);
});

Deno.test(
  "parseGuardArguments() takes --attempts and --progress as a pair",
  pure,
  () => {
    const parse = (line: string): unknown => {
      const command = parseGuardArguments(line.split(" "));
      return command.mode === "job" && command.job.gate;
    };
    assertEquals(parse("--job a -- b"), null);
    assertEquals(parse("--job a --attempts 3 --progress x/* -- b"), {
      attempts: 3,
      globs: ["x/*"],
    });
    assertEquals(parse("--job a --progress x --attempts 3 --progress=y -- b"), {
      attempts: 3,
      globs: ["x", "y"],
    });
    for (
      const [line, says] of [
        ["--job a --attempts 3 -- b", "go together"],
        ["--job a --progress x -- b", "go together"],
        ["--job a --attempts 0 --progress x -- b", "above zero"],
        ["--job a --attempts many --progress x -- b", "whole number"],
      ] as const
    ) assertThrows(() => parse(line), UsageError, says);
  },
);

/** A home whose job makes one more file an attempt, as long as `can` says so. */
class GateHome extends Home {
  readonly made = join(this.path, "made");
  label = "posts";

  constructor() {
    super();
    Deno.mkdirSync(join(this.made, "done"), { recursive: true });
  }

  gated(text: string, ...flags: string[]): Promise<Finished> {
    const job = executable(
      join(this.path, "job"),
      `cd '${this.made}'; echo x >> attempts; n=$(wc -l < attempts | tr -d ' ')
       ${text}`,
    );
    const gate = flags.length > 0 ? flags : [
      "--attempts",
      "5",
      "--progress",
      join(this.made, "done", "*.json"),
    ];
    return runGuard(this, ["--job", this.label, ...gate, "--", job]);
  }

  attempts(): number {
    return textOf(join(this.made, "attempts")).length / 2;
  }
}

Deno.test("--progress: tries again while there is more, until it is done", async () => {
  await using home = new GateHome();
  home.claude.script("budget");
  const run = await home.gated(
    "echo > done/$n.json; [ $n = 3 ] || { claude -p x; exit 1; }",
  );
  assertEquals([run.code, home.attempts()], [0, 3], run.stderr);
  assertMatch(
    run.stderr,
    /\nCLAUDE_QUOTA_JOB_RAN job=posts exit=0 end=budget ts=\d+\n$/,
  );
  assertNotMatch(run.stderr, /no forward progress/);
  // The tally spans all attempts.
  const [entry] = Object.values(
    JSON.parse(textOf(join(home.state, "jobs.json"))).jobs,
  ) as { calls: number }[];
  assertEquals(entry?.calls, 2);
  const runs = home.claude.calls().map((call) => call.env.CLAUDE_QUOTA_RUN);
  assertEquals(new Set(runs).size, 1);
});

Deno.test("--progress: ends at the first attempt that got no further", async () => {
  await using home = new GateHome();
  home.claude.script("budget");
  const run = await home.gated(
    "[ $n = 2 ] || echo > done/$n.json; claude -p x --max-budget-usd 1",
  );
  assertEquals([run.code, home.attempts()], [1, 2], run.stderr);
  const lines = run.stderr.trimEnd().split("\n");
  assertEquals(
    lines.filter((line) => line.includes("raise")),
    [
      "quota_guard: no forward progress after attempt 2: raise --max-budget-usd or do fewer items a run",
      "quota_guard: budget stop: raise --max-budget-usd or do fewer items a run",
    ],
  );
  assertMatch(lines.at(-1) ?? "", /^CLAUDE_QUOTA_JOB_RAN .* exit=1 end=budget/);
});

Deno.test("--progress: other files, but no more of them, are no progress", async () => {
  await using home = new GateHome();
  for (const name of ["a", "b"]) {
    Deno.writeTextFileSync(join(home.made, "done", `${name}.json`), "");
  }
  const run = await home.gated(
    "rm done/*; : > done/c.json; : > done/d.json; exit 4",
  );
  assertEquals([run.code, home.attempts()], [4, 1]);
  assertMatch(run.stderr, /after attempt 1/);
});

Deno.test("--progress: a budget stop that ends with 0 becomes 1 when stuck", async () => {
  await using home = new GateHome();
  home.claude.script("budget-old-json");
  const run = await home.gated("claude -p x");
  assertEquals([run.code, home.attempts()], [1, 1]);
  assertMatch(run.stderr, / exit=1 end=budget /);
});

Deno.test("--progress: a limit ends it, and the job is owed", async () => {
  await using home = new GateHome();
  home.claude.script("limit");
  const run = await home.gated("echo > done/$n.json; claude -p x");
  assertEquals([run.code, home.attempts()], [1, 1]);
  assertMatch(
    run.stderr,
    /JOB_SKIPPED job=posts reason=quota-during-run exit=1/,
  );
});

Deno.test("--progress: a limit ends it, in whatever letters the label is", async () => {
  await using home = new GateHome();
  home.label = "毎朝の投稿の下書きを作る";
  home.claude.script("limit");
  const run = await home.gated("echo > done/$n.json; claude -p x");
  assertEquals([run.code, home.attempts()], [1, 1], run.stderr);
});

Deno.test("--progress: a call that was killed does not hide a later limit", async () => {
  await using home = new GateHome();
  home.claude.script("limit");
  // What a call leaves that was killed with its guard.
  const killed = 'echo begun >> "$CLAUDE_QUOTA_DIR/runs/$CLAUDE_QUOTA_RUN"';
  const run = await home.gated(
    `echo > done/$n.json; [ $n = 2 ] || { ${killed}; exit 1; }; claude -p x`,
  );
  assertEquals([run.code, home.attempts()], [1, 2], run.stderr);
});

Deno.test("--progress: attempts come to an end", async () => {
  await using home = new GateHome();
  const run = await home.gated("echo > done/$n.json; exit 4");
  assertEquals([run.code, home.attempts()], [4, 5]);
});

Deno.test("--progress: several patterns, ~ and relative ones; logs do not count", async () => {
  await using home = new GateHome();
  const flags = ["--attempts", "5", "--progress", "made/*.{a,log}"]
    .concat("--progress", "~/made/**/b*");
  const run = await home.gated(
    "case $n in 1) : > 1.a ;; 2) : > done/b2 ;; *) : > $n.log ;; esac; exit 4",
    ...flags,
  );
  assertEquals([run.code, home.attempts()], [4, 3], run.stderr);
});

Deno.test("--progress: a signal ends it", async () => {
  await using home = new GateHome();
  const run = await home.gated(
    "echo > done/$n.json; kill -TERM $PPID; while :; do sleep 0.05; done",
  );
  assertEquals([run.code, home.attempts()], [143, 1]);
});

Deno.test("--progress: one item a run with a batch, at a cap too low for one", async () => {
  await using home = new GateHome();
  const out = join(home.path, "out");
  Deno.writeTextFileSync(join(home.path, "list"), "a\nb\n");
  const worker = executable(
    join(home.path, "worker"),
    `echo x >> '${home.path}/spent'; exit 9`,
  );
  const run = await runGuard(home, [
    ...["--job", "posts", "--attempts", "12"],
    ...["--progress", join(out, "done", "*.json"), "--"],
    ...home.words("quota_guard"),
    ...["--batch", "list", "--into", out, "--stall", "1", "--attempts", "1"],
    ...["--", worker],
  ]);
  assertEquals([run.code, textOf(join(home.path, "spent"))], [1, "x\n"]);
});
