import { assert, assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import { join } from "@std/path/join";
import { claimItem } from "../lib/claim.ts";
import { executable, textOf } from "./files.ts";
import {
  type Finished,
  Home,
  runGuard,
  type RunOptions,
  together,
  until,
} from "./harness.ts";

/** A home with a list and a folder for the results. */
class BatchHome extends Home {
  readonly list = join(this.path, "list");
  readonly out = join(this.path, "out");
  /** One line an attempt: the item. */
  readonly attempts = join(this.path, "attempts.log");

  items(...items: string[]): this {
    Deno.writeTextFileSync(this.list, items.join("\n") + "\n");
    return this;
  }

  /** A worker of `text`, which leaves a line in `attempts`. */
  worker(text: string): string {
    return executable(
      join(this.path, "worker"),
      `printf '%s\\n' "$QUOTA_ITEM" >> '${this.attempts}'\n${text}`,
    );
  }

  batch(
    flags: string[],
    command: string[],
    options: RunOptions = {},
  ): Promise<Finished> {
    const words = ["--batch", this.list, "--into", this.out, ...flags];
    return runGuard(this, [...words, "--", ...command], options);
  }

  verify(...flags: string[]): Promise<Finished> {
    const words = ["--batch", this.list, "--into", this.out, "--verify"];
    return runGuard(this, [...words, ...flags]);
  }

  tried(): string[] {
    return textOf(this.attempts).split("\n").slice(0, -1);
  }

  /** The items with a marker, read as simply as any script would. */
  completed(): string[] {
    const done = join(this.out, "done");
    return namesIn(done).filter((name) => name.endsWith(".json"))
      .map((name) => JSON.parse(textOf(join(done, name))).name).sort();
  }

  /** All names in the folder of the results, folders apart. */
  files(): string[] {
    return namesIn(this.out).filter((name) =>
      !["done", "failed"].includes(name)
    ).sort();
  }
}

function namesIn(folder: string): string[] {
  try {
    return [...Deno.readDirSync(folder)].map((entry) => entry.name);
  } catch {
    return [];
  }
}

function lastLine(text: string): string {
  return text.trimEnd().split("\n").at(-1) ?? "";
}

const writes = 'printf "%s\\nEND\\n" "$QUOTA_ITEM" > "$QUOTA_PART"';

Deno.test("--batch commits each item and says so by its marker", async () => {
  await using home = new BatchHome().items(
    "alpha",
    "# no",
    "",
    "beta",
    "alpha",
  );
  const worker = home.worker(
    `[ "$QUOTA_OUT" = '${home.out}/'"$1.out" ] && ${writes}`,
  );
  const first = await home.batch(["--ends-with", "END"], [worker, "{}"]);
  assertEquals(first.code, 0, first.stderr);
  assertEquals(first.stdout, "done=2/2 failed=0 left=0\n");
  assertMatch(first.stderr, /"alpha" is in the list more than once/);
  assertMatch(first.stderr, /^quota_guard: 2\/2 "beta": done$/m);
  assertEquals(home.completed(), ["alpha", "beta"]);
  assertEquals(home.files(), ["alpha.out", "beta.out"]);
  assertEquals(textOf(join(home.out, "alpha.out")), "alpha\nEND\n");
  const marker = JSON.parse(textOf(join(home.out, "done", "alpha.json")));
  assertEquals(marker, {
    name: "alpha",
    bytes: 10,
    sha256: "65dea6d4c524239a9196c57149bd3a035d6a15dfbd5331f16f36b4f25fee0508",
    file: "alpha.out",
    ended_at: marker.ended_at,
    attempts: 1,
    cost_usd: null,
  });
  assert(Math.abs(marker.ended_at - Date.now() / 1000) < 60);
  assertEquals((await home.verify("--ends-with", "END")).stdout, "OK\n");

  const second = await home.batch([], [worker, "{}"]);
  assertEquals([second.code, second.stdout], [0, "done=2/2 failed=0 left=0\n"]);
  assertEquals(home.tried(), ["alpha", "beta"]);
});

Deno.test("--batch gives each item a run of its own, and leaves none", async () => {
  await using home = new BatchHome().items("a", "b", "c", "d");
  const worker = home.worker(`
    [ -e "$CLAUDE_QUOTA_DIR/runs/$CLAUDE_QUOTA_RUN" ] || exit 1
    [ "$QUOTA_ITEM" != b ] || claude -p x
    printf %s "$CLAUDE_QUOTA_RUN" > "$QUOTA_PART"`);
  const run = await home.batch(["--attempts", "1"], [worker]);
  assertEquals(run.code, 0, run.stderr);
  const ids = home.files().map((name) => textOf(join(home.out, name)));
  assertEquals(new Set(ids).size, 4);
  assertEquals(namesIn(join(home.state, "runs")), []);
});

Deno.test("--batch forgets a failure of what another batch got done meanwhile", async () => {
  await using home = new BatchHome().items("a", "b");
  const failed = join(home.out, "failed", "a.json");
  const worker = home.worker(`
    mkdir -p '${home.out}/failed'
    echo '{"name":"a"}' > '${failed}'
    echo '{"name":"other"}' > '${home.out}/failed/other.json'
    ${writes}`);
  assertEquals((await home.batch([], [worker])).code, 0);
  assertEquals(namesIn(join(home.out, "failed")), ["other.json"]);
});

Deno.test("--batch takes any item and passes arguments on as they are", async () => {
  const items = [
    "a/b",
    "..",
    "-rf",
    "two words",
    "quote\"s 'em $HOME `x` \\n",
    "日本語",
    "🎈",
    "x".repeat(300),
    "__proto__",
  ];
  await using home = new BatchHome().items(...items);
  const run = await home.batch(
    ["--stdout", "--workers", "3", "--name", "<{}>.txt"],
    ["printf", "%s\n", "new\nline {}", "{}{}"],
  );
  assertEquals(run.code, 0, run.stderr);
  assertEquals(home.completed(), [...items].sort());
  assertEquals(
    textOf(join(home.out, "<a%2Fb>.txt")),
    "new\nline a/b\na/ba/b\n",
  );
  assertEquals((await home.verify("--name", "<{}>.txt")).stdout, "OK\n");
});

Deno.test("--batch reads the list from its input", async () => {
  await using home = new BatchHome();
  const run = await runGuard(
    home,
    ["--batch", "-", "--into", home.out, "--stdout", "--", "cat", "/dev/null"],
    { stdin: "a\n" },
  );
  assertMatch(run.stderr, /"a": failed after 2 attempts: .*is empty/);
  // The worker's input is empty, not the batch's.
  const again = await home.items("a").batch(
    ["--stdout"],
    ["sh", "-c", "cat; echo x"],
    { stdin: "not this\n" },
  );
  assertEquals(again.code, 0, again.stderr);
  assertEquals(textOf(join(home.out, "a.out")), "x\n");
});

Deno.test("--batch commits no part that is not whole", async () => {
  await using home = new BatchHome().items("a");
  const cases: [string, RegExp][] = [
    [":", /wrote no \$QUOTA_PART/],
    [': > "$QUOTA_PART"', /is empty/],
    ['printf "a\\nEN" > "$QUOTA_PART"', /does not end with "END"/],
    ['mkdir "$QUOTA_PART"', /no plain file/],
    ['ln -s /etc/hosts "$QUOTA_PART"', /no plain file/],
    [`${writes}; exit 3`, /exit code 3/],
  ];
  for (const [text, why] of cases) {
    const run = await home.batch(
      ["--ends-with", "END", "--attempts", "1"],
      [home.worker(text)],
    );
    assertEquals([run.code, home.completed(), home.files()], [1, [], []], text);
    assertMatch(run.stderr, why);
    assertEquals(run.stdout, "done=0/1 failed=1 left=0\n");
  }
});

Deno.test("--batch tries a crashed item again, and failed ones last", async () => {
  await using home = new BatchHome().items("a", "b", "c");
  const once = join(home.path, "once");
  const worker = home.worker(
    `case $QUOTA_ITEM in
       a) exit 7 ;;
       b) [ -e '${once}' ] || { : > '${once}'; exit 1; } ;;
     esac
     ${writes}`,
  );
  const first = await home.batch([], [worker]);
  assertEquals([first.code, first.stdout], [1, "done=2/3 failed=1 left=0\n"]);
  assertEquals(home.tried(), ["a", "a", "b", "b", "c"]);
  const b = JSON.parse(textOf(join(home.out, "done", "b.json")));
  assertEquals(b.attempts, 2);
  const failed = JSON.parse(textOf(join(home.out, "failed", "a.json")));
  assertEquals([failed.name, failed.why], ["a", "exit code 7"]);

  home.items("a", "d");
  Deno.removeSync(home.attempts);
  await home.batch([], [home.worker(writes)]);
  assertEquals(home.tried(), ["d", "a"]);
  assertEquals(namesIn(join(home.out, "failed")), []);
});

Deno.test("--batch takes an answer after an attempt whose call was killed", async () => {
  await using home = new BatchHome().items("a");
  const worker = home.worker(`
    if [ "$(wc -l < '${home.attempts}' | tr -d ' ')" = 1 ]; then
      echo begun >> "$CLAUDE_QUOTA_DIR/runs/$CLAUDE_QUOTA_RUN"; exit 1
    fi
    claude -p x > "$QUOTA_PART"`);
  const run = await home.batch([], [worker]);
  assertEquals([run.code, home.tried()], [0, ["a", "a"]], run.stderr);
});

Deno.test("--batch stops when it gets no further", async () => {
  await using home = new BatchHome().items("a", "b", "c", "d", "e");
  const worker = home.worker(`[ "$QUOTA_ITEM" = b ] && ${writes}`);
  const run = await home.batch([], [worker]);
  assertEquals([run.code, run.stdout], [1, "done=1/5 failed=3 left=1\n"]);
  assertEquals(
    lastLine(run.stderr),
    "quota_guard: no forward progress after attempt 4: the last item failed: exit code 1; see to that first",
  );
  Deno.removeSync(home.attempts);
  const one = await home.batch(["--stall", "1", "--attempts", "1"], [worker]);
  assertEquals([one.code, home.tried()], [1, ["e"]]);
  assertMatch(one.stderr, /after attempt 1: the last item failed: exit code 1/);
});

Deno.test("--batch that a cap stops says what helps, whatever else failed", async () => {
  await using home = new BatchHome().items("a", "b", "c");
  home.claude.script("budget-json");
  const worker = home.worker(
    '[ "$QUOTA_ITEM" = a ] && claude -p > "$QUOTA_PART"',
  );
  const run = await home.batch(["--attempts", "1"], [worker]);
  assertEquals([run.code, home.tried()], [1, ["a", "b"]]);
  assertEquals(
    lastLine(run.stderr),
    "quota_guard: no forward progress after attempt 2: raise --max-budget-usd or do fewer items a run",
  );
});

Deno.test("--batch --max-items ends after so many commits", async () => {
  await using home = new BatchHome().items("a", "b", "c", "d", "e");
  const worker = home.worker(`[ "$QUOTA_ITEM" != a ] && ${writes}`);
  const flags = ["--max-items", "2", "--workers", "4", "--attempts", "1"];
  const run = await home.batch(flags, [worker]);
  assertEquals(run.code, 0, run.stderr);
  assertEquals(home.completed().length, 2);
});

Deno.test("--batch drops an item that its budget stops, and names the costs", async () => {
  await using home = new BatchHome().items("a", "b", "c");
  home.claude.script("ok-json", "budget-json", "ok-json");
  const worker = home.worker(
    'claude -p --output-format json > "$QUOTA_PART"',
  );
  const run = await home.batch([], [worker]);
  assertEquals(run.code, 1, run.stderr);
  assertEquals(
    run.stdout,
    "done=2/3 failed=1 left=0 cost=$0.75 worst=$0.25 suggested --max-budget-usd $0.50\n",
  );
  assertMatch(run.stderr, /"b": failed: budget stop; raise --max-budget-usd/);
  assertEquals(home.tried(), ["a", "b", "c"]);
  const marker = JSON.parse(textOf(join(home.out, "done", "a.json")));
  assertEquals(marker.cost_usd, 0.25);
  assertEquals(namesIn(join(home.state, "runs")), []);
});

Deno.test("--batch stops at a limit; what was started is as before", async () => {
  await using home = new BatchHome().items("a", "b", "c", "d");
  const reset = Math.floor(Date.now() / 1000) + 3600;
  home.claude.script("ok", `limit ${reset}`);
  const worker = home.worker('claude -p hello > "$QUOTA_PART"');
  const run = await home.batch([], [worker]);
  assertEquals([run.code, run.stdout], [75, "done=1/4 failed=0 left=3\n"]);
  assertEquals(home.tried(), ["a", "b"]);
  assertEquals(home.files(), ["a.out"]);
  assertEquals(namesIn(join(home.out, "failed")), []);

  const later = await home.batch([], [worker]);
  assertEquals(later.code, 75);
  assertMatch(
    later.stderr,
    /^CLAUDE_QUOTA_CIRCUIT_OPEN reason=quota remaining=\d+s$/m,
  );
  assertEquals(home.tried(), ["a", "b"]);
  home.items("a");
  assertEquals((await home.batch([], [worker])).code, 0);
});

Deno.test("--batch commits no refusal, even from a claude that ends with 0", async () => {
  for (const output of ["budget-old", "turns-old"]) {
    await using home = new BatchHome().items("a");
    home.claude.script(output);
    const run = await home.batch(["--stdout"], ["claude", "-p", "{}"]);
    assertEquals([run.code, home.files()], [1, []], output);
  }
  await using home = new BatchHome().items("a");
  home.claude.script("limit");
  const run = await home.batch([], [
    home.worker('claude -p x > "$QUOTA_PART"; exit 0'),
  ]);
  assertEquals([run.code, home.files()], [75, []]);
});

Deno.test("--batch lets workers finish when one of them meets the limit", async () => {
  await using home = new BatchHome().items("slow", "limit", "never");
  home.claude.script("limit");
  const met = join(home.path, "met");
  const worker = home.worker(`
    if [ "$QUOTA_ITEM" = limit ]; then
      claude -p x > "$QUOTA_PART"; code=$?; : > '${met}'; exit $code
    fi
    until [ -e '${met}' ]; do sleep 0.02; done
    ${writes}`);
  const run = await home.batch(["--workers", "2"], [worker]);
  assertEquals(run.code, 75, run.stderr);
  assertEquals(home.completed(), ["slow"]);
  assertEquals(home.tried().sort(), ["limit", "slow"]);
});

Deno.test("--batch tries a crash again only while the circuit is closed", async () => {
  await using home = new BatchHome().items("a", "b");
  const open = home.words("quota_guard").map((word) => `'${word}'`).join(" ");
  const run = await home.batch([], [home.worker(`${open} --open; exit 1`)]);
  assertEquals([run.code, home.tried()], [75, ["a"]], run.stderr);
  assertEquals(namesIn(join(home.out, "failed")), []);
});

Deno.test("--batch in a job: what the job is owed goes by the batch's calls", async () => {
  await using home = new BatchHome().items("a", "b", "c");
  const worker = home.worker('claude -p x > "$QUOTA_PART"');
  const guard = home.words("quota_guard");
  const batch = [...guard, "--batch", home.list, "--into", home.out];
  const job = (...flags: string[]): Promise<Finished> =>
    runGuard(home, ["--job", "posts", ...flags, "--", ...batch, "--", worker]);
  const reset = Math.floor(Date.now() / 1000) + 3600;
  home.claude.script("ok", `limit-json ${reset}`);
  const first = await job("--resumable");
  assertMatch(
    lastLine(first.stderr),
    /^CLAUDE_QUOTA_JOB_SKIPPED job=posts reason=quota-during-run exit=75 ts=\d+$/,
  );
  // Holding the probe, one item finds out; with its answer the others follow.
  home.claude.script("ok");
  const second = await job("--priority");
  assertEquals(second.code, 0, second.stderr);
  assertEquals(home.completed(), ["a", "b", "c"]);
  assertMatch(
    lastLine(second.stderr),
    /^CLAUDE_QUOTA_JOB_RAN job=posts exit=0/,
  );
  assertMatch(second.stderr, /^CLAUDE_QUOTA_PRIORITY_PROBE_PASS/m);
  assertNotMatch(second.stderr, /CIRCUIT_OPEN/);
});

Deno.test("--batch in a job: the probe is one item, and its limit ends it", async () => {
  await using home = new BatchHome().items("a", "b", "c");
  const worker = home.worker('claude -p x > "$QUOTA_PART"');
  await runGuard(home, ["--open", "--until", "+60m"]);
  home.claude.script("limit");
  const run = await runGuard(home, [
    "--job",
    "posts",
    "--priority",
    "--",
    ...home.words("quota_guard"),
    ...["--batch", home.list, "--into", home.out, "--workers", "3"],
    ...["--", worker],
  ]);
  assertEquals(run.code, 75, run.stderr);
  assertEquals(home.claude.calls().length, 1);
  assertMatch(lastLine(run.stderr), /reason=priority-probe-quota exit=75/);
});

Deno.test("--batch in a job: a circuit that opened before its first item is owed", async () => {
  for (const [script, calls] of [["ok", 0], ["limit", 1]] as const) {
    await using home = new BatchHome().items("a");
    await runGuard(home, ["--open", "--until", "+60m"]);
    if (calls === 0) await runGuard(home, ["--close"]);
    home.claude.script(script);
    const quoted = (words: string[]): string =>
      words.map((word) => `'${word}'`).join(" ");
    const guard = home.words("quota_guard");
    const batch = [...guard, "--batch", home.list, "--into", home.out];
    const first = calls === 0 ? `${quoted(guard)} --open` : "claude -p x";
    const worker = home.worker('claude -p x > "$QUOTA_PART"');
    const line = `${first}; exec ${quoted([...batch, "--", worker])}`;
    const run = await runGuard(
      home,
      ["--job", "posts", "--priority", "--", "sh", "-c", line],
    );
    assertEquals([run.code, home.tried()], [75, []], run.stderr);
    assertEquals(home.claude.calls().length, calls);
    assertMatch(
      lastLine(run.stderr),
      /JOB_SKIPPED job=posts reason=\S+ exit=75 /,
    );
  }
});

Deno.test("--batch passes a signal on and leaves what was started as it was", async () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    await using home = new BatchHome().items("a", "b", "c", "d");
    const got = join(home.path, "got");
    const ready = join(home.path, "ready");
    // Ends with 0 and a whole part: still nobody knows what it had in mind.
    const worker = home.worker(`
      finish() { ${writes}; echo x >> '${got}'; exit 0; }
      trap finish TERM INT
      echo x >> '${ready}'
      while :; do sleep 0.05; done`);
    const child = home.start([
      ...home.words("quota_guard"),
      ...["--batch", home.list, "--into", home.out, "--workers", "2"],
      ...["--", worker],
    ]);
    await until(() => textOf(ready) === "x\nx\n", "two workers run");
    child.kill(signal);
    const { code, stderr } = await child.output();
    assertEquals(
      code,
      signal === "SIGTERM" ? 143 : 130,
      new TextDecoder().decode(stderr),
    );
    assertEquals(textOf(got), "x\nx\n");
    assertEquals([home.completed(), home.files()], [[], []]);
    assertEquals(home.tried().length, 2);
    assertEquals(namesIn(join(home.out, "failed")), []);
  }
});

