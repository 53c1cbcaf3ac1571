/** Many at once, and many one after another: counts are exact, nothing grows. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path/join";
import { recordJob } from "../../lib/books.ts";
import { openByHand } from "../../lib/circuit.ts";
import { denoHost } from "../../lib/host.ts";
import { readBooks, readCircuit, updateState } from "../../lib/state.ts";
import { Stage } from "../catchup_stage.ts";
import {
  books,
  circuit,
  isOpen,
  markers,
  newest,
  openCircuit,
} from "../guard_steps.ts";
import { type Finished, Home } from "../harness.ts";
import { warningsOf } from "./guard_scene.ts";
import { Broken, type Section } from "./report.ts";
import { runBounded } from "./run.ts";

/** Others who take the lock, for a moment each time, as long as the file is there. */
const PYTHON_LOCKS = `
import fcntl, os, random, sys, time
while os.path.exists(sys.argv[2]):
    with open(sys.argv[1], "a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        time.sleep(random.random() * 0.02)
    time.sleep(random.random() * 0.05)
`;

class PythonLocks implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #goesOn: string;

  constructor(home: Home) {
    this.#goesOn = join(home.path, "python goes on");
    Deno.writeTextFileSync(this.#goesOn, "");
    Deno.mkdirSync(home.state, { recursive: true, mode: 0o700 });
    const lock = join(home.state, "state.json.lock");
    this.#child = new Deno.Command("python3", {
      args: ["-c", PYTHON_LOCKS, lock, this.#goesOn],
      stdin: "null",
    }).spawn();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    Deno.removeSync(this.#goesOn);
    const { success } = await this.#child.status;
    if (!success) throw new Error("Python did not hold the lock to the end");
  }
}

/** How much there is of everything. */
export interface Amounts {
  guards: number;
  updates: number;
  agents: number;
}

/** Goes through all of it. */
export async function load(section: Section, many: Amounts): Promise<void> {
  await closedAtOnce(section, many.guards);
  await openAtOnce(section, many.guards);
  await limitAtOnce(section, many.guards);
  section.more.push(
    `${many.updates.toLocaleString("en")} updates`,
    `${many.agents.toLocaleString("en")} plists`,
  );
  await sequence(section, many.updates);
  await agents(section, many.agents);
}

/** So many guards at once, each a case, with Python at the lock. */
async function atOnce(
  section: Section,
  home: Home,
  count: number,
  one: (i: number) => { words: string[]; check: (run: Finished) => void },
): Promise<void> {
  await using _python = new PythonLocks(home);
  const runs = Array.from({ length: count }, (_, i) => {
    const { words, check } = one(i);
    return section.case(`guard ${i} of ${count} at once`, async () => {
      check(await runBounded(home, words, {}, 300));
    });
  });
  await Promise.all(runs);
}

function jobWords(
  home: Home,
  i: number,
  line: string,
  ...flags: string[]
): string[] {
  return [
    ...home.words("quota_guard", { kind: "bundle" }),
    ...["--job", `job-${i}`, ...flags, "--", "/bin/sh", "-c", line],
  ];
}

/**
 * Jobs that others kept off the books by holding the lock for too long. Where many
 * share a processor that comes to pass; then it is said, and the log has the outcome.
 */
class OffTheBooks {
  readonly #labels = new Set<string>();

  /** Nothing else may be said. */
  look(label: string, run: Finished): void {
    for (const line of warningsOf(run)) {
      assertMatch(line, /was held by another process for/);
      this.#labels.add(label);
    }
  }

  /** All the others are on the books. */
  check(home: Home, labels: readonly string[]): void {
    const jobs = books(home).jobs ?? {};
    const missing = labels.filter((label) => !Object.hasOwn(jobs, label));
    const lost = missing.filter((label) => !this.#labels.has(label));
    if (lost.length > 0) throw new Broken("lost", lost.join(" "));
    const { length } = missing;
    if (length > 0) {
      console.error(`  ${length} in their logs only, as they say`);
    }
  }
}

function labelsOf(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `job-${i}`);
}

/** Jobs with and without calls, and calls alone, while the circuit is closed. */
async function closedAtOnce(section: Section, count: number): Promise<void> {
  await using home = new Home();
  const off = new OffTheBooks();
  await atOnce(section, home, count, (i) => {
    if (i % 4 === 3) {
      const guard = home.words("quota_guard", { kind: "bundle" });
      return {
        words: [...guard, "--claude", "--", "-p", "hi"],
        check: (run) => assertEquals([run.code, run.stdout], [0, "hello\n"]),
      };
    }
    const calls = i % 4;
    return {
      words: jobWords(
        home,
        i,
        "claude -p hi; ".repeat(calls) + `exit ${calls}`,
      ),
      check: (run) => {
        off.look(`job-${i}`, run);
        assertEquals(run.code, calls);
        assertEquals(newest(run.stderr, `job-${i}`), "RAN");
      },
    };
  });
  await section.guarded("all are on the books", () => {
    off.check(home, labelsOf(count).filter((_, i) => i % 4 !== 3));
    for (const [label, job] of Object.entries(books(home).jobs ?? {})) {
      const n = Number(label.slice(4)) % 4;
      assertEquals([job.outcome, job.exit, job.calls], ["ran", n, n]);
    }
    const calls = home.claude.calls().length;
    assertEquals(calls, Math.floor(count / 4) * (1 + 1 + 2));
    assertEquals([...Deno.readDirSync(join(home.state, "runs"))], []);
  });
}

