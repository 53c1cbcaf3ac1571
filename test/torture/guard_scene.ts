/** A job and its call on their way through the guard, under strace. */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path/join";
import type { EndingName } from "../../lib/ending.ts";
import { brokenRuns, settleBrokenRuns } from "../../lib/broken_run.ts";
import { fakeHost } from "../fake_host.ts";
import { textOf } from "../files.ts";
import {
  books,
  circuit,
  isOpen,
  newest,
  now,
  openCircuit,
  writeState,
} from "../guard_steps.ts";
import { type Finished, Home } from "../harness.ts";
import { Broken } from "./report.ts";
import {
  jsonOf,
  lines,
  lockIsFree,
  namesBelow,
  outcomeOf,
  runBounded,
} from "./run.ts";
import { type Injection, straceWords, type SystemCall } from "./strace.ts";

/** How a call may end. */
type Met = EndingName | "opus-limit";

/** Outputs of the stand-in that have another name. */
const OUTPUTS: { [met in Met]?: string } = {
  // Without its status it would be any failure.
  suspected: "suspected-json",
  killed: "raw /dev/null 137",
};

/** Endings by which claude got something done. */
const DONE: readonly (Met | undefined)[] = ["ok", "budget", "turns"];
/** Endings by which a run is owed. */
const REFUSED: readonly (Met | undefined)[] = ["limit", "opus-limit"];

/** One way through the guard. */
export interface Way {
  name: string;
  /** What its call meets; without it the job makes none. */
  claude?: Met;
  priority?: boolean;
  /** When the circuit opens, if it does. */
  open?: "before" | "during";
  /** Whose system calls are meant: the guard of the job, or that of its call. */
  traced: "job" | "call";
  /** The job is nothing but the call. */
  alone?: boolean;
}

/** Every way that is taken in the long form. */
export const WAYS: readonly Way[] = [
  { name: "skipped job", open: "before", traced: "job" },
  { name: "job", traced: "job" },
  { name: "job, at the limit", claude: "limit", traced: "job" },
  { name: "job, answered", claude: "ok", traced: "job" },
  {
    name: "call as job, at the limit",
    claude: "limit",
    traced: "job",
    alone: true,
  },
  { name: "call as job, answered", claude: "ok", traced: "job", alone: true },
  {
    name: "probing job, answered",
    open: "before",
    priority: true,
    claude: "ok",
    traced: "job",
  },
  {
    name: "probing job, at the limit",
    open: "before",
    priority: true,
    claude: "limit",
    traced: "job",
  },
  { name: "call, answered", claude: "ok", traced: "call" },
  { name: "call, at the limit", claude: "limit", traced: "call" },
  {
    name: "call, refused in unknown words",
    claude: "suspected",
    traced: "call",
  },
  { name: "call, stopped by its budget", claude: "budget", traced: "call" },
  { name: "call, stopped by its turns", claude: "turns", traced: "call" },
  { name: "call, at a model's limit", claude: "opus-limit", traced: "call" },
  { name: "call, throttled", claude: "throttle", traced: "call" },
  { name: "call, overloaded", claude: "overloaded", traced: "call" },
  { name: "call, not logged in", claude: "auth", traced: "call" },
  { name: "call, failed", claude: "failed", traced: "call" },
  { name: "call, killed", claude: "killed", traced: "call" },
  {
    name: "call, refused by the circuit",
    claude: "ok",
    open: "during",
    traced: "call",
  },
  {
    name: "probing call, answered",
    open: "before",
    priority: true,
    claude: "ok",
    traced: "call",
  },
  {
    name: "probing call, at the limit",
    open: "before",
    priority: true,
    claude: "limit",
    traced: "call",
  },
];

/** What the guard says when it does not know what a call has met. */
const UNSEEN =
  /nothing is guarded|not watched|not on its run's tally|met is not known/;

/** The exit code of the job, whatever its call meets. */
export const JOB_EXIT = 3;
const OTHER = { outcome: "skipped", ts: 1_700_000_000, reason: "quota" };

/** A home with one job in it. */
export class GuardScene implements AsyncDisposable {
  readonly home = new Home();
  readonly way: Way;
  readonly log = join(this.home.path, "trace");
  readonly folders = [this.home.state];
  readonly #starts = join(this.home.path, "starts");
  readonly #ends = join(this.home.path, "ends");