Deno.test("--batch sweeps what dead writers left, and nothing else", async () => {
  await using home = new BatchHome().items("a");
  const id = "4194000-0123abcd";
  for (const folder of ["done", "failed", ".claims"]) {
    Deno.mkdirSync(join(home.out, folder), { recursive: true });
  }
  const dead = [
    `.dead.${id}.part`,
    `.a.${id}.part`,
    `done/dead.json.${id}.tmp`,
    `failed/gone.json.${id}.tmp`,
    ".claims/gone",
  ];
  const live = [`.live.${id}.part`, `done/live.json.${id}.tmp`];
  // What only looks so.
  const others = [`x.${id}.part`, ".hidden.part", "other.tmp"];
  for (const name of [...dead, ...live, ...others]) {
    Deno.writeTextFileSync(join(home.out, name), "x");
  }
  {
    using claim = claimItem(home.out, "live");
    assert(claim !== null);
    const run = await home.batch([], [home.worker(writes)]);
    assertEquals(run.code, 0, run.stderr);
    const left = (name: string): boolean =>
      textOf(join(home.out, name)) === "x";
    assertEquals(dead.filter(left), []);
    assertEquals([...live, ...others].filter(left), [...live, ...others]);
    const faults = (await home.verify()).stdout;
    assertEquals(faults.includes("live"), false, faults);
  }
  const faults = (await home.verify()).stdout;
  assertMatch(faults, /leftover-part: ".*\/\.live\..*\.part"/);
  assertMatch(faults, /no-marker: ".*x\..*\.part"/);
  assertEquals(namesIn(home.out).includes(".claims"), false);
});

