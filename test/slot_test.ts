import { assertEquals } from "@std/assert";
import {
  calendarSlotPassed,
  nextSlot,
  runsToday,
  slotsBetween,
  whyNoSlotPassed,
} from "../lib/slot.ts";

const NEW_YORK = "America/New_York";

function at(time: string, zone = NEW_YORK): Temporal.ZonedDateTime {
  return Temporal.ZonedDateTime.from(`${time}[${zone}]`);
}

/** Friday, 21 August 2026. */
const NOON = at("2026-08-21T12:00");

function passed(
  calendar: unknown,
  now = NOON,
  hasStartInterval = false,
): boolean {
  return calendarSlotPassed({ calendar, hasStartInterval }, now);
}

function next(
  calendar: unknown,
  after: Temporal.ZonedDateTime,
): string | undefined {
  return nextSlot(calendar, after)?.toString({ smallestUnit: "minute" });
}

function pure(name: string, test: () => void): void {
  Deno.test(name, { permissions: "none" }, test);
}

pure(
  "calendarSlotPassed() counts a past slot although a later one is due today",
  () => {
    const early = { Hour: 9, Minute: 0 };
    const late = { Hour: 18, Minute: 0 };
    assertEquals(passed([early, late]), true);
    assertEquals(passed([late, early]), true);
    assertEquals(passed([late]), false);
    assertEquals(passed(early), true);
  },
);

pure(
  "calendarSlotPassed() counts a slot equal to now, not one a minute ahead",
  () => {
    assertEquals(passed({ Hour: 12, Minute: 0 }), true);
    assertEquals(passed({ Hour: 12, Minute: 1 }), false);
    assertEquals(
      passed({ Hour: 12, Minute: 1 }, NOON.add({ seconds: 59 })),
      false,
    );
  },
);

pure("calendarSlotPassed() takes a missing Minute for the full hour", () => {
  assertEquals(passed({ Hour: 12 }), true);
  assertEquals(passed({ Hour: 13 }), false);
});

pure("calendarSlotPassed() never counts a job with StartInterval", () => {
  assertEquals(passed({ Hour: 9, Minute: 0 }, NOON, true), false);
});

pure("calendarSlotPassed() rules a job out for one entry without Hour", () => {
  const good = { Hour: 9, Minute: 0 };
  assertEquals(passed([good, { Minute: 30 }]), false);
  // Also when that entry is for another day of the week.
  assertEquals(passed([good, { Weekday: 1, Minute: 30 }]), false);
  assertEquals(passed([{}, good]), false);
});

pure("calendarSlotPassed() rules a job out for one malformed entry", () => {
  const good = { Hour: 9, Minute: 0 };
  for (const bad of ["8", 8.5, -1, 24, true, null, NaN, [8], {}]) {
    assertEquals(passed([good, { Hour: bad, Minute: 0 }]), false, `${bad}`);
  }
  const days = [{ Minute: 60 }, { Day: 0 }, { Weekday: 8 }, { Month: 0 }, {
    Month: 13,
  }];
  for (const bad of days) {
    assertEquals(
      passed([{ ...good, ...bad }, good]),
      false,
      JSON.stringify(bad),
    );
  }
  for (const bad of ["09:00", null, 9, [], new Date(0)]) {
    assertEquals(passed([good, bad]), false, `${bad}`);
  }
});

pure("calendarSlotPassed() has none in what is no calendar or empty", () => {
  for (const calendar of [undefined, null, "daily", 9, [], new Date(0)]) {
    assertEquals(passed(calendar), false, `${calendar}`);
  }
});

pure("calendarSlotPassed() ignores keys that launchd does not know", () => {
  assertEquals(passed({ Hour: 9, Minute: 0, Second: "x", Year: 1999 }), true);
});

pure("calendarSlotPassed() looks at the local day only", () => {
  const evening = { Hour: 23, Minute: 50 };
  assertEquals(passed(evening, at("2026-08-22T00:10")), false);
  assertEquals(passed(evening, at("2026-08-21T23:50")), true);
});

pure("whyNoSlotPassed() says which entry and how", () => {
  const why = (calendar: unknown, hasStartInterval = false): string | null =>
    whyNoSlotPassed({ calendar, hasStartInterval }, NOON);
  assertEquals(why({ Hour: 9 }), null);
  assertEquals(why({ Hour: 9 }, true), "StartInterval repeats by itself");
  assertEquals(why(undefined), "no StartCalendarInterval");
  assertEquals(
    why([{ Hour: 9 }, { Hour: "x" }]),
    'entry 2: Hour is "x", not an integer',
  );
  assertEquals(
    why([{ Hour: 9 }, { Minute: 5 }]),
    "entry 2: no Hour, repeats by itself",
  );
  assertEquals(why({ Hour: 18 }), "no slot has passed today");
});

