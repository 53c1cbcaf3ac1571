import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { join } from "@std/path/join";
import { emptyBooks, type JobEntry, recordJob } from "../lib/books.ts";
import {
  findCandidates,
  type Finding,
  type Judgement,
  latestMarkerIsTodaySkip,
  newestOutcome,
} from "../lib/candidate.ts";
import type { AgentFile, LaunchAgent } from "../lib/launch_agent.ts";
import type { JobMarker } from "../lib/marker.ts";

const ZONE = "America/New_York";

/** Monday, 30 November, or another day, on the clock of New York. */
function at(time: string, day = "2026-11-30"): number {
  return Temporal.PlainDateTime.from(`${day}T${time}`).toZonedDateTime(ZONE)
    .epochMilliseconds / 1000;
}

const NOON = at("12:00");

/** A guarded job whose log holds these lines, judged at `now`. */
class Case implements Disposable {
  readonly folder = Deno.makeTempDirSync({ prefix: "candidate " });
  books = emptyBooks();
  now = NOON;
  window: number | null = null;
  /** As `now` unless set. */
  begun: number | null = null;
  schedule: Partial<LaunchAgent> = { calendar: { Hour: 9, Minute: 0 } };

  path(name: string): string {
    return join(this.folder, name);
  }

  log(name: string, ...lines: string[]): void {
    Deno.writeTextFileSync(this.path(name), lines.join("\n"));
  }

  skip(ts: number): string {
    return `CLAUDE_QUOTA_JOB_SKIPPED job=me reason=quota remaining=9s ts=${ts}`;
  }

  ran(ts: number): string {
    return `CLAUDE_QUOTA_JOB_RAN job=me exit=0 ts=${ts}`;
  }

  judge(more: AgentFile[] = []): Finding[] {
    const agent: LaunchAgent = {
      path: this.path("me.plist"),
      label: "me",
      program: null,
      arguments: ["/opt/quota_guard.js", "--job", "me", "--", "/bin/true"],
      stdoutPath: this.path("out"),
      stderrPath: this.path("err"),
      environment: {},
      workingDirectory: null,
      calendar: undefined,
      hasStartInterval: false,
      startInterval: null,
      keepAlive: false,
      runAtLoad: false,
      disabled: null,
      ...this.schedule,
    };
    const judgement: Judgement = {
      now: this.now,
      begun: this.begun ?? this.now,
      timeZone: ZONE,
      window: this.window,
      folderOf: () => "/state",
      booksOf: () => this.books,
    };
    return findCandidates([{ path: agent.path, agent }, ...more], judgement);
  }

  get why(): string {
    return this.judge()[0]?.why ?? "";
  }

  get isCandidate(): boolean {
    return this.judge()[0]?.candidate !== null;
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.folder, { recursive: true });
  }
}

function entry(outcome: "ran" | "skipped", ts: number): JobEntry {
  return {
    outcome,
    ts,
    exit: null,
    reason: outcome === "ran" ? null : "quota",
    ending: null,
    calls: 0,
    seconds: null,
    owed_from: null,
  };
}

Deno.test("findCandidates() takes today's skip", () => {
  using me = new Case();
  me.log("err", me.skip(at("09:00:01")));
  assertEquals(me.why, "skipped 09:00 (quota)");
  assertEquals(me.isCandidate, true);
});

Deno.test("findCandidates() leaves a skip of three days ago", () => {
  using me = new Case();
  me.log("err", me.skip(at("09:00", "2026-11-27")));
  assertEquals(me.why, "skipped Fri 27 Nov 09:00, which is not today");
  assertEquals(me.isCandidate, false);
});

Deno.test("findCandidates() goes by the local day, to the second", () => {
  using me = new Case();
  me.schedule.calendar = { Hour: 0, Minute: 0 };
  me.log("err", me.skip(at("00:00:00")));
  assertEquals(me.isCandidate, true);
  me.log("err", me.skip(at("00:00:00") - 1));
  assertEquals(me.isCandidate, false);
});

Deno.test("findCandidates() takes a past slot although a later one is due, in either order", () => {
  using me = new Case();
  me.log("err", me.skip(at("09:00")));
  const slots = [{ Hour: 9, Minute: 0 }, { Hour: 18, Minute: 0 }];
  for (const calendar of [slots, slots.toReversed()]) {
    me.schedule.calendar = calendar;
    assertEquals(me.isCandidate, true);
  }
});

Deno.test("findCandidates() leaves a job whose slots are all to come", () => {
  using me = new Case();
  me.log("err", me.skip(at("09:00")));
  me.schedule.calendar = [{ Hour: 18, Minute: 0 }, { Hour: 12, Minute: 1 }];
  assertEquals(me.why, "skipped 09:00, but no slot has passed today");
});

