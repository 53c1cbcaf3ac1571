import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import stringWidth from "string-width";
import { emptyBooks } from "../lib/books.ts";
import { closedCircuit } from "../lib/circuit_json.ts";
import type { Day, DayEvent, DayJob } from "../lib/day.ts";
import { dayLines } from "../lib/day_lines.ts";
import { quoting, statusLines } from "../lib/status.ts";

const pure = { permissions: "none" } as const;
const plain = { columns: 80, colour: false };

function instant(text: string): number {
  return Temporal.Instant.from(text).epochMilliseconds / 1000;
}

const NOW = instant("2026-12-01T12:10:00Z");

function aDay(jobs: Partial<DayJob>[], timeZone = "UTC"): Day {
  return {
    now: NOW,
    time_zone: timeZone,
    jobs: jobs.map((job) => ({
      label: "job",
      events: [],
      newest: null,
      calls: null,
      ...job,
    })),
    kicks: [],
  };
}

function event(time: string, mark: DayEvent["mark"]): DayEvent {
  return { at: instant(`2026-12-01T${time}:00Z`), mark };
}

Deno.test("dayLines() put each hour's last event in its column", pure, () => {
  const events = [
    event("00:00", "ran"),
    event("03:10", "failed"),
    event("07:00", "owed"),
    event("07:59", "caught up"),
    event("08:00", "skipped"),
    event("09:00", "owed"),
    event("11:00", "unseen"),
    event("23:59", "due"),
  ];
  const newest = {
    kind: "RAN",
    ts: instant("2026-12-01T07:59:00Z"),
    reason: null,
    exit: 1,
    end: "budget",
  } as const;
  assertEquals(dayLines(aDay([{ events, newest, calls: 2 }]), plain), [
    "     0  3  6  9  12 15 18 21",
    "job  o··x···cs!·-           +  07:59  ran, exit 1, budget, 2 calls",
    "o ran  x failed  s skipped  ! owed  c caught up  - unseen  + due",
  ]);
});

for (
  const [zone, column] of [
    ["UTC", 7],
    ["Asia/Tokyo", 16],
    ["America/New_York", 2],
  ] as const
) {
  Deno.test(`dayLines() go by the clock of ${zone}`, pure, () => {
    const events = [event("07:00", "ran")];
    const [axis = "", job = ""] = dayLines(aDay([{ events }], zone), plain);
    assertEquals(job.indexOf("o", 5) - 5, column);
    assertEquals(axis.indexOf("0"), 5);
  });
}

Deno.test("dayLines() fit the terminal, whatever the labels", pure, () => {
  const labels = [
    "com.someone-with-a-long-name.claude.nightly-review",
    "毎日の投稿と毎日の返信と毎日の要約と",
    "x",
  ];
  const newest = {
    kind: "SKIPPED",
    ts: NOW,
    reason: "priority-probe-quota",
    exit: 1,
    end: null,
  } as const;
  const day = aDay(labels.map((label) => ({ label, newest, calls: 1 })));
  for (const columns of [60, 80, 200]) {
    const lines = dayLines(day, { columns, colour: false });
    const jobs = lines.slice(1, -1);
    for (const line of jobs) {
      assertEquals(stringWidth(line) <= columns, true, line);
    }
    // All axes begin in the same column.
    const starts = jobs.map((line) => stringWidth(line.split("  ·")[0] ?? ""));
    assertEquals(new Set(starts).size, 1);
    assertEquals((starts[0] ?? 0) <= 28, true);
  }
  const [, long = ""] = dayLines(day, plain);
  assertMatch(long, /^….*nightly-review /);
});

Deno.test("dayLines() say what was caught up", pure, () => {
  const kick = {
    label: "com.me.post",
    skip_ts: 0,
    kicked_at: NOW - 600,
    seconds: 5,
    outcome: "ran, exit 0",
    exit: 0,
  };
  const [first] = dayLines({ ...aDay([{}]), kicks: [kick] }, plain);
  assertEquals(
    first,
    "Caught up today: 1, the last com.me.post at 12:00: ran, exit 0",
  );
  assertEquals(dayLines(aDay([]), plain), [
    "No job has run through the guard yet",
  ]);
});

Deno.test("dayLines() in colours say the same", pure, () => {
  const day = aDay([{ events: [event("03:00", "owed")] }]);
  const coloured = dayLines(day, { columns: 80, colour: true });
  assertStringIncludes(coloured.join("\n"), "\x1b[35m!\x1b[0m");
  assertEquals(
    // deno-lint-ignore no-control-regex -- the colours themselves
    coloured.map((line) => line.replaceAll(/\x1b\[\d+m/g, "").trimEnd()),
    dayLines(day, plain),
  );
});

Deno.test("the status of 15 jobs fits 24 lines of 80 columns", pure, () => {
  const jobs = Array.from({ length: 15 }, (_, i) => ({
    label: `com.someone.claude.job-${i}`,
  }));
  const kicks = [{
    label: "com.someone.claude.job-1",
    skip_ts: 0,
    kicked_at: NOW,
    seconds: 1,
    outcome: "ran, exit 0 and a lot more about how that went",
    exit: 0,
  }];
  const circuit = {
    ...closedCircuit(),
    open_until: NOW + 7000,
    opened_at: NOW - 600,
    reason: "quota",
    window: "five_hour",
    opened_by: {
      job: "com.someone.claude.job-1",
      sentence: "You've hit your limit ".repeat(9),
    },
  };
  const books = {
    ...emptyBooks(),
    heartbeats: new Map([["catchup", NOW - 60]]),
  };
  const day = dayLines({ ...aDay(jobs), kicks }, plain);
  const policy = { probeInterval: 1800, cooldown: 21_600 };
  const lines = [
    ...statusLines(circuit, books, NOW, policy, "UTC", { columns: 80, day }),
    quoting(
      "Refusals in no known wording: 3, the newest",
      " ",
      "no ".repeat(99),
      80,
    ),
    "  see ~/.local/state/claude-quota/unknown.log; if one is a limit, report it",
  ];
  assertEquals(lines.length, 24);
  assertEquals(lines.filter((line) => stringWidth(line) > 80), []);
  assertMatch(lines[1] ?? "", /: "You've hit your limit .*…"$/);
});
