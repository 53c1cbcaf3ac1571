import { stringOr } from "../lib/lenient.ts";
import type { Launchctl } from "../lib/launchctl.ts";
import type { ToolResult } from "../lib/tool.ts";
import type { FakeHost } from "./fake_host.ts";

/** A loaded job. What is set here holds for its next start. */
export interface FakeJob {
  path: string;
  runs: number;
  pid: number | null;
  /** Shown instead of running or not running. */
  state: string | null;
  lastExit: number | null;
  lastSignal: number | null;
  /** How long it runs, in seconds. */
  takes: number;
  /** Starts at once again so many times. */
  again: number;
  /** What it does at its end; the exit code. */
  work: () => number;
  /** Outlives SIGTERM. */
  stubborn: boolean;
  /** Outlives SIGKILL too. */
  immortal: boolean;
  calendar: Record<string, number>[];
}

/** Answers in place of launchctl. */
export type Answer = (args: string[]) => Partial<ToolResult> | null;

/** launchd and launchctl in memory, on the clock of a fake host. */
export class FakeLaunchd {
  readonly jobs = new Map<string, FakeJob>();
  /** Labels in the order of their starts. */
  readonly starts: string[] = [];
  /** How many ran at one time at most. */
  most = 0;
  /** Every call, oldest first. */
  readonly calls: string[] = [];
  readonly disabled = new Map<string, boolean>();
  /** Comes before everything else. */
  answer: Answer = () => null;
  readonly #host: FakeHost;
  readonly #ends = new Map<string, number>();
  #pid = 500;

  constructor(host: FakeHost) {
    this.#host = host;
  }

  /** Loads a job that runs for a second and ends with 0. */
  load(label: string, path: string, job: Partial<FakeJob> = {}): FakeJob {
    const loaded: FakeJob = {
      path,
      runs: 0,
      pid: null,
      state: null,
      lastExit: null,
      lastSignal: null,
      takes: 1,
      again: 0,
      work: () => 0,
      stubborn: false,
      immortal: false,
      calendar: [],
      ...job,
    };
    this.jobs.set(label, loaded);
    return loaded;
  }

  /** Starts a job as launchd does at its slot. */
  start(label: string): void {
    const job = this.jobs.get(label);
    if (job === undefined || job.pid !== null) return;
    job.pid = this.#pid++;
    job.runs++;
    this.starts.push(label);
    this.#ends.set(label, this.#host.monotonic() + job.takes);
    const running = [...this.jobs.values()].filter((one) => one.pid !== null);
    this.most = Math.max(this.most, running.length);
  }

  /** The door. */
  get launchctl(): Launchctl {
    return {
      domain: "gui/501",
      run: (args) => Promise.resolve(this.#run(args)),
    };
  }

  #run(args: string[]): ToolResult {
    this.calls.push(args.join(" "));
    this.settle();
    const result = { code: 0, stdout: "", stderr: "", timedOut: false };
    const given = this.answer(args);
    if (given !== null) return { ...result, ...given };
    const [verb] = args;
    if (verb === "print-disabled") {
      const lines = [...this.disabled].map(([label, off]) =>
        `\t\t"${label}" => ${off ? "disabled" : "enabled"}\n`
      );
      return { ...result, stdout: `\tdisabled = {\n${lines.join("")}\t}\n` };
    }
    const label = stringOr(args.at(-1), "").split("/").slice(2).join("/");
    const job = this.jobs.get(label);
    if (job === undefined) return { ...result, code: 113 };
    if (verb === "kickstart") {
      if (this.disabled.get(label)) return { ...result, code: 119 };
      this.start(label);
      return result;
    }
    if (verb === "kill") {
      if (job.pid === null) return { ...result, code: 3 };
      const survives = args[1] === "SIGKILL" ? job.immortal : job.stubborn;
      if (!survives) this.#end(label, job, args[1] === "SIGKILL" ? 9 : 15);
      return result;
    }
    return { ...result, stdout: printed(label, job) };
  }

  /** Ends what has had its time. */
  settle(): void {
    for (const [label, at] of this.#ends) {
      const job = this.jobs.get(label);
      if (job !== undefined && this.#host.monotonic() >= at) {
        this.#end(label, job, null);
      }
    }
  }

  #end(label: string, job: FakeJob, signal: number | null): void {
    this.#ends.delete(label);
    job.pid = null;
    job.lastSignal = signal;
    job.lastExit = signal === null ? job.work() : null;
    if (job.again > 0) {
      job.again--;
      this.start(label);
    }
  }
}

function printed(label: string, job: FakeJob): string {
  const { pid, state, runs, path, lastExit, lastSignal, calendar } = job;
  const lines = [
    `path = ${path}`,
    `state = ${state ?? (pid === null ? "not running" : "running")}`,
    "",
    "arguments = {",
    "\tstate = running",
    "}",
    "",
    "domain = gui/501 [100002]",
    `runs = ${runs}`,
    ...(pid === null ? [] : [`pid = ${pid}`]),
    lastSignal !== null
      ? `last terminating signal = Signal: ${lastSignal}`
      : `last exit code = ${lastExit ?? "(never exited)"}`,
    ...calendar.flatMap((entry, i) => [
      "event triggers = {",
      `\t${label}.${i} => {`,
      "\t\tstream = com.apple.launchd.calendarinterval",
      "\t\tdescriptor = {",
      ...Object.entries(entry).map(([key, n]) => `\t\t\t"${key}" => ${n}`),
      "\t\t}",
      "\t}",
      "}",
    ]),
  ];
  return `gui/501/${label} = {\n${
    lines.map((line) => line && `\t${line}`).join("\n")
  }\n}\n`;
}