  constructor(way: Way) {
    this.way = way;
    const { claude = "ok" } = way;
    this.home.claude.script(OUTPUTS[claude] ?? claude);
    writeState(this.home, "jobs.json", { jobs: { other: OTHER } });
    if (way.open === "before") openCircuit(this.home);
  }

  /**
   * Runs the job, with or without harm.
   *
   * @param before Words in front of all
   */
  async run(
    harm: { call: SystemCall; what: Injection } | null,
    before: readonly string[] = [],
  ): Promise<Finished> {
    const strace = straceWords(this.log, harm);
    const { traced, alone } = this.way;
    const job = alone
      ? this.#job("mail", "claude", "-p", "hi")
      : this.#shell("mail", this.#script(traced === "call" ? strace : []));
    return await runBounded(
      this.home,
      [...before, ...(traced === "job" ? strace : []), ...job],
    );
  }

  /** The words of the guard with a job of this way. */
  #job(label: string, ...command: string[]): string[] {
    return [
      ...this.home.words("quota_guard", { kind: "bundle" }),
      ...["--job", label, ...(this.way.priority ? ["--priority"] : []), "--"],
      ...command,
    ];
  }

  #shell(label: string, script: string): string[] {
    return this.#job(label, "/bin/sh", "-c", script);
  }

  #script(tracer: readonly string[]): string {
    const { claude, open } = this.way;
    const opens = open === "during" ? this.#opening() : "";
    const call = claude === undefined
      ? ""
      : `${tracer.map((word) => `'${word}'`).join(" ")} "$CLAUDE" -p hi;`;
    return `echo >> '${this.#starts}'; echo out; ${opens} ${call} echo >> '${this.#ends}'; exit ${JOB_EXIT}`;
  }

  /** A command that opens the circuit as another job's call would. */
  #opening(): string {
    const text = JSON.stringify({
      open_until: Math.floor(now()) + 7200,
      opened_at: now(),
    });
    const path = join(this.home.state, "state.json");
    return `echo '${text}' > '${path}.new' && mv '${path}.new' '${path}';`;
  }

  get starts(): number {
    return this.way.alone
      ? this.home.claude.calls().length
      : lines(this.#starts);
  }

  get ends(): number {
    return this.way.alone ? this.starts : lines(this.#ends);
  }

  /** The job's exit code, whatever becomes of the guard. */
  get #exit(): number {
    return !this.way.alone ? JOB_EXIT : this.way.claude === "ok" ? 0 : 1;
  }

  /** What must hold although a system call has failed. */
  async checkFault(run: Finished): Promise<void> {
    const { way } = this;
    const warnings = warningsOf(run);
    assert(warnings.length <= 1, `${warnings.length} warnings: ${warnings}`);
    if (way.open === "before" && this.starts === 0) {
      assertEquals([run.code, run.stdout], [0, ""]);
    } else {
      assertEquals([this.starts, this.ends], [1, 1], "it did not run");
      assertEquals(run.code, this.#exit);
      const said = run.stdout.startsWith(way.alone ? "" : "out\n");
      assert(said, `its output has changed: ${run.stdout}`);
    }
    const [marker, ...more] = run.stderr.split("\n").filter((line) =>
      /^CLAUDE_QUOTA_JOB_(RAN|SKIPPED) /.test(line)
    );
    assert(marker !== undefined && more.length === 0, run.stderr);
    this.#checkOwed(marker, warnings);
    if (warnings.length === 0) await this.check(run);
    else await this.#checkNext(undefined);
  }

  /** Refused, it is owed, or said not to have been watched; answered, it is not owed. */
  #checkOwed(marker: string, warnings: readonly string[]): void {
    const { claude } = this.way;
    if (this.home.claude.calls().length === 0) return;
    const owed = marker.startsWith("CLAUDE_QUOTA_JOB_SKIPPED ");
    const unseen = warnings.some((line) => UNSEEN.test(line));
    if (REFUSED.includes(claude) && !owed && !unseen) {
      throw new Broken("lost", `it met the limit: ${marker}`);
    }
    // A probe that failed without a call that was seen counts as refused.
    const blind = this.way.priority && unseen;
    if (DONE.includes(claude) && owed && !blind) {
      throw new Broken("doubled", `it was answered: ${marker}`);
    }
  }

  /** What must hold although a signal came: one marker for what was started, and it says how that ended. */
  async checkSignal(run: Finished, code: number): Promise<void> {
    const { home, way } = this;
    if (way.traced === "call") return await this.check(run);
    const ownEnd = this.#skips ? 0 : this.#exit;
    assert([ownEnd, code].includes(run.code), `exit ${run.code}`);
    const finals = run.stderr.split("\n").filter((line) =>
      /^CLAUDE_QUOTA_JOB_(RAN|SKIPPED) /.test(line)
    );
    if (finals.length > 1) throw new Broken("doubled", finals.join("|"));
    if (this.starts > 1) throw new Broken("doubled", "it ran twice");
    if (this.starts > 0) {
      const [marker] = finals;
      if (marker === undefined) throw new Broken("lost", "it has no marker");
      // Once the job has ended a signal is for the guard alone.
      const ends = [run.code, ownEnd].map((exit) => ` exit=${exit} `);
      assert(
        ends.some((end) => marker.includes(end)),
        `${run.code}: ${marker}`,
      );
      const asked = home.claude.calls().length > 0;
      if (
        asked && DONE.includes(way.claude) && marker.includes("_SKIPPED ")
      ) {
        throw new Broken("doubled", `it was answered: ${marker}`);
      }
    }
    assert(lockIsFree(home), "the lock is held");
    await this.#checkNext(undefined);
  }

  /** It is not to be started at all. */
  get #skips(): boolean {
    return this.way.open === "before" && !this.way.priority;
  }

  /** What must hold however the run ended. */
  async check(run: Finished): Promise<void> {
    const { home, way } = this;
    for (const name of ["state.json", "jobs.json"]) {
      try {
        jsonOf(join(home.state, name));
      } catch (error) {
        throw new Error(`${name} is damaged: ${error}`);
      }
    }
    assert(lockIsFree(home), "the lock is held");
    const inLog = newest(run.stderr, "mail");
    const onBooks = books(home).jobs?.mail?.outcome;
    if (inLog === undefined && onBooks !== undefined) {
      throw new Broken("lost", "on the books but not in the log");
    }
    const outcome = await outcomeOf(home, "mail", run.stderr);
    if (outcome?.kind === "RAN" && this.ends !== 1) {
      throw new Broken("lost", "recorded as run although it did not end");
    }
    if (this.#skips) {
      assertEquals(this.starts, 0, "it ran although the circuit is open");
    }
    const met = home.claude.calls().length > 0;
    if (way.traced === "job") await this.#checkJob(run, outcome?.kind, met);
    else this.#checkCall(run, outcome?.kind, met);
    await this.#checkNext(outcome?.kind);
  }

  /** The call's guard was left alone: what it met is known, to the catch-up too. */
  async #checkJob(
    run: Finished,
    before: "RAN" | "SKIPPED" | undefined,
    met: boolean,
  ): Promise<void> {
    const { home } = this;
    const { claude, alone } = this.way;
    const brokenOff = before === undefined && this.starts > 0;
    const later = fakeHost(now() + 60);
    const seen = (): boolean =>
      brokenRuns(home.state, later).some((broken) => broken.job === "mail");
    if (brokenOff && !seen()) throw new Broken("lost", "broken off, unseen");
    await settleBrokenRuns(home.state, later);
    const settled = JSON.stringify(books(home));
    await settleBrokenRuns(home.state, later);
    assertEquals(JSON.stringify(books(home)), settled, "settled twice");
    const outcome = (await outcomeOf(home, "mail", run.stderr))?.kind;
    if (brokenOff && outcome !== "SKIPPED" && !seen()) {
      throw new Broken("lost", "broken off, neither owed nor to be seen");
    }
    if (claude === "limit" && met && !alone) {
      assert(isOpen(home), "not opened");
    }
    // Alone it dies with its guard: then what it met is known by the circuit only.
    if (claude === "limit" && met && isOpen(home) && outcome !== "SKIPPED") {
      throw new Broken("lost", `it met the limit and is ${outcome}`);
    }
    if (claude === "limit" && outcome === "RAN") {
      throw new Broken("lost", "it met the limit and is recorded as run");
    }
    if (DONE.includes(claude) && outcome === "SKIPPED" && met) {
      throw new Broken("doubled", "it was answered and is owed");
    }
    if (claude === undefined && this.starts > 0 && outcome === "SKIPPED") {
      throw new Broken("doubled", "it ran and is owed");
    }
  }

  /** The job's guard was left alone: it sees the job through. */
  #checkCall(
    run: Finished,
    outcome: "RAN" | "SKIPPED" | undefined,
    met: boolean,
  ): void {
    const { home, way } = this;
    assertEquals([this.ends, run.code], [1, this.#exit]);
    assertEquals(
      run.stderr.split("\n").filter((line) =>
        /^CLAUDE_QUOTA_JOB_(RAN|SKIPPED) /.test(line)
      ).length,
      1,
    );
    // What others learn of this limit, the job has learned before.
    const opened = REFUSED.includes(way.claude) && way.open === undefined &&
      (isOpen(home) || hasScopes(home));
    const refused = run.stderr.includes("CLAUDE_QUOTA_CIRCUIT_OPEN ");
    if ((opened || refused) && outcome !== "SKIPPED") {
      throw new Broken("lost", "refused and not owed");
    }
    if (way.open === "during" && met) {
      throw new Broken("doubled", "claude was asked although it is refused");
    }
    if (DONE.includes(way.claude) && met && outcome === "SKIPPED") {
      throw new Broken("doubled", "it was answered and is owed");
    }
  }

  /** The next ones are not hindered, and clean up. */
  async #checkNext(before: "RAN" | "SKIPPED" | undefined): Promise<void> {
    const { home, way } = this;
    const mail = JSON.stringify(books(home).jobs?.mail);
    const closed = !isOpen(home) && !hasScopes(home);
    const probesBefore = home.claude.calls().length;
    home.claude.script("ok");
    ageLeftovers(home.state);
    const next = await runBounded(
      home,
      this.#shell("next", closed ? '"$CLAUDE" -p hi' : "true"),
    );
    assertQuiet(next);
    assertEquals(next.code, 0);
    const { jobs = {} } = books(home);
    assertEquals(JSON.stringify(jobs.mail), mail, "the next job changed it");
    const kept = namesBelow(home.state).some((name) =>
      name.startsWith("jobs.json") &&
      textOf(join(home.state, name)).includes(`"ts":${OTHER.ts}`)
    );
    assert(kept, "another job's entry is gone");
    assert(jobs.next !== undefined, "the next job is not on the books");
    if (closed) assertEquals(newest(next.stderr, "next"), "RAN");
    // One probe an interval, also for those who come after a kill.
    if (way.priority && !closed) {
      const again = await runBounded(
        home,
        this.#shell("mail", '"$CLAUDE" -p hi'),
      );
      assertQuiet(again);
      const probes = probesBefore + home.claude.calls().length;
      if (probes > 1) throw new Broken("doubled", `${probes} probes`);
    }
    if (!closed) {
      // Only who starts a job looks after the shim.
      writeState(home, "state.json", "{}");
      assertQuiet(await runBounded(home, this.#shell("next", "true")));
    }
    // A job without a call is too quick to sweep.
    const words = home.words("quota_guard", { kind: "bundle" });
    assertEquals((await runBounded(home, [...words, "--close"])).code, 0);
    const left = namesBelow(home.state).filter((name) => name.endsWith(".tmp"));
    assertEquals(left, [], `left over, outcome ${before}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.home[Symbol.asyncDispose]();
  }
}

/** Is there a limit of one model? */
function hasScopes(home: Home): boolean {
  return Object.keys(circuit(home).scopes ?? {}).length > 0;
}

/** Nothing but markers on stderr. */
export function assertQuiet(run: Finished): void {
  assertEquals(warningsOf(run), []);
}

/** What the guard says besides its markers and claude's errors, and not as a matter of course. */
export function warningsOf({ stderr }: Finished): string[] {
  return stderr.split("\n").filter((line) =>
    line !== "" && !/^(CLAUDE_QUOTA_|Error: )/.test(line) &&
    !line.includes("budget stop:")
  );
}

/** Makes half-written files old: young ones may have a living writer. */
function ageLeftovers(folder: string): void {
  for (const name of namesBelow(folder)) {
    if (!name.endsWith(".tmp")) continue;
    const path = join(folder, name);
    Deno.utimeSync(path, now() - 3600, now() - 3600);
  }
}