/** One of them gets the probe, which meets the limit; the others are skipped. */
async function openAtOnce(section: Section, count: number): Promise<void> {
  await using home = new Home();
  openCircuit(home);
  home.claude.script("limit");
  let probes = 0;
  const off = new OffTheBooks();
  await atOnce(section, home, count, (i) => ({
    words: jobWords(
      home,
      i,
      "claude -p hi",
      ...(i % 2 === 0 ? ["--priority"] : []),
    ),
    check: (run) => {
      const probed = markers(run.stderr).some((line) =>
        line.startsWith("CLAUDE_QUOTA_JOB_PRIORITY_PROBE ")
      );
      if (probed) probes++;
      assertEquals(
        newest(run.stderr, `job-${i}`),
        probed ? "SKIPPED priority-probe-quota" : "SKIPPED quota",
      );
      off.look(`job-${i}`, run);
    },
  }));
  await section.guarded("one probe for all", () => {
    if (probes > 1) throw new Broken("doubled", `${probes} probes`);
    assertEquals([probes, home.claude.calls().length], [1, 1]);
    off.check(home, labelsOf(count));
    const jobs = Object.values(books(home).jobs ?? {});
    assert(jobs.every((job) => job.outcome === "skipped"));
    assert(isOpen(home));
  });
}

/** All meet the limit at the same time: one episode, and all are owed. */
async function limitAtOnce(section: Section, count: number): Promise<void> {
  await using home = new Home();
  const off = new OffTheBooks();
  home.claude.script("limit");
  await atOnce(section, home, count, (i) => ({
    words: jobWords(home, i, "claude -p hi"),
    check: (run) => {
      const outcome = newest(run.stderr, `job-${i}`) ?? "";
      if (!outcome.startsWith("SKIPPED")) throw new Broken("lost", outcome);
      off.look(`job-${i}`, run);
    },
  }));
  await section.guarded("all are owed", () => {
    off.check(home, labelsOf(count));
    assert(isOpen(home));
    assertEquals(circuit(home).reason, "quota");
  });
}

/** One after another in this process: files, descriptors and memory stay as they are. */
async function sequence(section: Section, updates: number): Promise<void> {
  await section.guarded(`${updates} updates one after another`, async () => {
    await using home = new Home();
    const host = denoHost();
    const update = async (n: number): Promise<void> => {
      const done = await updateState(home.state, host, (state) => ({
        books: recordJob(state.books, `job-${n % 50}`, {
          outcome: "ran",
          ts: n,
          exit: 0,
          reason: null,
          ending: null,
          calls: n,
          seconds: 1,
          owed_from: null,
        }),
        ...(n % 100 === 0
          ? {
            circuit: openByHand(
              state.circuit,
              host.now() + 600,
              `${n}`,
              host.now(),
            ),
          }
          : {}),
        result: null,
      }));
      assert(done.done);
    };
    const warm = Math.min(1000, updates / 2);
    for (let n = 0; n < warm; n++) await update(n);
    const before = usage(home);
    for (let n = warm; n < updates; n++) await update(n);
    const after = usage(home);
    assertEquals(after.files, before.files);
    assertEquals(after.descriptors, before.descriptors);
    // The heap is swept when V8 likes; a leak of a state each would be far more.
    const grown = (after.rss - before.rss) / 2 ** 20;
    assert(grown < 64, `${grown.toFixed(0)} MiB more`);
    const { jobs } = await readBooks(home.state, host);
    for (let n = updates - 50; n < updates; n++) {
      const calls = jobs.get(`job-${n % 50}`)?.calls;
      if (calls !== n) throw new Broken("lost", `update ${n}, found ${calls}`);
    }
    const { reason } = await readCircuit(home.state, host);
    assertEquals(reason, `${Math.floor((updates - 1) / 100) * 100}`);
  });
}

function usage(home: Home): {
  files: string[];
  descriptors: number;
  rss: number;
} {
  return {
    files: [...Deno.readDirSync(home.state)].map(({ name }) => name).sort(),
    descriptors: [...Deno.readDirSync("/proc/self/fd")].length,
    rss: Deno.memoryUsage().rss,
  };
}

/** A round over very many plists, on a clock that is moved. */
async function agents(section: Section, count: number): Promise<void> {
  await section.guarded(`a round over ${count} agents`, async () => {
    using stage = new Stage();
    const owed: string[] = [];
    for (let i = 0; i < count; i++) {
      const label = `com.me.job${i}`;
      const isOwed = i % 5 === 0;
      if (isOwed) owed.push(label);
      const log = isOwed ? [stage.skip(label)] : [stage.ran(label)];
      stage.job(label, { log, takes: 1 });
    }
    const { kicked, failed } = await stage.run();
    assertEquals(failed, 0);
    const starts = Map.groupBy(stage.launchd.starts, (label) => label);
    for (const label of owed) {
      const n = starts.get(label)?.length ?? 0;
      if (n < 1) throw new Broken("lost", label);
      if (n > 1) throw new Broken("doubled", label);
    }
    assertEquals([kicked, stage.launchd.starts.length], [
      owed.length,
      owed.length,
    ]);
    assertEquals(stage.launchd.most, 1);
    assertEquals((await stage.run()).candidates, []);
  });
}