Deno.test("--batch leaves an item alone that another batch works on", async () => {
  await using home = new BatchHome().items("a", "b");
  const worker = home.worker(writes);
  {
    using claim = claimItem(home.out, "a");
    assert(claim !== null);
    const run = await home.batch([], [worker]);
    assertEquals([run.code, run.stdout], [0, "done=1/2 failed=0 left=1\n"]);
    assertMatch(run.stderr, /"a": left to another batch/);
  }
  await home.batch([], [worker]);
  assertEquals(home.tried(), ["b", "a"]);
});

Deno.test("--batch looks again at the end for what another batch had", async () => {
  await using home = new BatchHome().items("a", "b");
  const free = join(home.path, "free");
  const worker = home.worker(
    `until [ -e '${free}' ]; do sleep 0.02; done; ${writes}`,
  );
  const claim = claimItem(home.out, "a");
  const run = home.batch([], [worker]);
  await until(() => home.tried().length === 1, "b is tried");
  claim?.[Symbol.dispose]();
  Deno.writeTextFileSync(free, "");
  assertEquals((await run).stdout, "done=2/2 failed=0 left=0\n");
  assertEquals(home.tried(), ["b", "a"]);
});

Deno.test("--batch: two on one folder share the items", async () => {
  const items = Array.from({ length: 24 }, (_, i) => `item ${i}`);
  await using home = new BatchHome().items(...items);
  const worker = home.worker(`sleep 0.01; ${writes}`);
  const runs = await together(
    [1, 2].map(() => home.batch(["--workers", "3"], [worker])),
  );
  assertEquals(runs.map((run) => run.code), [0, 0], runs[0]?.stderr);
  assertEquals(home.completed(), items.toSorted());
  assertEquals(home.tried().sort(), items.toSorted());
  assertEquals((await home.verify()).stdout, "OK\n");
});