Deno.test("findCandidates() counts a slot equal to now as passed", () => {
  using me = new Case();
  me.schedule.calendar = { Hour: 12, Minute: 0 };
  me.log("err", me.skip(at("08:00")));
  assertEquals(me.isCandidate, true);
  me.now = NOON - 0.001;
  assertEquals(me.isCandidate, false);
});

Deno.test("findCandidates() takes a slot without Minute as the full hour", () => {
  using me = new Case();
  me.log("err", me.skip(at("08:00")));
  me.schedule.calendar = { Hour: 12 };
  assertEquals(me.isCandidate, true);
  me.now = at("11:59:59");
  assertEquals(me.isCandidate, false);
});

Deno.test("findCandidates() never takes a StartInterval job, with or without a slot", () => {
  using me = new Case();
  me.log("err", me.skip(at("09:00")));
  me.schedule.hasStartInterval = true;
  assertMatch(me.why, /StartInterval repeats by itself/);
  assertEquals(me.isCandidate, false);
  me.schedule.calendar = undefined;
  assertEquals(me.isCandidate, false);
});

Deno.test("findCandidates() leaves a job without a calendar", () => {
  using me = new Case();
  me.log("err", me.skip(at("09:00")));
  for (const calendar of [undefined, [], "daily"]) {
    me.schedule.calendar = calendar;
    assertEquals(me.isCandidate, false);
  }
});

Deno.test("findCandidates() rules a job out by an hourless entry, even of another weekday", () => {
  using me = new Case();
  me.log("err", me.skip(at("09:00")));
  // Today is a Monday.
  me.schedule.calendar = [{ Hour: 9, Minute: 0 }, { Weekday: 2, Minute: 5 }];
  assertMatch(me.why, /no Hour, repeats by itself/);
  assertEquals(me.isCandidate, false);
});

Deno.test("findCandidates() rules a job out by one malformed entry, and says which", () => {
  using me = new Case();
  me.log("err", me.skip(at("09:00")));
  for (const bad of [{ Hour: "9" }, { Hour: 24 }, { Hour: -1 }, "9:00", null]) {
    me.schedule.calendar = [{ Hour: 9, Minute: 0 }, bad];
    assertMatch(me.why, /^skipped 09:00, but .*2/, JSON.stringify(bad));
    assertEquals(me.isCandidate, false);
  }
});

Deno.test("findCandidates() minds Weekday, Day and Month", () => {
  using me = new Case();
  me.log("err", me.skip(at("09:00")));
  for (
    const [entry, passed] of [
      [{ Weekday: 1 }, true],
      [{ Weekday: 2 }, false],
      [{ Day: 30 }, true],
      [{ Day: 29 }, false],
      [{ Day: 29, Weekday: 1 }, true],
      [{ Month: 11 }, true],
      [{ Month: 12 }, false],
    ] as const
  ) {
    me.schedule.calendar = { Hour: 9, Minute: 0, ...entry };
    assertEquals(me.isCandidate, passed, JSON.stringify(entry));
  }
});

Deno.test("findCandidates() leaves SKIPPED then RAN", () => {
  using me = new Case();
  me.log("err", me.skip(at("09:00")), me.ran(at("09:01")));
  assertEquals(me.why, "ran 09:01, exit 0");
  assertEquals(me.isCandidate, false);
});

Deno.test("findCandidates() takes RAN then SKIPPED", () => {
  using me = new Case();
  me.log("err", me.ran(at("08:59")), me.skip(at("09:00")));
  assertEquals(me.isCandidate, true);
});

Deno.test("findCandidates() takes the last of two markers of one second, in either order", () => {
  using me = new Case();
  const ts = at("09:00");
  me.log("err", me.skip(ts), me.ran(ts));
  assertEquals(me.isCandidate, false);
  me.log("err", me.ran(ts), me.skip(ts));
  assertEquals(me.isCandidate, true);
});

Deno.test("findCandidates() takes the newest of both logs", () => {
  using me = new Case();
  me.log("err", me.skip(at("09:00")));
  me.log("out", me.ran(at("09:01")));
  assertEquals(me.isCandidate, false);
  me.log("out", me.ran(at("08:59")));
  assertEquals(me.isCandidate, true);
});

