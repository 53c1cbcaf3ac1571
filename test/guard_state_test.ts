import { assert, assertEquals, assertStringIncludes } from "@std/assert";
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
  writeState,
} from "./guard_steps.ts";
import { Home, runGuard, together } from "./harness.ts";

Deno.test("a corrupt, empty or absurd state never costs a job its run", async () => {
  const texts = [
    "",
    "{",
    "null",
    "[]",
    '"open"',
    '{"open_until": NaN}',
    '{"open_until": 99999999999999}',
    '{"open_until": -1e308, "scopes": 7, "suspects": [[]]}',
    '{"open_until": {"$gt": 0}, "last_priority_probe": "x"}',
    '{"__proto__": {"open_until": 9e9}, "constructor": 1}',
    "\u0000\u0001\u0002",
    "[".repeat(100_000),
  ];
  await using home = new Home();
  for (const name of ["state.json", "jobs.json"]) {
    const runs = texts.map(async (text, i) => {
      const folder = join(home.path, `${name} ${i}`);
      Deno.mkdirSync(folder, { mode: 0o700 });
      Deno.writeTextFileSync(join(folder, name), text);
      const { code, stdout, stderr } = await runJob(home, "a", "echo ran", {
        env: { CLAUDE_QUOTA_DIR: folder },
      });
      assertEquals([code, stdout], [0, "ran\n"], text);
      assertEquals(newest(stderr, "a"), "RAN");
      const said = stderr.split("\n").filter((line) =>
        line !== "" && !line.startsWith("CLAUDE_QUOTA_")
      );
      assert(said.length <= 1, stderr);
      // In a job's log it says whose line it is.
      for (const line of said) assertStringIncludes(line, "quota_guard: ");
      const { jobs } = JSON.parse(textOf(join(folder, "jobs.json")));
      assertEquals(jobs.a.outcome, "ran");
    });
    await together(runs);
  }
});

Deno.test("a clock that steps back 4 s changes nothing on the books", async () => {
  await using home = new Home();
  const ahead = Math.floor(now()) + 4;
  const mail = {
    outcome: "skipped",
    ts: ahead,
    exit: null,
    reason: "quota",
    ending: null,
    calls: 0,
    seconds: 30,
    owed_from: null,
  };
  const kick = { skip_ts: ahead, at: ahead, runs: 3, count: 1, done: true };
  writeState(home, "jobs.json", {
    jobs: { mail },
    kicks: { mail: kick },
    last_ok: ahead,
    heartbeats: { catchup: ahead },
  });
  const before = books(home);
  openCircuit(home, { last_priority_probe: ahead, opened_at: ahead });
  const skip = await runJob(home, "post", "true", { flags: ["--priority"] });
  assertEquals(newest(skip.stderr, "post"), "SKIPPED quota");
  assertEquals(circuit(home).last_priority_probe, ahead);
  await runGuard(home, ["--close"]);
  await runJob(home, "post", "claude -p hi");
  const { jobs = {}, ...rest } = books(home);
  const { jobs: _, ...restBefore } = before;
  assertEquals(jobs.mail, mail);
  assertEquals(rest, restBefore);
  assertEquals(outcome(home, "post"), ["ran", 0, null, "ok", 1]);
});

/** Python's hand on the lock: for so many seconds, or until the end of the block. */
class PythonLock implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #words: ReadableStreamDefaultReader<Uint8Array>;

  private constructor(child: Deno.ChildProcess) {
    this.#child = child;
    this.#words = child.stdout.getReader();
  }

  /** Null if there is no Python. */
  static async take(home: Home, seconds: number): Promise<PythonLock | null> {
    Deno.mkdirSync(home.state, { recursive: true, mode: 0o700 });
    const script = `
import fcntl, sys, time
with open(sys.argv[1], "a") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    sys.stdout.write("held\\n")
    sys.stdout.flush()
    time.sleep(float(sys.argv[2]))
`;
    const path = join(home.state, "state.json.lock");
    let lock: PythonLock;
    try {
      lock = new PythonLock(
        new Deno.Command("python3", {
          args: ["-c", script, path, `${seconds}`],
          stdout: "piped",
          stderr: "null",
        }).spawn(),
      );
    } catch {
      return null;
    }
    const { value } = await lock.#words.read();
    if (new TextDecoder().decode(value) === "held\n") return lock;
    await lock[Symbol.asyncDispose]();
    return null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // It has ended.
    }
    await this.#child.status;
    await this.#words.cancel();
  }
}

