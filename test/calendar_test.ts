import { assertEquals, assertMatch } from "@std/assert";
import {
  calendarProblem,
  calendarUncertain,
  describeSchedule,
} from "../lib/calendar.ts";

function words(calendar: unknown): string {
  return describeSchedule({ calendar, hasStartInterval: false });
}

function pure(name: string, test: () => void): void {
  Deno.test(name, { permissions: "none" }, test);
}

pure("calendarProblem() names the entry, the key and the value", () => {
  const good = { Hour: 9, Minute: 0 };
  assertEquals(calendarProblem(undefined), null);
  assertEquals(calendarProblem([]), null);
  assertEquals(calendarProblem([good, good]), null);
  const second = (bad: unknown): string | null => calendarProblem([good, bad]);
  assertEquals(second({ Hour: 25 }), "entry 2: Hour is 25, not in 0 to 23");
  assertEquals(second({ Hour: -1 }), "entry 2: Hour is -1, not in 0 to 23");
  assertEquals(second({ Day: 0 }), "entry 2: Day is 0, not in 1 to 31");
  assertEquals(second({ Month: 0 }), "entry 2: Month is 0, not in 1 to 12");
  assertEquals(
    second({ Minute: "00" }),
    'entry 2: Minute is "00", not an integer',
  );
  assertEquals(
    second({ Minute: 0.5 }),
    "entry 2: Minute is 0.5, not an integer",
  );
  assertEquals(
    second({ Weekday: false }),
    "entry 2: Weekday is false, not an integer",
  );
  assertEquals(
    second({ hour: 9 }),
    'entry 2: the key "hour" must be written Hour',
  );
  assertEquals(second("09:00"), "entry 2: no dictionary");
  assertEquals(second(new Date(0)), "entry 2: no dictionary");
  assertEquals(
    calendarProblem({ Hour: "9" }),
    'Hour is "9", not an integer',
  );
  assertMatch(calendarProblem("daily") ?? "", /is no dictionary and no array/);
});

pure("calendarUncertain() flags Month with Weekday only", () => {
  assertMatch(calendarUncertain([{}, { Month: 6, Weekday: 1 }]) ?? "", /Month/);
  assertEquals(calendarUncertain({ Month: 6, Day: 1 }), null);
  assertEquals(calendarUncertain({ Day: 13, Weekday: 5 }), null);
});

pure("describeSchedule() draws together what differs in the day only", () => {
  const on = (days: number[]): unknown[] =>
    days.map((Weekday) => ({ Weekday, Hour: 9, Minute: 0 }));
  assertEquals(words(on([1, 2, 3, 4, 5])), "Mon-Fri 09:00");
  assertEquals(words(on([6, 0])), "Sat, Sun 09:00");
  assertEquals(words(on([7, 1, 3])), "Mon, Wed, Sun 09:00");
  assertEquals(
    words([{ Day: 1, Hour: 9, Minute: 0 }, { Day: 15, Hour: 9, Minute: 0 }]),
    "day 1, 15 09:00",
  );
});

pure("describeSchedule() draws together the times of the same days", () => {
  assertEquals(
    words([{ Hour: 10, Minute: 30 }, { Hour: 8, Minute: 0 }]),
    "daily 08:00, 10:30",
  );
  const hourly = Array.from(
    { length: 6 },
    (_, hour) => ({ Hour: hour, Minute: 0 }),
  );
  assertEquals(words(hourly), "daily 00:00, 01:00, 02:00, 3 more");
});

pure("describeSchedule() shows what wildcards mean", () => {
  assertEquals(words({ Minute: 5 }), "hourly at :05");
  assertEquals(words([{ Minute: 0 }, { Minute: 30 }]), "hourly at :00, :30");
  assertEquals(words({ Hour: 9 }), "every minute of 09:xx");
  assertEquals(words({ Weekday: 1 }), "Mon every minute");
  assertEquals(words({}), "every minute");
  assertEquals(words([]), "never");
});

pure("describeSchedule() names months, and days that are either", () => {
  assertEquals(
    words({ Day: 13, Weekday: 5, Hour: 9, Minute: 0 }),
    "day 13 or Fri 09:00",
  );
  assertEquals(
    words({ Month: 6, Day: 1, Hour: 9, Minute: 0 }),
    "Jun day 1 09:00",
  );
  assertEquals(words({ Month: 12, Hour: 9, Minute: 0 }), "Dec daily 09:00");
});

pure("describeSchedule() says what is malformed or uncertain", () => {
  assertEquals(
    words([{ Hour: 9, Minute: 0 }, { Hour: "x" }]),
    'daily 09:00; entry 2: Hour is "x", not an integer',
  );
  assertEquals(words({ Minute: 60 }), "Minute is 60, not in 0 to 59");
  assertEquals(
    words("daily"),
    "StartCalendarInterval is no dictionary and no array",
  );
  assertEquals(
    words({ Month: 6, Weekday: 1, Hour: 9, Minute: 0 }),
    "Jun Mon 09:00; uncertain: Month with Weekday",
  );
  assertEquals(
    words({ Hour: "x".repeat(99) }),
    `Hour is "${"x".repeat(29)}..., not an integer`,
  );
});

pure("describeSchedule() has words for jobs without a calendar", () => {
  const none = { calendar: undefined, hasStartInterval: false };
  const interval = { calendar: undefined, hasStartInterval: true };
  assertEquals(
    describeSchedule({ ...interval, startInterval: 1800 }),
    "every 30 min",
  );
  assertEquals(
    describeSchedule({ ...interval, startInterval: null }),
    "StartInterval malformed",
  );
  assertEquals(
    describeSchedule({
      calendar: { Hour: 9, Minute: 0 },
      hasStartInterval: true,
      startInterval: 60,
    }),
    "daily 09:00 + every 1 min",
  );
  assertEquals(describeSchedule({ ...none, keepAlive: true }), "always");
  assertEquals(describeSchedule({ ...none, runAtLoad: true }), "at login");
  assertEquals(describeSchedule(none), "on demand");
});