Deno.test("--batch --workers 24 records all of 24", async () => {
  const items = Array.from({ length: 24 }, (_, i) => `item ${i}`);
  await using home = new BatchHome().items(...items);
  const run = await home.batch(["--workers", "24"], [home.worker(writes)]);
  assertEquals([run.code, run.stdout], [0, "done=24/24 failed=0 left=0\n"]);
  assertEquals(home.completed(), items.toSorted());
});

/** A batch that dies by SIGKILL after so long, with its workers or without. */
async function killedAfter(
  home: BatchHome,
  worker: string,
  milliseconds: number,
  withWorkers: boolean,
): Promise<boolean> {
  const words = home.words("quota_guard");
  const child = new Deno.Command("/bin/sh", {
    // A group of its own, so that one signal reaches guard and workers.
    detached: true,
    args: ["-c", 'exec "$@"', "sh", ...words, "--batch", home.list].concat(
      ["--into", home.out, "--workers", "3", "--", worker],
    ),
    clearEnv: true,
    env: home.env,
    stdout: "null",
    stderr: "null",
  }).spawn();
  const timer = setTimeout(() => {
    try {
      Deno.kill(withWorkers ? -child.pid : child.pid, "SIGKILL");
    } catch {
      // It has just ended.
    }
  }, milliseconds);
  const { signal } = await child.status;
  clearTimeout(timer);
  return signal === "SIGKILL";
}

