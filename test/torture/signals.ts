/** Signals to guard and catch-up, in each phase. */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path/join";
import { CatchupHome } from "../catchup_home.ts";
import { executable, textOf } from "../files.ts";
import { markers, openCircuit, runJob } from "../guard_steps.ts";
import { type Finished, Home, until } from "../harness.ts";
import { inParallel, spread } from "./pool.ts";
import { Broken, type Section } from "./report.ts";
import { killHome, lines } from "./run.ts";
import { signalsAtCalls } from "./signals_at_calls.ts";

/** Those that are passed on, by number. */
export const NUMBERS = {
  SIGTERM: 15,
  SIGINT: 2,
  SIGHUP: 1,
  SIGQUIT: 3,
  SIGUSR1: 10,
} as const;
type Name = keyof typeof NUMBERS;
const NAMES = Object.keys(NUMBERS) as Name[];

/** A wait that is cut short far above what is due, far below what would hang. */
const SOON = 40;

/** Started, and its end awaited in time. */
class Running {
  readonly #child: Deno.ChildProcess;
  readonly #output: Promise<Deno.CommandOutput>;

  constructor(home: Home, words: string[]) {
    this.#child = home.start(words);
    this.#output = this.#child.output();
  }

  /** Stops it for a while; `meanwhile` happens before it goes on. */
  async pause(
    stop: "SIGTSTP" | "SIGSTOP",
    meanwhile: () => void,
  ): Promise<void> {
    this.signal(stop);
    const stat = `/proc/${this.#child.pid}/stat`;
    // A terminal's stop does not reach those that no shell could make go on.
    const seconds = stop === "SIGSTOP" ? SOON : 2;
    const stopped = () => /\) T /.test(textOf(stat));
    await until(stopped, "it is stopped", seconds).catch((error) => {
      if (stop === "SIGSTOP") throw error;
    });
    meanwhile();
    await new Promise((resolve) => setTimeout(resolve, 200));
    this.signal("SIGCONT");
  }

  signal(name: Deno.Signal): void {
    try {
      this.#child.kill(name);
    } catch {
      // It has ended.
    }
  }

  async end(): Promise<Finished> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<null>((resolve) => {
      timer = setTimeout(() => resolve(null), SOON * 1000);
    });
    const output = await Promise.race([this.#output, late]);
    clearTimeout(timer);
    if (output === null) {
      this.signal("SIGKILL");
      throw new Broken("hung", `no end ${SOON} s after the signal`);
    }
    const { code, signal, stdout, stderr } = output;
    const [out, err] = [stdout, stderr].map((b) => new TextDecoder().decode(b));
    return { code, signal, stdout: out ?? "", stderr: err ?? "" };
  }
}

/** The guard in front of a shell line. */
function job(home: Home, line: string, ...flags: string[]): string[] {
  return [
    ...home.words("quota_guard", { kind: "bundle" }),
    ...["--job", "mail", ...flags, "--", "/bin/sh", "-c", line],
  ];
}

/** A shell line that counts what it gets, and ends by it a moment later. */
function counting(home: Home): string {
  const traps = NAMES.map((name) =>
    `trap 'echo >> "${home.path}/got"; code=${128 + NUMBERS[name]}' ${
      name.slice(3)
    }`
  );
  return `${traps.join("\n")}
echo >> '${home.path}/started'
while [ -z "$code" ]; do sleep 0.05; done
for i in 1 2 3 4; do sleep 0.05; done
exit $code`;
}

function started(home: Home): Promise<boolean> {
  return until(() => lines(join(home.path, "started")) > 0, "it runs", SOON);
}

function final(run: Finished): string[] {
  return markers(run.stderr).filter((line) => /_JOB_(RAN|SKIPPED) /.test(line));
}

/** One marker, the exit code, the signal passed on once, no process left. */
function checkPassedOn(home: Home, name: Name, run: Finished): void {
  const code = 128 + NUMBERS[name];
  assertEquals(run.code, code);
  assertEquals(final(run), [`CLAUDE_QUOTA_JOB_RAN job=mail exit=${code} ts=T`]);
  const got = lines(join(home.path, "got"));
  if (got > 1) throw new Broken("doubled", `passed on ${got} times`);
  if (got < 1) throw new Broken("lost", "not passed on");
}

