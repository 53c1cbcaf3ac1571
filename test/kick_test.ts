import { assert, assertEquals, assertMatch } from "@std/assert";
import {
  kickAndWait,
  type KickEnd,
  type Kicker,
  terminateJob,
} from "../lib/kick.ts";
import { launchctlStatus } from "../lib/launchctl.ts";
import type { ToolResult } from "../lib/tool.ts";
import { type FakeHost, fakeHost } from "./fake_host.ts";
import { type FakeJob, FakeLaunchd } from "./fake_launchd.ts";

/** A job of launchd's in memory, and somebody to kick it. */
class Bench {
  readonly host: FakeHost = fakeHost(1_796_000_000);
  readonly launchd = new FakeLaunchd(this.host);
  readonly job: FakeJob;
  readonly stop = new AbortController();
  /** What ps lists, and the arguments of each kill. */
  processes: string[] | null = [];
  readonly killed: string[] = [];
  readonly watched: number[] = [];

  constructor(job: Partial<FakeJob> = {}) {
    this.job = this.launchd.load("me", "/agents/me.plist", job);
  }

  get kicker(): Kicker {
    const result = (stdout: string): Promise<ToolResult> =>
      Promise.resolve({ code: 0, stdout, stderr: "", timedOut: false });
    return {
      host: this.host,
      launchctl: this.launchd.launchctl,
      group: {
        ps: () =>
          this.processes === null
            ? Promise.reject(new Error("run access"))
            : result(this.processes.join("\n")),
        kill: (args) => {
          this.killed.push(args.join(" "));
          this.processes = [];
          return result("");
        },
      },
      stop: this.stop.signal,
      timeout: 2700,
      grace: 30,
    };
  }

  async kick(): Promise<KickEnd> {
    const before = await launchctlStatus(this.launchd.launchctl, "me");
    return await kickAndWait(
      this.kicker,
      "me",
      before,
      (seconds) => void this.watched.push(seconds),
    );
  }

  /** Does something once so much time has passed. */
  after(seconds: number, act: () => void): void {
    const due = this.host.monotonic() + seconds;
    let done = false;
    const before = this.host.onSleep;
    this.host.onSleep = async () => {
      await before();
      if (done || this.host.monotonic() < due) return;
      done = true;
      act();
    };
  }

  asked(verb: string): number {
    return this.launchd.calls.filter((call) => call.startsWith(verb)).length;
  }
}

Deno.test("kickAndWait() waits until the job is gone, seldom looking", async () => {
  const bench = new Bench({ takes: 1000, work: () => 7 });
  const end = await bench.kick();
  assert(end.kind === "ended");
  assertEquals([end.status.lastExit, end.status.runs], [7, 1]);
  assert(end.seconds >= 1000 && end.seconds < 1005);
  assert(bench.asked("print") < 520, `${bench.asked("print")} looks`);
  assertEquals(bench.asked("kickstart"), 1);
  assert(bench.watched.length > 100);
});

Deno.test("kickAndWait() sees a job that is too quick to be seen, by its runs", async () => {
  const bench = new Bench({ takes: 0, runs: 4 });
  const end = await bench.kick();
  assertEquals(end.kind, "ended");
  assertEquals(bench.job.runs, 5);
});

Deno.test("kickAndWait() takes a refusal for one, and nothing else", async () => {
  for (
    const [code, kind] of [
      [113, "refused"],
      [119, "refused"],
      [112, "refused"],
      [3, "refused"],
      [5, "not-seen"],
      [36, "not-seen"],
      [37, "not-seen"],
    ] as const
  ) {
    const bench = new Bench();
    bench.launchd.answer = ([verb]) => verb === "kickstart" ? { code } : null;
    const end = await bench.kick();
    assertEquals(end.kind, kind, `exit code ${code}`);
    assert("why" in end && end.why.length > 20);
    assertEquals(bench.asked("kickstart"), 1);
  }
});

