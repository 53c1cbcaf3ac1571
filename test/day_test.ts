import { assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path/join";
import type { JobEntry } from "../lib/books.ts";
import { noteKick } from "../lib/catchup_log.ts";
import type { KickNote } from "../lib/catchup_world.ts";
import { type DayEvent, dayEvents, lookAtDay } from "../lib/day.ts";
import { type JobMarker, ranMarker, skippedMarker } from "../lib/marker.ts";
import { updateState } from "../lib/state.ts";
import { ensureFolder } from "../lib/state_folder.ts";
import { Home } from "./harness.ts";
import { Stage } from "./setup_stage.ts";

const pure = { permissions: "none" } as const;

function instant(text: string): number {
  return Temporal.Instant.from(text).epochMilliseconds / 1000;
}

function ran(ts: number, fields: Partial<JobMarker> = {}): JobMarker {
  return { kind: "RAN", ts, reason: null, exit: 0, end: null, ...fields };
}

function skipped(ts: number): JobMarker {
  return { kind: "SKIPPED", ts, reason: "quota", exit: null, end: null };
}

function kick(at: number, seconds: number): KickNote {
  return {
    label: "job",
    skip_ts: 0,
    kicked_at: at,
    seconds,
    outcome: "ran, exit 0",
    exit: 0,
  };
}

function entry(ts: number): JobEntry {
  return {
    outcome: "ran",
    ts,
    exit: 3,
    reason: null,
    ending: "failed",
    calls: 2,
    seconds: 1,
    owed_from: null,
  };
}

function marks(events: DayEvent[]): string[] {
  return events.map(({ at, mark }) => `${at} ${mark}`);
}

Deno.test("dayEvents() tells what became of markers", pure, () => {
  const markers = [
    skipped(100),
    skipped(200),
    ran(300),
    ran(400, { exit: 1 }),
    ran(500, { end: "limit" }),
    ran(600),
    ran(300),
  ];
  assertEquals(
    marks(dayEvents(markers, [], 200, [kick(550, 48)], 1000)),
    [
      "100 skipped",
      "200 owed",
      "300 ran",
      "400 failed",
      "500 failed",
      "600 caught up",
    ],
  );
});

Deno.test(
  "dayEvents() counts a run as caught up only while its kick lasted",
  pure,
  () => {
    const of = (ts: number): string[] =>
      marks(dayEvents([ran(ts)], [], null, [kick(500, 60)], 1000));
    assertEquals(of(499), ["499 ran"]);
    assertEquals(of(500), ["500 caught up"]);
    assertEquals(of(565), ["565 caught up"]);
    assertEquals(of(566), ["566 ran"]);
  },
);

Deno.test(
  "dayEvents() tells slots without a trace from those to come",
  pure,
  () => {
    const slots = [1000, 5000, 9000, 13_000];
    assertEquals(marks(dayEvents([ran(5400)], slots, null, [], 9000)), [
      "1000 unseen",
      "5400 ran",
      "9000 unseen",
      "13000 due",
    ]);
    // A run that began at its slot and ended much later, just before the next.
    assertEquals(marks(dayEvents([ran(4930)], slots, null, [], 5000)), [
      "4930 ran",
      "5000 unseen",
      "9000 due",
      "13000 due",
    ]);
  },
);

Deno.test("lookAtDay() reads the logs and books of one state folder", async () => {
  using stage = new Stage();
  const log = (label: string): string => join(stage.home, `${label}.log`);
  const agent = (label: string, calendar: number[], env = {}): void => {
    stage.agent(label, {
      ProgramArguments: [
        ...stage.guardWords,
        ...["--job", `${label}-job`, "--", "claude"],
      ],
      StartCalendarInterval: calendar.map((Hour) => ({ Hour, Minute: 0 })),
      StandardErrorPath: log(label),
      EnvironmentVariables: env,
    });
  };
  agent("post", [7, 9, 18]);
  agent("mail", [8]);
  agent("other", [8], { CLAUDE_QUOTA_DIR: "/elsewhere" });
  const at = (time: string): number => instant(`2026-12-01T${time}:00Z`);
  const refusal = { reason: "quota", remaining: 60 };
  Deno.writeTextFileSync(
    log("post"),
    [
      skippedMarker("post-job", refusal, at("07:00") - 86_400),
      skippedMarker("post-job", refusal, at("07:00")),
      ranMarker("post-job", 0, null, at("07:30")),
      skippedMarker("post-job", refusal, at("09:00")),
    ].map((line) => `some output\n${line}\n`).join(""),
  );
  ensureFolder(stage.state, stage.host);
  noteKick(stage.state, { ...kick(at("07:29"), 60), label: "post" });
  await updateState(stage.state, stage.host, ({ books }) => ({
    books: {
      ...books,
      jobs: new Map([
        ["gone", entry(at("06:00"))],
        // Older than what its log says.
        ["post-job", entry(at("06:00"))],
      ]),
    },
    result: null,
  }));
  const day = await lookAtDay(stage.world([]).round());
  assertEquals(
    day.jobs.map(({ label, events, calls }) => [
      label,
      calls,
      events.map(({ at: ts, mark }) =>
        `${new Date(ts * 1000).toISOString().slice(11, 16)} ${mark}`
      ),
    ]),
    [
      ["gone", 2, ["06:00 failed"]],
      ["mail", null, ["08:00 unseen"]],
      ["post", null, [
        "06:00 failed",
        "07:00 skipped",
        "07:30 caught up",
        "09:00 owed",
        "18:00 due",
      ]],
    ],
  );
  assertEquals(day.kicks.length, 1);
});

Deno.test("--status shows the books alone where the catch-up is not beside it", async () => {
  await using home = new Home();
  const words = home.words("quota_guard", { kind: "bundle" });
  const alone = join(home.path, "quota_guard.js");
  Deno.copyFileSync(words.at(-1) ?? "", alone);
  const guard = [...words.slice(0, -1), alone];
  await home.run([...guard, "--job", "post", "--", "true"]);
  const { stdout } = await home.run([...guard, "--status"]);
  assertMatch(stdout, /^ {2}post {2}\d\d:\d\d {2}ran, exit 0, no call seen$/m);
  const json = await home.run([...guard, "--status", "--json"]);
  assertEquals(JSON.parse(json.stdout).day, null);
});
