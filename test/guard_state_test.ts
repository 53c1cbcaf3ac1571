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
import { Home, runGuard, together, until } from "./harness.ts";

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

Deno.test("a clock that steps back 50 s changes nothing on the books", async () => {
  await using home = new Home();
  const ahead = Math.floor(now()) + 50;
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

/** Python's hand on the lock, until it is released. */
class PythonLock implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #words: ReadableStreamDefaultReader<Uint8Array>;

  private constructor(child: Deno.ChildProcess) {
    this.#child = child;
    this.#words = child.stdout.getReader();
  }

  /** Null if there is no Python. */
  static async take(home: Home): Promise<PythonLock | null> {
    Deno.mkdirSync(home.state, { recursive: true, mode: 0o700 });
    const script = `
import fcntl, sys, time
with open(sys.argv[1], "a") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    sys.stdout.write("held\\n")
    sys.stdout.flush()
    time.sleep(600)
`;
    const path = join(home.state, "state.json.lock");
    let lock: PythonLock;
    try {
      lock = new PythonLock(
        new Deno.Command("python3", {
          args: ["-c", script, path],
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

  /** Once is enough. */
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

Deno.test("the lock of Python's fcntl.flock", async (t) => {
  await using home = new Home();
  await using python = await PythonLock.take(home);
  if (python === null) {
    console.error("PYTHON IS MISSING: its lock on the state is not tested");
  }
  await t.step({
    name:
      "held for a second or ten minutes delays, loses nothing, and costs no job its run",
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

/** How long a guard that waits for the lock is kept waiting: less than it has patience. */
function aMoment(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 500));
}

async function briefly(): Promise<void> {
  await using home = new Home();
  home.claude.script("limit");
  await using lock = await PythonLock.take(home);
  let over = false;
  const job = runJob(home, "mail", "claude -p hi").finally(() => over = true);
  await until(() => home.claude.calls().length === 1, "claude is asked");
  await aMoment();
  assert(!over, "it waits for the lock");
  await lock?.[Symbol.asyncDispose]();
  const { code, stderr } = await job;
  assertEquals(code, 1);
  assertEquals(newest(stderr, "mail"), "SKIPPED quota-during-run");
  assert(isOpen(home));
  assertEquals(outcome(home, "mail")[0], "skipped");
}

async function brieflyWhileOpen(): Promise<void> {
  await using home = new Home();
  openCircuit(home);
  await using lock = await PythonLock.take(home);
  const mail = await untilMarker(home, "mail");
  const post = runJob(home, "post", "claude -p hi", { flags: ["--priority"] });
  await aMoment();
  await lock?.[Symbol.asyncDispose]();
  assertEquals(newest(mail.marker, "mail"), "SKIPPED quota");
  assertEquals(await mail.rest, "");
  assertEquals(outcome(home, "mail")[0], "skipped");
  assertEquals(newest((await post).stderr, "post"), "RAN");
  assert(!isOpen(home));
}

async function forLong(): Promise<void> {
  await using home = new Home();
  await runJob(home, "warm", "true");
  await using _lock = await PythonLock.take(home);
  const { code, stdout, stderr } = await runJob(
    home,
    "mail",
    "echo ran; exit 3",
  );
  assertEquals([code, stdout], [3, "ran\n"]);
  assertEquals(markers(stderr), ["CLAUDE_QUOTA_JOB_RAN job=mail exit=3 ts=T"]);
  assertStringIncludes(stderr, "was held by another process for 5 s");
}

async function forLongWhileOpen(): Promise<void> {
  await using home = new Home();
  openCircuit(home);
  await using _lock = await PythonLock.take(home);
  const { marker, rest } = await untilMarker(home, "mail");
  assertEquals(newest(marker, "mail"), "SKIPPED quota");
  assertStringIncludes(await rest, "was held by another process for 2.5 s");
  assert(isOpen(home));
}

/** Starts a job that is skipped; its first words, and once it has ended the rest. */
async function untilMarker(
  home: Home,
  label: string,
): Promise<{ marker: string; rest: Promise<string> }> {
  const child = home.start([
    ...home.words("quota_guard"),
    ...["--job", label, "--", "/bin/sh", "-c", "echo ran"],
  ]);
  const reader = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  const { value: marker = "" } = await reader.read();
  const toTheEnd = async (): Promise<string> => {
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      rest += value;
    }
    assertEquals(await new Response(child.stdout).text(), "");
    assertEquals((await child.status).code, 0);
    return rest;
  };
  return { marker, rest: toTheEnd() };
}