Deno.test("findCandidates() is not taken in by job output that quotes markers", () => {
  using me = new Case();
  const skip = me.skip(at("10:00"));
  me.log(
    "err",
    me.ran(at("09:00")),
    `the log says: ${skip}`,
    `  ${skip}`,
    skip.replace("job=me", "job=me2"),
    skip.replace("job=me", "job=m"),
    `${skip} and so on`,
    "",
  );
  assertEquals(me.why, "ran 09:00, exit 0");
});

Deno.test("findCandidates() reads the last marker without its newline", () => {
  using me = new Case();
  me.schedule.stdoutPath = me.path("err");
  me.log("err", me.skip(at("09:00")), "no newline at its end", me.ran(NOON));
  assertEquals(me.isCandidate, false);
});

Deno.test("findCandidates() goes by the books where the log is gone, and by the newer one where it is not", () => {
  using me = new Case();
  me.books = recordJob(me.books, "me", entry("skipped", at("09:00")));
  assertEquals(me.isCandidate, true);
  me.log("err", me.ran(at("09:00")));
  assertEquals(me.isCandidate, false, "at equal times the log speaks");
  me.log("err", me.ran(at("08:59")));
  assertEquals(me.isCandidate, true);
  me.books = recordJob(me.books, "me", entry("ran", at("09:02")));
  me.log("err", me.skip(at("09:01")));
  assertEquals(me.isCandidate, false);
});

Deno.test("findCandidates() takes a skip of the future as one of now, under its own time stamp", () => {
  using me = new Case();
  const ahead = at("12:00", "2027-11-30");
  me.log("err", me.skip(ahead));
  const [finding] = me.judge();
  assertEquals(finding?.candidate?.skip.ts, ahead);
  me.books = recordJob(me.books, "me", entry("ran", NOON + 30));
  assertEquals(me.isCandidate, false, "what ran after now is newer");
});

Deno.test("findCandidates() with a window takes a skip of 23:50 at 00:10", () => {
  using me = new Case();
  me.schedule.calendar = { Hour: 23, Minute: 50 };
  me.log("err", me.skip(at("23:50:01", "2026-11-29")));
  me.now = at("00:10");
  assertEquals(me.isCandidate, false);
  me.window = 3600;
  assertEquals(me.isCandidate, true);
  me.now = at("00:50:02");
  assertEquals(me.isCandidate, false);
});

Deno.test("findCandidates() with a window asks for a slot of the skip's own day", () => {
  using me = new Case();
  me.window = 86400;
  me.now = at("00:10");
  me.log("err", me.skip(at("23:50", "2026-11-29")));
  // The 29th was a Sunday.
  me.schedule.calendar = { Weekday: 1, Hour: 0, Minute: 5 };
  assertEquals(me.isCandidate, false);
  me.schedule.calendar = { Weekday: 0, Hour: 23, Minute: 45 };
  assertEquals(me.isCandidate, true);
});

Deno.test("findCandidates() keeps the skips of the day on which the round began", () => {
  using me = new Case();
  me.log("err", me.skip(at("09:00")));
  me.now = at("00:01", "2026-12-01");
  assertEquals(me.isCandidate, false);
  me.begun = at("23:59");
  assertEquals(me.isCandidate, true);
});

Deno.test("findCandidates() says of an unguarded job and an unreadable plist why they are none", () => {
  using me = new Case();
  me.schedule.arguments = ["/bin/sh", "-c", "claude -p hi"];
  const bad = { path: "/agents/torn.plist", error: "No closing tag" };
  assertEquals(
    me.judge([bad]).map(({ label, why }) => [label, why]),
    [
      ["me", "not started through quota_guard"],
      ["torn", "cannot be read: No closing tag"],
    ],
  );
});

Deno.test({
  name:
    "findCandidates() cannot tell where a log may not be read, and says which",
  permissions: { read: false, write: true, env: true },
  fn(): void {
    const path = "/logs of somebody/err";
    const error = assertThrows(
      () => newestOutcome([path], "me", emptyBooks(), NOON),
      Error,
    );
    assertMatch(error.message, /its log "\/logs of somebody\/err" cannot be/);
    assertMatch(error.message, /--allow-read/);
  },
});

Deno.test("latestMarkerIsTodaySkip() is false without a marker and for a run", () => {
  const day = { now: NOON, begun: NOON, timeZone: ZONE, window: 9e9 };
  const marker: JobMarker = {
    kind: "RAN",
    ts: NOON,
    reason: null,
    exit: 0,
    end: null,
  };
  assertEquals(latestMarkerIsTodaySkip(null, day), false);
  assertEquals(latestMarkerIsTodaySkip(marker, day), false);
  assertEquals(
    latestMarkerIsTodaySkip({ ...marker, kind: "SKIPPED" }, day),
    true,
  );
});