pure("runsToday() matches the weekday, Sunday as 0 and as 7", () => {
  const sunday = at("2026-08-23T12:00");
  assertEquals(runsToday({ Weekday: 5 }, NOON), true);
  assertEquals(runsToday({ Weekday: 4 }, NOON), false);
  assertEquals(runsToday({ Weekday: 0 }, sunday), true);
  assertEquals(runsToday({ Weekday: 7 }, sunday), true);
  assertEquals(runsToday({ Weekday: 0 }, NOON), false);
  assertEquals(runsToday({}, NOON), true);
});

pure("runsToday() takes Day and Weekday together for either", () => {
  assertEquals(runsToday({ Day: 13, Weekday: 5 }, NOON), true);
  assertEquals(runsToday({ Day: 21, Weekday: 1 }, NOON), true);
  assertEquals(runsToday({ Day: 13, Weekday: 1 }, NOON), false);
});

pure("runsToday() takes Month as a condition of its own", () => {
  assertEquals(runsToday({ Month: 8, Day: 21 }, NOON), true);
  assertEquals(runsToday({ Month: 7, Day: 21 }, NOON), false);
  assertEquals(runsToday({ Month: 7, Weekday: 5 }, NOON), false);
  assertEquals(runsToday({ Month: 7, Day: 13, Weekday: 5 }, NOON), false);
});

pure("slotsBetween() includes both ends, in order, each once", () => {
  const calendar = [{ Hour: 10, Minute: 30 }, { Hour: 8, Minute: 0 }, {
    Hour: 8,
    Minute: 0,
  }];
  const slots = slotsBetween(
    calendar,
    at("2026-08-21T08:00"),
    at("2026-08-22T08:00"),
  );
  assertEquals(slots.map((slot) => slot.toPlainDateTime().toString()), [
    "2026-08-21T08:00:00",
    "2026-08-21T10:30:00",
    "2026-08-22T08:00:00",
  ]);
});

pure("slotsBetween() fills missing keys with every value", () => {
  const count = (calendar: unknown): number =>
    slotsBetween(calendar, at("2026-08-21T00:00"), at("2026-08-21T23:59"))
      .length;
  assertEquals(count({}), 1440);
  assertEquals(count({ Minute: 30 }), 24);
  assertEquals(count({ Hour: 9 }), 60);
  assertEquals(count({ Weekday: 1 }), 0);
  assertEquals(count([]), 0);
  assertEquals(count([{ Hour: "9" }, { Hour: 9, Minute: 0 }]), 1);
});

pure("nextSlot() is strictly after", () => {
  const daily = { Hour: 12, Minute: 0 };
  assertEquals(
    next(daily, NOON.subtract({ seconds: 1 })),
    NOON.toString({ smallestUnit: "minute" }),
  );
  assertEquals(next(daily, NOON), "2026-08-22T12:00-04:00[America/New_York]");
});

pure("nextSlot() passes over months without that day", () => {
  const from = at("2026-02-01T00:00");
  assertEquals(
    next({ Day: 31, Hour: 0, Minute: 0 }, from)?.slice(0, 10),
    "2026-03-31",
  );
  const leap = { Month: 2, Day: 29, Hour: 9, Minute: 0 };
  assertEquals(next(leap, from)?.slice(0, 10), "2028-02-29");
  assertEquals(next(leap, at("2096-03-01T00:00"))?.slice(0, 10), "2104-02-29");
  assertEquals(next({ Month: 2, Day: 30 }, from), undefined);
});

pure(
  "a slot in the hour that is skipped comes at the first instant after it",
  () => {
    const calendar = { Hour: 2, Minute: 30 };
    const night = at("2026-03-08T00:00");
    assertEquals(
      next(calendar, night),
      "2026-03-08T03:00-04:00[America/New_York]",
    );
    assertEquals(passed(calendar, at("2026-03-08T01:59")), false);
    assertEquals(passed(calendar, at("2026-03-08T03:00")), true);
  },
);

pure(
  "a slot in the hour that is repeated comes once, at the first time",
  () => {
    const calendar = { Hour: 1, Minute: 30 };
    const slots = slotsBetween(
      calendar,
      at("2026-11-01T00:00"),
      at("2026-11-01T12:00"),
    );
    assertEquals(slots.map(String), [
      "2026-11-01T01:30:00-04:00[America/New_York]",
    ]);
    const between = at("2026-11-01T01:00-05:00");
    assertEquals(passed(calendar, between), true);
  },
);

pure("a midnight that is skipped belongs to its own day", () => {
  const zone = "America/Sao_Paulo";
  const midnight = { Hour: 0, Minute: 0 };
  const slot = next(midnight, at("2018-11-03T12:00", zone));
  assertEquals(slot, `2018-11-04T01:00-02:00[${zone}]`);
  assertEquals(passed(midnight, at("2018-11-04T01:00", zone)), true);
});

pure("a day that did not take place leaves its slots to the next one", () => {
  const zone = "Pacific/Apia"; // went from 29 to 31 December 2011
  const friday = { Weekday: 5, Hour: 9, Minute: 0 };
  const first = at("2011-12-31T00:00", zone);
  assertEquals(slotsBetween(friday, first, first).length, 1);
  assertEquals(
    nextSlot(friday, first.subtract({ hours: 1 }))?.equals(first),
    true,
  );
});