/** All phases and signals, or some. */
export async function signals(
  section: Section,
  most: {
    names: number;
    instants: number;
    ways: number;
    calls: number;
    stops: number;
    rounds: number;
  },
): Promise<void> {
  const names = spread(NAMES, most.names);
  const phases: Record<string, (home: Home, name: Name) => Promise<void>> = {
    "while it runs": async (home, name) => {
      const guard = new Running(home, job(home, counting(home)));
      await started(home);
      guard.signal(name);
      checkPassedOn(home, name, await guard.end());
    },
    "while it is stopped": async (home, name) => {
      const guard = new Running(home, job(home, counting(home)));
      await started(home);
      await guard.pause("SIGSTOP", () => guard.signal(name));
      checkPassedOn(home, name, await guard.end());
    },
    "after it was stopped from a terminal": async (home, name) => {
      const guard = new Running(home, job(home, counting(home)));
      await started(home);
      await guard.pause("SIGTSTP", () => {});
      guard.signal(name);
      checkPassedOn(home, name, await guard.end());
    },
    "while the books wait for the lock": lockedBooks,
    "while the probe waits for the lock": lockedProbe,
    "while the pipes of a call drain": draining,
  };
  const cases = Object.entries(phases).flatMap(([phase, work]) =>
    names.map((name) => ({ phase, name, work }))
  );
  await inParallel(
    cases,
    ({ phase, name, work }) =>
      section.case(`${name} ${phase}`, async () => {
        await using home = new Home();
        await work(home, name);
        // The grandchild of the draining pipes ends by itself.
        await until(() => !stillRuns(home), "no process is left", SOON);
      }),
  );
  await duringTheStart(section, names, most.instants);
  await children(section);
  await catchups(section, names);
  await signalsAtCalls(section, most);
}

/** Holds the lock from a process of its own until the end of the block. */
async function holdLock(home: Home): Promise<Deno.FsFile> {
  Deno.mkdirSync(home.state, { recursive: true, mode: 0o700 });
  const file = await Deno.open(join(home.state, "state.json.lock"), {
    create: true,
    write: true,
    mode: 0o600,
  });
  await file.lock(true);
  return file;
}

async function lockedBooks(home: Home, name: Name): Promise<void> {
  using _lock = await holdLock(home);
  const ignored = NAMES.map((name) => name.slice(3)).join(" ");
  const line = `trap '' ${ignored}; echo >> '${home.path}/started'; exit 3`;
  const guard = new Running(home, job(home, line));
  await started(home);
  // Whether it waits already cannot be seen; its job's end is the same anyway.
  await new Promise((resolve) => setTimeout(resolve, 500));
  guard.signal(name);
  const run = await guard.end();
  assertEquals(run.code, 3);
  assertEquals(final(run), ["CLAUDE_QUOTA_JOB_RAN job=mail exit=3 ts=T"]);
}

async function lockedProbe(home: Home, name: Name): Promise<void> {
  openCircuit(home);
  using _lock = await holdLock(home);
  const guard = new Running(
    home,
    job(home, `echo >> '${home.path}/ran'`, "--priority"),
  );
  await new Promise((resolve) => setTimeout(resolve, 500));
  guard.signal(name);
  const run = await guard.end();
  assertEquals(run.code, 128 + NUMBERS[name]);
  assertEquals(lines(join(home.path, "ran")), 0);
  assert(final(run).length <= 1, run.stderr);
}

/** A grandchild holds the pipes of a call that has ended. */
async function draining(home: Home, name: Name): Promise<void> {
  const ended = join(home.path, "ended");
  executable(
    join(home.bin, "claude"),
    `(trap '' TERM INT HUP QUIT USR1; sleep 2; echo late) &
echo hello; echo >> '${ended}'`,
  );
  const guard = new Running(home, [
    ...home.words("quota_guard", { kind: "bundle" }),
    ...["--claude", "--", "-p", "hi"],
  ]);
  await until(() => lines(ended) > 0, "claude has ended", SOON);
  guard.signal(name);
  const run = await guard.end();
  assert(run.stdout.startsWith("hello\n"), run.stdout);
  // Of the call itself, which was over, or of the signal that came before.
  assert([0, 128 + NUMBERS[name]].includes(run.code), `exit ${run.code}`);
}

/** At any instant of the start: it has not begun, or it is seen through. */
async function duringTheStart(
  section: Section,
  names: readonly Name[],
  instants: number,
): Promise<void> {
  // USR1 may be Deno's own until the guard listens.
  const cases = names.filter((name) => name !== "SIGUSR1").flatMap((name) =>
    Array.from({ length: instants }, (_, i) => ({ name, i }))
  );
  await inParallel(cases, ({ name, i }) => {
    const after = 10 + 240 * i / instants;
    return section.case(`${name} after ${after.toFixed(0)} ms`, async () => {
      await using home = new Home();
      const guard = new Running(home, job(home, counting(home)));
      await new Promise((resolve) => setTimeout(resolve, after));
      guard.signal(name);
      // On a busy machine it may come before Deno itself is there.
      const run = await guard.end();
      const code = 128 + NUMBERS[name];
      assertEquals(run.code, code, run.stderr);
      const ran = lines(join(home.path, "started"));
      if (ran > 0 || final(run).length > 0) {
        assertEquals(final(run), [
          `CLAUDE_QUOTA_JOB_RAN job=mail exit=${code} ts=T`,
        ]);
      }
      assert(!stillRuns(home), "the job runs on");
    });
  });
}

