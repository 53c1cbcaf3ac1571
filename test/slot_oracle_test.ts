// Random schedules against an oracle that walks minute by minute through local
// time and shares no code with lib/slot.ts. A failure names its case; the seed
// below makes it come again.

import { assert, assertEquals } from "@std/assert";
import { calendarSlotPassed, nextSlot, slotsBetween } from "../lib/slot.ts";

/** Zones, and days on which their clocks do something. */
const NIGHTS: [zone: string, date: string][] = [
  ["UTC", "2026-02-28"],
  ["Asia/Tokyo", "2026-08-21"],
  ["Asia/Kathmandu", "2028-02-29"],
  ["America/New_York", "2026-03-08"],
  ["America/New_York", "2026-11-01"],
  ["Europe/Berlin", "2026-03-29"],
  ["Europe/Berlin", "2026-10-25"],
  ["Australia/Lord_Howe", "2026-04-05"], // half an hour back
  ["Australia/Lord_Howe", "2026-10-04"], // half an hour ahead
  ["America/Sao_Paulo", "2018-11-04"], // midnight is skipped
  ["Africa/Cairo", "2026-10-30"], // midnight comes back to the day before
  ["America/St_Johns", "2026-12-31"],
  ["Antarctica/Troll", "2026-03-29"], // two hours
  ["Pacific/Apia", "2011-12-31"], // the day before did not take place
];

/** Raise the number for a longer search; 2,000 take some twenty seconds. */
const CASES = 150;
const SEED = 20260821;

/** Minutes walked before and after the instant in question. */
const BACK = 50 * 60;
const AHEAD = 50 * 60;

type Entry = Record<string, unknown>;

/** Numbers from a seed, evenly between 0 and 1 (mulberry32, public domain). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** A wall time as minutes since 1970, taken apart without Temporal. */
function wallFields(wall: number): Record<string, number> {
  const date = new Date(wall * 60000);
  return {
    Minute: date.getUTCMinutes(),
    Hour: date.getUTCHours(),
    Day: date.getUTCDate(),
    Weekday: date.getUTCDay(),
    Month: date.getUTCMonth() + 1,
  };
}

/** The documented rules, one after another. */
function fires(entry: Entry, wall: number): boolean {
  const at = wallFields(wall);
  for (const key of ["Minute", "Hour", "Month"]) {
    if (key in entry && entry[key] !== at[key]) return false;
  }
  const dayFits = entry.Day === at.Day;
  const weekdayFits = entry.Weekday === at.Weekday ||
    (entry.Weekday === 7 && at.Weekday === 0);
  if ("Day" in entry && "Weekday" in entry) return dayFits || weekdayFits;
  if ("Day" in entry) return dayFits;
  return !("Weekday" in entry) || weekdayFits;
}

function isGood(entry: unknown): entry is Entry {
  if (entry === null || typeof entry !== "object" || Array.isArray(entry)) {
    return false;
  }
  const good: Record<string, (value: number) => boolean> = {
    Minute: (value) => value >= 0 && value < 60,
    Hour: (value) => value >= 0 && value < 24,
    Day: (value) => value > 0 && value < 32,
    Weekday: (value) => value >= 0 && value < 8,
    Month: (value) => value > 0 && value < 13,
  };
  return Object.entries(entry).every(([key, value]) =>
    good[key] === undefined
      ? key !== "hour"
      : typeof value === "number" && value % 1 === 0 && good[key](value)
  );
}

interface Firing {
  /** Epoch minutes. */
  at: number;
  /** The wall time that it stands for, in minutes. */
  wall: number;
}

/** Walks from one epoch minute to another; good entries only. */
function walk(
  entries: Entry[],
  zone: string,
  from: number,
  to: number,
): Firing[] {
  const firings: Firing[] = [];
  const seen = new Set<number>();
  let before: number | null = null;
  let offset = 0;
  for (let at = from; at <= to; at++) {
    // All these clocks change on quarters of an hour.
    if (at % 15 === 0 || at === from) {
      offset = Temporal.Instant.fromEpochMilliseconds(at * 60000)
        .toZonedDateTimeISO(zone).offsetNanoseconds / 60e9;
    }
    const wall = at + offset;
    for (
      let each = before === null ? wall : Math.min(before + 1, wall);
      each <= wall;
      each++
    ) {
      if (seen.has(each)) continue; // came round a second time
      seen.add(each);
      if (entries.some((entry) => fires(entry, each))) {
        firings.push({ at, wall: each });
      }
    }
    before = wall;
  }
  return firings;
}