/** Every item has its marker and its whole file, by a look of one's own. */
function assertWhole(home: BatchHome, items: string[]): void {
  for (const item of items) {
    const text = textOf(join(home.out, `${item}.out`));
    assertEquals(text, `half whole ${item}\nEND\n`);
    const marker = JSON.parse(textOf(join(home.out, "done", `${item}.json`)));
    assertEquals([marker.name, marker.bytes], [item, text.length]);
  }
}

Deno.test("--batch killed at any instant and resumed: all whole, none twice", async () => {
  const kills = Number(Deno.env.get("BATCH_KILLS") ?? 8);
  await using home = new BatchHome();
  const twice = join(home.path, "twice");
  // One that a dead batch has left behind may come too late. Whose it is stands
  // in the name of its part: .NAME.PID-RANDOM.part
  const worker = home.worker(`
    batch=\${QUOTA_PART%-*} batch=\${batch##*.}
    [ -e '${home.out}/done/'"$QUOTA_ITEM.json" ] && kill -0 "$batch" &&
      echo x >> '${twice}'
    printf 'half' > "$QUOTA_PART"
    sleep 0.01
    printf ' whole %s\\nEND\\n' "$QUOTA_ITEM" >> "$QUOTA_PART"`);
  let killed = 0;
  for (let round = 0; killed < kills; round++) {
    const items = Array.from({ length: 60 }, (_, i) => `item-${round}-${i}`);
    home.items(...items);
    for (let i = 0; i < 8; i++) {
      const after = 50 + Math.random() * 200;
      if (await killedAfter(home, worker, after, i % 2 === 0)) killed++;
    }
    const resumed = await home.batch(["--ends-with", "END"], [worker]);
    assertEquals(resumed.code, 0, resumed.stderr);
    // What an outliving worker wrote since is no leftover of this run.
    const faults = (await home.verify("--ends-with", "END")).stdout.split("\n")
      .filter((line) => line !== "" && !line.startsWith("leftover-part"));
    assertEquals(faults.filter((line) => line !== "OK"), []);
    assertWhole(home, items);
  }
  assertEquals(textOf(twice), "");
});