Deno.test("kickAndWait() settles a kickstart that gave no answer by what it sees, and never repeats it", async () => {
  const started = new Bench({ takes: 40 });
  started.launchd.answer = ([verb]) => {
    if (verb !== "kickstart") return null;
    started.launchd.start("me");
    return { code: 137, timedOut: true };
  };
  assertEquals((await started.kick()).kind, "ended");
  assertEquals(started.asked("kickstart"), 1);

  const blocked = new Bench();
  blocked.launchd.answer = ([verb]) =>
    verb === "kickstart" ? { code: 137, timedOut: true } : null;
  const end = await blocked.kick();
  assert(end.kind === "not-seen");
  assertMatch(end.why, /did not start it in 60 s; .*no answer in 15 s/);
  assertEquals(blocked.asked("kickstart"), 1);
});

Deno.test("kickAndWait() waits for a pid that comes late", async () => {
  const bench = new Bench({ takes: 20 });
  bench.launchd.answer = ([verb]) => verb === "kickstart" ? {} : null;
  bench.after(50, () => bench.launchd.start("me"));
  const end = await bench.kick();
  assertEquals(end.kind, "ended");
  assert("seconds" in end && end.seconds >= 70);
});

Deno.test("kickAndWait() waits for a job in xpcproxy, and for one without a pid", async () => {
  for (const state of ["xpcproxy", "spawning", "SIGTERMed"]) {
    const bench = new Bench({ takes: 0, runs: 2 });
    bench.job.work = () => {
      bench.job.state = state;
      return 0;
    };
    bench.after(300, () => bench.job.state = null);
    const end = await bench.kick();
    assert(end.kind === "ended", state);
    assert(end.seconds >= 300, state);
  }
});

Deno.test("kickAndWait() does not wait for ever for what launchd holds back", async () => {
  const bench = new Bench({ state: "spawn scheduled" });
  bench.launchd.answer = ([verb]) => verb === "kickstart" ? {} : null;
  const end = await bench.kick();
  assert(end.kind === "not-seen");
  assertMatch(end.why, /holds it back/);
  assert(bench.host.monotonic() < 1070);
});

Deno.test("kickAndWait() does not wait for ever for one more start that launchd holds back", async () => {
  const bench = new Bench({ takes: 5 });
  bench.job.work = () => {
    bench.job.state = "spawn scheduled";
    return 1;
  };
  const end = await bench.kick();
  assert(end.kind === "ended");
  assert(end.seconds < 10 && bench.host.monotonic() < 1070);
});

Deno.test("kickAndWait() waits for a throttled job that starts in time", async () => {
  const bench = new Bench({ state: "spawn scheduled", takes: 5 });
  bench.launchd.answer = ([verb]) => verb === "kickstart" ? {} : null;
  bench.after(10, () => {
    bench.job.state = null;
    bench.launchd.start("me");
  });
  assertEquals((await bench.kick()).kind, "ended");
});

Deno.test("kickAndWait() waits for both runs where launchd starts it once more", async () => {
  const bench = new Bench({ takes: 30, again: 1 });
  const end = await bench.kick();
  assert(end.kind === "ended");
  assertEquals(end.status.runs, 2);
  assert(end.seconds >= 60);
});

Deno.test("kickAndWait() is not taken in by a gap between two runs", async () => {
  const bench = new Bench({ takes: 10 });
  // launchd shows nothing for an instant, then its own start of a slot.
  bench.job.work = () => {
    bench.after(0.05, () => bench.launchd.start("me"));
    bench.job.work = () => 0;
    return 0;
  };
  const end = await bench.kick();
  assert(end.kind === "ended");
  assertEquals([bench.job.runs, bench.job.pid], [2, null]);
});

Deno.test("kickAndWait() tells that launchd does not know the job any more", async () => {
  const bench = new Bench();
  bench.launchd.answer = ([verb]) => {
    if (verb === "kickstart") bench.launchd.jobs.clear();
    return verb === "kickstart" ? {} : null;
  };
  const end = await bench.kick();
  assert(end.kind === "ended");
  assertEquals(end.status.found, "no");
});