/** How long something took, in seconds. */
async function timed<T>(work: Promise<T>): Promise<[T, number]> {
  const start = performance.now();
  const result = await work;
  return [result, (performance.now() - start) / 1000];
}

Deno.test("the lock of Python's fcntl.flock", async (t) => {
  await using home = new Home();
  await using python = await PythonLock.take(home, 0);
  if (python === null) {
    console.error("PYTHON IS MISSING: its lock on the state is not tested");
  }
  await t.step({
    name:
      "held for 2 s or a minute delays, loses nothing, and costs no job its run",
    ignore: python === null,
    fn: async () => {
      await together([
        briefly(),
        brieflyWhileOpen(),
        forLong(),
        forLongWhileOpen(),
      ]);
    },
  });
});

async function briefly(): Promise<void> {
  await using home = new Home();
  home.claude.script("limit");
  await using _lock = await PythonLock.take(home, 2);
  const [{ code, stderr }, seconds] = await timed(
    runJob(home, "mail", "claude -p hi"),
  );
  assertEquals(code, 1);
  assertEquals(newest(stderr, "mail"), "SKIPPED quota-during-run");
  assert(seconds > 1.8 && seconds < 6, `${seconds} s`);
  assert(isOpen(home));
  assertEquals(outcome(home, "mail")[0], "skipped");
}

async function brieflyWhileOpen(): Promise<void> {
  await using home = new Home();
  openCircuit(home);
  await using _lock = await PythonLock.take(home, 2);
  const [skipped, probing] = await together([
    runJob(home, "mail", "true"),
    runJob(home, "post", "claude -p hi", { flags: ["--priority"] }),
  ]);
  assertEquals(newest(skipped.stderr, "mail"), "SKIPPED quota");
  assertEquals(outcome(home, "mail")[0], "skipped");
  assertEquals(newest(probing.stderr, "post"), "RAN");
  assert(!isOpen(home));
}

async function forLong(): Promise<void> {
  await using home = new Home();
  await runJob(home, "warm", "true");
  await using _lock = await PythonLock.take(home, 60);
  const [{ code, stdout, stderr }, seconds] = await timed(
    runJob(home, "mail", "echo ran; exit 3"),
  );
  assertEquals([code, stdout], [3, "ran\n"]);
  assertEquals(markers(stderr), ["CLAUDE_QUOTA_JOB_RAN job=mail exit=3 ts=T"]);
  assertStringIncludes(stderr, "was held by another process");
  assert(seconds < 8, `${seconds} s`);
}

async function forLongWhileOpen(): Promise<void> {
  await using home = new Home();
  openCircuit(home);
  await using _lock = await PythonLock.take(home, 60);
  const child = home.start([
    ...home.words("quota_guard"),
    ...["--job", "mail", "--", "/bin/sh", "-c", "echo ran"],
  ]);
  const reader = child.stderr.getReader();
  const start = performance.now();
  const { value } = await reader.read();
  const first = (performance.now() - start) / 1000;
  const marker = new TextDecoder().decode(value);
  assertEquals(newest(marker, "mail"), "SKIPPED quota");
  // At once, beside the minute that the lock is held.
  assert(first < 8, `${first} s`);
  while (!(await reader.read()).done);
  assertEquals(await new Response(child.stdout).text(), "");
  assertEquals((await child.status).code, 0);
  assert((performance.now() - start) / 1000 < 12);
  assert(isOpen(home));
}