Deno.test("--batch --verify names every fault", async () => {
  const items = ["whole", "cut", "changed", "gone", "unmarked", "short"];
  await using home = new BatchHome().items(...items);
  const run = await home.batch([], [home.worker(writes)]);
  assertEquals(run.code, 0);
  const at = (name: string): string => join(home.out, name);
  Deno.writeTextFileSync(at("cut.out"), "cut");
  Deno.writeTextFileSync(at("changed.out"), "Changed\nEND\n");
  Deno.removeSync(at("gone.out"));
  Deno.removeSync(at("done/unmarked.json"));
  Deno.writeTextFileSync(at("stray.out"), "x");
  Deno.writeTextFileSync(at(".whole.1-0123abcd.part"), "x");
  home.items(...items, "new");
  const { code, stdout } = await home.verify("--ends-with", "ort\nEND");
  assertEquals(code, 1);
  const faults = stdout.trimEnd().split("\n").map((line) =>
    line.replaceAll(home.out, "OUT")
  );
  assertEquals(faults, [
    'truncated: "whole": does not end with "ort\\nEND"',
    'size-mismatch: "cut": 3 bytes, marker says 8',
    'sha256-mismatch: "changed"',
    'missing-file: "gone": "OUT/gone.out"',
    'missing-marker: "unmarked"',
    'missing-marker: "new"',
    'leftover-part: "OUT/.whole.1-0123abcd.part"',
    'no-marker: "OUT/stray.out"',
    'no-marker: "OUT/unmarked.out"',
  ]);
});