Deno.test("kickAndWait() does not count the time that the machine sleeps", async () => {
  const bench = new Bench({ takes: 2000 });
  bench.after(1000, () => bench.host.suspend(36_000));
  const end = await bench.kick();
  assert(end.kind === "ended");
  assert(end.seconds < 2010);
});

Deno.test("kickAndWait() stops a job after its time: SIGTERM, then SIGKILL", async () => {
  for (const stubborn of [false, true]) {
    const bench = new Bench({ takes: 1e6, stubborn });
    const end = await bench.kick();
    assertEquals(end.kind, "stopped");
    assert("seconds" in end);
    const late = end.seconds - 2700;
    assert(stubborn ? late >= 30 && late < 40 : late < 5, `${late}`);
    assertEquals(bench.asked("kill SIGTERM"), 1);
    assertEquals(bench.asked("kill SIGKILL"), stubborn ? 1 : 0);
  }
});

Deno.test("kickAndWait() says when a job outlives even SIGKILL", async () => {
  const bench = new Bench({ takes: 1e6, stubborn: true, immortal: true });
  const end = await bench.kick();
  assert(end.kind === "unstoppable");
  assertEquals(end.why, "it outlived SIGTERM and SIGKILL");
  assert(end.seconds < 2780);
});

Deno.test("kickAndWait() ends in bounded time where launchd falls silent", async () => {
  const bench = new Bench();
  bench.launchd.answer = ([verb]) =>
    verb === "kickstart" ? null : { code: 137, timedOut: true };
  bench.job.takes = 1;
  const before = { ...await launchctlStatus(bench.launchd.launchctl, "me") };
  assertEquals(before.found, "unknown");
  const end = await bench.kick();
  assert(end.kind === "unstoppable");
  assertMatch(end.why, /no answer in 10 s/);
});

Deno.test("kickAndWait() leaves the job alone when the catch-up is told to end", async () => {
  const bench = new Bench({ takes: 100 });
  bench.after(30, () => bench.stop.abort(143));
  const end = await bench.kick();
  assertEquals(end.kind, "left");
  assertEquals(bench.asked("kill"), 0);
  assert(bench.job.pid !== null);
});

Deno.test("kickAndWait() kills what a stopped job leaves in its group", async () => {
  const bench = new Bench({ takes: 1e6 });
  const started = "Mon Nov 30 12:00:00 2026";
  bench.processes = [
    `  500   500 S    ${started}`,
    `  501   500 S    ${started}`,
    `  502   502 S    ${started}`,
  ];
  const end = await bench.kick();
  assert(end.kind === "stopped");
  assertEquals(end.note, "killed 2 of its children as well");
  assertEquals(bench.killed, ["-s KILL -- -500"]);
});

Deno.test("kickAndWait() never kills a group whose number was given away", async () => {
  const bench = new Bench({ takes: 1e6 });
  bench.processes = ["500 500 S Mon Nov 30 12:00:00 2026"];
  bench.after(2700, () =>
    bench.launchd.answer = ([verb]) => {
      if (verb === "kill") {
        // The job is gone at once, and another leads a group of its number.
        bench.processes = [
          "500 500 S Mon Nov 30 12:45:31 2026",
          "777 500 S Mon Nov 30 12:45:31 2026",
        ];
      }
      return null;
    });
  const end = await bench.kick();
  assert(end.kind === "stopped");
  assertEquals([end.note, bench.killed], ["", []]);
});

Deno.test("kickAndWait() says that it could not look for leftovers", async () => {
  const bench = new Bench({ takes: 1e6 });
  bench.processes = null;
  const end = await bench.kick();
  assert(end.kind === "stopped");
  assertEquals(end.note, "its children were not looked for: run access");
});

Deno.test("terminateJob() is done at once with a job that is gone", async () => {
  const bench = new Bench();
  assertEquals(await terminateJob(bench.kicker, "me"), true);
  assertEquals(bench.host.slept, []);
});