Deno.test("slots agree with an oracle that walks through every minute", {
  permissions: "none",
}, () => {
  const random = randomFrom(SEED);
  const pick = (least: number, most: number): number =>
    least + Math.floor(random() * (most - least + 1));
  const verdicts = { passed: 0, not: 0, slots: 0 };
  for (let number = 0; number < CASES; number++) {
    const [zone, date] = NIGHTS[pick(0, NIGHTS.length - 1)] ??
      ["UTC", "2026-01-01"];
    const now = Temporal.PlainDate.from(date).toZonedDateTime(zone)
      .add({ seconds: pick(-1800, 1800) * 60 + pick(0, 1) * pick(0, 59) });
    const minute = Math.floor(now.epochMilliseconds / 60000);
    const near = wallFields(minute + now.offsetNanoseconds / 60e9);
    const entry = (): unknown => {
      const some: Entry = {};
      const put = (key: string, chance: number, value: () => number): void => {
        if (random() < chance) some[key] = random() < 0.4 ? near[key] : value();
      };
      put("Hour", 0.85, () => pick(0, random() < 0.5 ? 3 : 23));
      put("Minute", 0.85, () => pick(0, 59));
      put("Day", 0.2, () => pick(1, 31));
      put("Weekday", 0.3, () => pick(0, 7));
      put("Month", 0.1, () => pick(1, 12));
      if (random() < 0.05) some.Second = 5;
      if (random() > 0.06) return some;
      const bad = ["9", 9.5, -1, 99, true, null][pick(0, 5)];
      const key =
        ["Minute", "Hour", "Day", "Weekday", "Month", "hour"][pick(0, 5)] ?? "";
      return random() < 0.2 ? bad : { ...some, [key]: bad };
    };
    const entries = Array.from({ length: pick(0, 3) }, entry);
    const calendar = entries.length === 1 && random() < 0.5
      ? entries[0]
      : entries;
    const hasStartInterval = random() < 0.05;
    const told = `case ${number}: ${now} ${JSON.stringify(calendar)}`;

    const good = entries.filter(isGood);
    const firings = walk(good, zone, minute - BACK, minute + AHEAD);
    const inOrder = firings.map((firing) => firing.at * 60000)
      .filter((at, index, all) => at !== all[index - 1]);

    const today = Math.floor((minute + now.offsetNanoseconds / 60e9) / 1440);
    const passed = !hasStartInterval && good.length === entries.length &&
      good.every((each) => "Hour" in each) &&
      firings.some((firing) =>
        Math.floor(firing.wall / 1440) === today && firing.at <= minute
      );
    assertEquals(
      calendarSlotPassed({ calendar, hasStartInterval }, now),
      passed,
      told,
    );

    const from = now.subtract({ hours: pick(0, 20) });
    const to = now.add({ hours: pick(0, 20) });
    const expected = inOrder.filter((at) =>
      at >= from.epochMilliseconds && at <= to.epochMilliseconds
    );
    const slots = slotsBetween(calendar, from, to).map((slot) =>
      slot.epochMilliseconds
    );
    assertEquals(slots, expected, told);

    const next = nextSlot(calendar, now)?.epochMilliseconds ?? Infinity;
    const horizon = (minute + AHEAD) * 60000;
    assertEquals(
      next <= horizon ? next : undefined,
      inOrder.find((at) => at > now.epochMilliseconds),
      told,
    );
    verdicts[passed ? "passed" : "not"]++;
    verdicts.slots += slots.length;
  }
  // Cases that all end in one verdict would test nothing.
  assert(verdicts.passed > CASES / 10 && verdicts.not > CASES / 10);
});