Deno.test("--batch needs to write nothing but state and results, as a bundle", async () => {
  await using home = new BatchHome().items("a", "b");
  const words = home.words("quota_guard", { kind: "bundle" }).map((word) =>
    word === "--allow-write" ? `${word}=${home.state},${home.out}` : word
  );
  const flags = ["--batch", home.list, "--into", home.out];
  const worker = home.worker('claude -p x > "$QUOTA_PART"');
  const run = await home.run([...words, ...flags, "--", worker]);
  assertEquals(run.code, 0, run.stderr);
  const verify = await home.run([...words, ...flags, "--verify"]);
  assertEquals(verify.stdout, "OK\n");
});

Deno.test("--batch without a state folder runs, unwatched", async () => {
  await using home = new BatchHome().items("a");
  const run = await home.batch([], [home.worker(writes)], {
    env: { CLAUDE_QUOTA_DIR: null, HOME: null },
  });
  assertEquals(run.code, 0, run.stderr);
  assertEquals(home.completed(), ["a"]);
});

Deno.test("--batch says what is wrong with its arguments", async () => {
  await using home = new BatchHome().items("a");
  const into = ["--into", home.out];
  const clash = join(home.path, "clash");
  Deno.writeTextFileSync(clash, "caf\u00e9\ncafe\u0301\n");
  const cases: [string[], RegExp][] = [
    [["--batch", home.list, "--", "true"], /requires --into/],
    [["--batch", home.list, ...into], /requires a command after --/],
    [
      ["--batch", home.list, ...into, "--verify", "--", "true"],
      /leave the command out/,
    ],
    [
      ["--batch", home.list, ...into, "--name", "x", "--", "true"],
      /--name takes no "x": it needs \{\} once/,
    ],
    [
      ["--batch", home.list, ...into, "--workers", "0", "--", "true"],
      /--workers must be above zero/,
    ],
    [
      ["--batch", home.list, ...into, "--worker", "2", "--", "true"],
      /did you mean --workers/,
    ],
    [
      ["--batch", clash, ...into, "--", "true"],
      /would share the file/,
    ],
    [
      ["--batch", join(home.path, "no"), ...into, "--", "true"],
      /cannot read the list/,
    ],
    [
      ["--batch", home.list, "--into", home.list, "--", "true"],
      /cannot make the folder/,
    ],
  ];
  for (const [args, says] of cases) {
    const run = await runGuard(home, args);
    assertEquals(run.code, 2, run.stderr);
    assertMatch(run.stderr, says);
  }
});