/** Does a process of this home live? */
function stillRuns(home: Home): boolean {
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    if (textOf(`/proc/${name}/cmdline`).includes(home.path)) return true;
  }
  return false;
}

/** Children that make it hard. */
async function children(section: Section): Promise<void> {
  await section.case("a child that ignores TERM is waited for", async () => {
    await using home = new Home();
    const line =
      `trap '' TERM; echo >> '${home.path}/started'; sleep 1; exit 5`;
    const guard = new Running(home, job(home, line));
    await started(home);
    for (let i = 0; i < 3; i++) guard.signal("SIGTERM");
    const run = await guard.end();
    assertEquals([run.code, final(run)], [5, [
      "CLAUDE_QUOTA_JOB_RAN job=mail exit=5 ts=T",
    ]]);
  });
  await section.case("a claude that closes its pipes early", async () => {
    await using home = new Home();
    const late = join(home.path, "late");
    executable(
      join(home.bin, "claude"),
      `echo hello; exec >&- 2>&-; sleep 1; echo >> '${late}'; exit 5`,
    );
    const run = await runJob(home, "mail", "claude -p hi", { kind: "bundle" });
    assertEquals([run.code, run.stdout], [5, "hello\n"]);
    assertEquals(lines(late), 1, "it was not waited for");
  });
  await section.case("a grandchild that keeps the pipes open", async () => {
    await using home = new Home();
    executable(join(home.bin, "claude"), "sleep 60 & echo hello");
    const guard = new Running(home, [
      ...home.words("quota_guard", { kind: "bundle" }),
      ...["--claude", "--", "-p", "hi"],
    ]);
    const run = await guard.end().finally(() => killHome(home));
    assertEquals([run.code, run.stdout], [0, "hello\n"]);
  });
  await section.case("a reader that goes away", async () => {
    await using home = new Home();
    executable(join(home.bin, "claude"), "while echo x; do :; done; exit 9");
    const words = home.words("quota_guard", { kind: "bundle" });
    const run = await new Running(home, [
      ...["/bin/sh", "-c", '{ "$@"; echo $? >&2; } | head -c 10', "sh"],
      ...words,
      ...["--job", "mail", "--", "claude", "-p", "hi"],
    ]).end();
    assertEquals(final(run).length, 1, run.stderr);
  });
}

const STOPPED = "while it is stopped";

/** The catch-up ends; the job that it has started goes on, and is not started again. */
async function catchups(
  section: Section,
  names: readonly Name[],
): Promise<void> {
  const phases: Record<
    string,
    (home: CatchupHome, name: Name, round: Running) => Promise<void>
  > = {
    "while a job runs": async (home, name, round) => {
      await until(() => home.starts("com.me.a") > 0, "the job runs", SOON);
      round.signal(name);
      const { code } = await round.end();
      // Deno may keep USR1 for its debugger: then it ends nothing.
      const ignored = name === "SIGUSR1" && code === 0;
      assertEquals(code, ignored ? 0 : 128 + NUMBERS[name]);
      assertEquals(home.starts("com.me.b"), ignored ? 1 : 0);
    },
    "while it waits for the lock": async (home, name, round) => {
      using _lock = await holdLock(home);
      await new Promise((resolve) => setTimeout(resolve, 1000));
      round.signal(name);
      const { code } = await round.end();
      const ignored = name === "SIGUSR1" && code === 1;
      assertEquals(code, ignored ? 1 : 128 + NUMBERS[name]);
      assertEquals([home.starts("com.me.a"), home.starts("com.me.b")], [0, 0]);
    },
    [STOPPED]: async (home, name, round) => {
      await until(() => home.starts("com.me.a") > 0, "the job runs", SOON);
      await round.pause("SIGSTOP", () => round.signal(name));
      assertEquals((await round.end()).code, 128 + NUMBERS[name]);
      assertEquals(home.starts("com.me.b"), 0);
    },
  };
  const cases = Object.entries(phases).flatMap(([phase, work]) =>
    names.filter((name) => phase !== STOPPED || name !== "SIGUSR1")
      .map((name) => ({ phase, name, work }))
  );
  await inParallel(
    cases,
    ({ phase, name, work }) =>
      section.case(`${name} to the catch-up ${phase}`, async () => {
        await using home = new CatchupHome();
        await home.job("com.me.a", "sleep 3");
        await home.job("com.me.b", "true");
        const round = new Running(home, [
          ...home.words("quota_catchup", { kind: "bundle" }),
          "--no-probe",
        ]);
        await work(home, name, round);
        const next = await home.catchUp([], { kind: "bundle" });
        assertEquals(next.code, 0, next.stdout);
        for (const label of ["com.me.a", "com.me.b"]) {
          const starts = home.starts(label);
          if (starts > 1) throw new Broken("doubled", label);
          if (starts < 1) throw new Broken("lost", label);
        }
      }),
  );
}
