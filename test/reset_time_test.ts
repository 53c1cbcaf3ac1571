import { assert, assertEquals } from "@std/assert";
import { parseResetTime } from "../lib/reset_time.ts";
import { findShownTime } from "../lib/shown_time.ts";
import { quickly } from "./quick.ts";

/** A Tuesday. */
const CALL = seconds("2026-03-10T14:20:30Z");
const SETTINGS = { after: CALL, timeZone: "UTC" };

function seconds(iso: string): number {
  return Temporal.Instant.from(iso).epochMilliseconds / 1000;
}

function reset(text: string, more: Record<string, unknown> = {}): string {
  const instant = parseResetTime(text, { ...SETTINGS, ...more });
  return instant === null
    ? "unknown"
    : Temporal.Instant.fromEpochMilliseconds(instant * 1000).toString();
}

function check(table: [string, string][]): void {
  for (const [text, expected] of table) {
    assertEquals(reset(text), expected, text);
  }
}

Deno.test("parseResetTime() reads clocks of 12 and 24 hours", {
  permissions: "none",
}, () => {
  check([
    ["resets 3pm", "2026-03-10T15:00:00Z"],
    ["resets 3:45 PM", "2026-03-10T15:45:00Z"],
    ["resets 3:45 p.m.", "2026-03-10T15:45:00Z"],
    ["resets 3:45\u202fPM", "2026-03-10T15:45:00Z"],
    ["resets 15:45", "2026-03-10T15:45:00Z"],
    ["resets at 15:45 UTC", "2026-03-10T15:45:00Z"],
    ["resets 9am", "2026-03-11T09:00:00Z"],
    ["resets 12am", "2026-03-11T00:00:00Z"],
    ["resets 12:05am", "2026-03-11T00:05:00Z"],
    ["resets 12pm", "2026-03-11T12:00:00Z"],
    ["resets 12:30pm", "2026-03-11T12:30:00Z"],
    ["resets 00:10", "2026-03-11T00:10:00Z"],
    ["resets midnight", "2026-03-11T00:00:00Z"],
    ["resets tomorrow at 3pm", "2026-03-11T15:00:00Z"],
    ["resets 5pm today", "2026-03-10T17:00:00Z"],
    ["Your limit will reset at 6pm.", "2026-03-10T18:00:00Z"],
    ["3pm", "2026-03-10T15:00:00Z"],
    ["at 3pm", "2026-03-10T15:00:00Z"],
  ]);
});

Deno.test(
  "parseResetTime() reads dates with and without year, weekdays, dates alone",
  {
    permissions: "none",
  },
  () => {
    check([
      ["resets Mar 13, 12:02am", "2026-03-13T00:02:00Z"],
      ["resets Mar 13 at 3am", "2026-03-13T03:00:00Z"],
      ["resets March 13th at 15:30", "2026-03-13T15:30:00Z"],
      ["resets 13 Mar, 3am", "2026-03-13T03:00:00Z"],
      ["resets 3am on Mar 13", "2026-03-13T03:00:00Z"],
      ["resets Fri, Mar 13, 3am", "2026-03-13T03:00:00Z"],
      ["resets Mar 13, 2026, 3am", "2026-03-13T03:00:00Z"],
      ["resets Feb 2, 2027, 4:30pm", "2027-02-02T16:30:00Z"],
      ["resets 2026-03-13 00:00 UTC", "2026-03-13T00:00:00Z"],
      ["regain access on 2026-06-01 at 00:00 UTC", "2026-06-01T00:00:00Z"],
      ["2026-03-13T10:00:00+09:00", "2026-03-13T01:00:00Z"],
      ["2026-03-13T10:00Z", "2026-03-13T10:00:00Z"],
      ["resets Mon 12:00am", "2026-03-16T00:00:00Z"],
      ["resets Monday at 9am", "2026-03-16T09:00:00Z"],
      ["resets Tue 3pm", "2026-03-10T15:00:00Z"],
      ["resets Tue 2pm", "2026-03-17T14:00:00Z"],
      ["resets Thu", "2026-03-12T00:00:00Z"],
      ["resets Mar 15", "2026-03-15T00:00:00Z"],
      ["resets 2026-03-15", "2026-03-15T00:00:00Z"],
      // The day has begun: its end is certain to be past the reset.
      ["resets Tue", "2026-03-11T00:00:00Z"],
      ["resets Mar 10", "2026-03-11T00:00:00Z"],
    ]);
  },
);

Deno.test(
  "parseResetTime() reads relative waits, from when they were printed",
  {
    permissions: "none",
  },
  () => {
    check([
      ["resets in 2 hours 15 minutes", "2026-03-10T16:35:30Z"],
      ["try again in 45m", "2026-03-10T15:05:30Z"],
      ["Retrying in 90 seconds", "2026-03-10T14:22:00Z"],
      ["resets in 1 day, 3 hours", "2026-03-11T17:20:30Z"],
      ["2h30m", "2026-03-10T16:50:30Z"],
    ]);
    assertEquals(
      reset("try again in 45m", { printedAt: CALL + 7200 }),
      "2026-03-10T17:05:30Z",
    );
  },
);

Deno.test(
  "parseResetTime() takes an epoch as it is, but not one before the call",
  {
    permissions: "none",
  },
  () => {
    const ahead = CALL + 5000;
    assertEquals(
      parseResetTime(`usage limit reached|${ahead}`, SETTINGS),
      ahead,
    );
    assertEquals(parseResetTime(`reached|${ahead}. Stderr:`, SETTINGS), ahead);
    assertEquals(parseResetTime(`reached|${ahead}000`, SETTINGS), ahead);
    assertEquals(parseResetTime(String(ahead), SETTINGS), ahead);
    assertEquals(parseResetTime(`reached|${CALL}`, SETTINGS), CALL);
    assertEquals(parseResetTime(`reached|${CALL - 1}`, SETTINGS), null);
    assertEquals(parseResetTime("reached|0", SETTINGS), null);
  },
);

Deno.test("parseResetTime() prefers the zone in the text, and falls back", {
  permissions: "none",
}, () => {
  check([
    ["resets 3am (Asia/Tokyo)", "2026-03-10T18:00:00Z"],
    ["resets 3am (asia/tokyo)", "2026-03-10T18:00:00Z"],
    ["resets 3am (Asia/Calcutta)", "2026-03-10T21:30:00Z"],
    ["resets 3am\n     (Asia/Tokyo).", "2026-03-10T18:00:00Z"],
    ["resets 3am (America/Argentina/\n  Buenos_Aires)", "2026-03-11T06:00:00Z"],
    ["resets 3am (UTC+2)", "2026-03-11T01:00:00Z"],
    ["resets 3am (GMT-03:30)", "2026-03-11T06:30:00Z"],
    ["resets 3am Asia/Tokyo", "2026-03-10T18:00:00Z"],
    ["resets Mar 12, 3am (Asia/Tokyo)", "2026-03-11T18:00:00Z"],
    ["resets 3am (Etc/Unknown)", "2026-03-11T03:00:00Z"],
    ["resets 3am (Mars/Olympus_Mons)", "2026-03-11T03:00:00Z"],
  ]);
  const tokyo = { timeZone: "Asia/Tokyo" };
  assertEquals(reset("resets 3am", tokyo), "2026-03-10T18:00:00Z");
  assertEquals(
    reset("resets 3am (Etc/Unknown)", tokyo),
    "2026-03-10T18:00:00Z",
  );
  assertEquals(
    reset("resets 3am", { timeZone: "No/Such" }),
    "2026-03-11T03:00:00Z",
  );
});

Deno.test("parseResetTime() makes nothing of impossible or missing times", {
  permissions: "none",
}, () => {
  const impossible = [
    "25pm",
    "13pm",
    "0am",
    "3:60pm",
    "24:30",
    "12:75",
    "3",
    "Feb 30, 3am",
    "Foo 3, 9am",
    "Mar 13, 25pm",
    "2026-02-30 00:00 UTC",
    "2026-13-01",
    "soon",
    "",
  ];
  for (const time of impossible) {
    assertEquals(
      reset(`You've hit your limit · resets ${time}`),
      "unknown",
      time,
    );
    assertEquals(reset(time), "unknown", time);
  }
  // Not the time of something else that follows.
  assertEquals(
    reset("resets 25pm · continuing automatically at 8am"),
    "unknown",
  );
});

Deno.test(
  "parseResetTime() takes a minute that began less than 60 s before the call as meant now",
  {
    permissions: "none",
  },
  () => {
    const at = (iso: string): Record<string, unknown> => ({
      after: seconds(iso),
    });
    const text = "resets 2:20pm";
    assertEquals(
      reset(text, at("2026-03-10T14:20:59Z")),
      "2026-03-10T14:20:00Z",
    );
    assertEquals(
      reset(text, at("2026-03-10T14:20:59.9Z")),
      "2026-03-10T14:20:00Z",
    );
    assertEquals(
      reset(text, at("2026-03-10T14:21:00Z")),
      "2026-03-11T14:20:00Z",
    );
    assertEquals(
      reset("resets Mar 10, 2:20pm", at("2026-03-10T14:21:00Z")),
      "unknown",
    );
    assertEquals(
      reset("resets Tue 2:20pm", at("2026-03-10T14:20:40Z")),
      "2026-03-10T14:20:00Z",
    );
    assertEquals(
      reset("resets 12am", at("2026-03-10T00:00:20Z")),
      "2026-03-10T00:00:00Z",
    );
  },
);

Deno.test("parseResetTime() rolls over midnight and the year", {
  permissions: "none",
}, () => {
  const late = { after: seconds("2026-12-31T23:30:00Z") };
  assertEquals(reset("resets 1:30am", late), "2027-01-01T01:30:00Z");
  assertEquals(reset("resets Jan 3, 2am", late), "2027-01-03T02:00:00Z");
  assertEquals(reset("resets Dec 31, 11:45pm", late), "2026-12-31T23:45:00Z");
  // In Tokyo the new year has begun.
  assertEquals(
    reset("resets Jan 1, 9am (Asia/Tokyo)", late),
    "2027-01-01T00:00:00Z",
  );
  const first = { after: seconds("2027-01-01T00:00:20Z") };
  assertEquals(reset("resets Jan 1, 12am", first), "2027-01-01T00:00:00Z");
  const leap = { after: seconds("2028-02-25T00:00:00Z") };
  assertEquals(reset("resets Feb 29, 1am", leap), "2028-02-29T01:00:00Z");
});

Deno.test(
  "parseResetTime() believes a guessed year only as far as the window can last",
  {
    permissions: "none",
  },
  () => {
    const week = { window: "seven_day" };
    assertEquals(reset("resets Mar 18, 2:20pm", week), "2026-03-18T14:20:00Z");
    assertEquals(reset("resets Mar 18, 2:21pm", week), "unknown");
    assertEquals(
      reset("resets Mar 18, 2:21pm", { window: "five_hour" }),
      "unknown",
    );
    assertEquals(
      reset("resets Mar 18, 2:21pm", { window: "seven_day_opus" }),
      "unknown",
    );
    assertEquals(reset("resets Mar 18, 2:21pm"), "2026-03-18T14:21:00Z");
    assertEquals(
      reset("resets Apr 11, 2:20pm", { window: "spend" }),
      "2026-04-11T14:20:00Z",
    );
    assertEquals(
      reset("resets Apr 11, 2:21pm", { window: "spend" }),
      "unknown",
    );
    assertEquals(reset("resets Mar 9, 3am"), "unknown");
    // A year that is shown needs no guess.
    assertEquals(
      reset("resets May 2, 2026, 3am", week),
      "2026-05-02T03:00:00Z",
    );
    assertEquals(reset("resets Mar 9, 2026, 3am"), "unknown");
    assertEquals(reset("2026-03-09 00:00 UTC"), "unknown");
  },
);

Deno.test("parseResetTime() finds the reset among other times", {
  permissions: "none",
}, () => {
  check([
    [
      "Usage limit reached · continuing automatically at 4pm\nresets 5pm (UTC)",
      "2026-03-10T17:00:00Z",
    ],
    [
      "Usage limit reached · continuing automatically at 4pm",
      "2026-03-10T16:00:00Z",
    ],
    [
      "monthly spend limit · raise it at claude.ai · your session limit resets 5pm",
      "2026-03-10T17:00:00Z",
    ],
  ]);
  assertEquals(findShownTime("The meeting is at 5pm in room 3."), null);
});

Deno.test(
  "parseResetTime() takes the first of a repeated hour that is after the call",
  {
    permissions: "none",
  },
  () => {
    // In New York 1:30 comes at 05:30Z and again at 06:30Z on 2026-11-01.
    const text = "resets 1:30am (America/New_York)";
    const at = (iso: string): Record<string, unknown> => ({
      after: seconds(iso),
    });
    assertEquals(
      reset(text, at("2026-11-01T03:00:00Z")),
      "2026-11-01T05:30:00Z",
    );
    assertEquals(
      reset(text, at("2026-11-01T05:30:59Z")),
      "2026-11-01T05:30:00Z",
    );
    assertEquals(
      reset(text, at("2026-11-01T05:45:00Z")),
      "2026-11-01T06:30:00Z",
    );
    assertEquals(
      reset(text, at("2026-11-01T06:45:00Z")),
      "2026-11-02T06:30:00Z",
    );
    // 2:30 is skipped on 2026-03-08: it stands for 3:30.
    assertEquals(
      reset("resets 2:30am (America/New_York)", at("2026-03-08T05:00:00Z")),
      "2026-03-08T07:30:00Z",
    );
  },
);

/** As the CLI prints a reset: minutes only if not 0, the date if more than 24 h ahead. */
function printed(instant: number, call: number, zone: string): string {
  const time = Temporal.Instant.fromEpochMilliseconds(instant * 1000)
    .toZonedDateTimeISO(zone);
  const hour = time.hour % 12 === 0 ? 12 : time.hour % 12;
  const minute = time.minute === 0
    ? ""
    : `:${String(time.minute).padStart(2, "0")}`;
  const clock = `${hour}${minute}${time.hour < 12 ? "am" : "pm"}`;
  if (instant - call <= 86_400) return `resets ${clock} (${zone})`;
  const month = time.toLocaleString("en-US", { month: "short" });
  return `resets ${month} ${time.day}, ${clock} (${zone})`;
}

Deno.test(
  "parseResetTime() gives back the minute that was printed, around every change of every zone",
  {
    permissions: "none",
  },
  () => {
    const from = Temporal.Instant.from("2026-01-01T00:00:00Z");
    const until =
      Temporal.Instant.from("2028-01-01T00:00:00Z").epochMilliseconds;
    let changes = 0;
    let texts = 0;
    for (
      const zone of [...Intl.supportedValuesOf("timeZone"), "Asia/Calcutta"]
    ) {
      let change = from.toZonedDateTimeISO(zone).getTimeZoneTransition("next");
      while (change !== null && change.epochMilliseconds < until) {
        changes++;
        const at = change.epochMilliseconds / 1000;
        const before = change.subtract({ seconds: 1 });
        const fold = (before.offsetNanoseconds - change.offsetNanoseconds) /
          1e9;
        for (
          const minutes of [-121, -61, -60, -30, -1, 0, 17, 30, 59, 60, 90, 121]
        ) {
          const instant = at + minutes * 60 + 41;
          for (const ahead of [60, 35 * 60, 5 * 3600, 20 * 3600, 6 * 86_400]) {
            const call = instant - ahead;
            const text = printed(instant, call, zone);
            const minute = instant - instant % 60;
            // In a repeated hour the text fits two instants: the first after the call is meant.
            const twin = minute - fold;
            const repeated = fold > 0 && minute >= at && minute < at + fold;
            const expected = repeated && twin + 60 > call ? twin : minute;
            const window = ahead > 86_400 ? "seven_day" : "five_hour";
            const found = parseResetTime(text, {
              after: call,
              timeZone: "UTC",
              window,
            });
            assertEquals(found, expected, `${text}, call ${call}`);
            texts++;
          }
        }
        change = change.getTimeZoneTransition("next");
      }
    }
    assert(changes > 300, `only ${changes} changes`);
    assert(texts > 18_000, `only ${texts} texts`);
  },
);

Deno.test("parseResetTime() is quick on long and strange texts", {
  permissions: "none",
}, () => {
  const parts = [
    "resets ",
    "1",
    "(",
    "|1",
    "in 1 day ",
    "Mar ",
    "12:",
    "\n",
    "at ",
  ];
  for (const part of parts) {
    const text = part.repeat(65_536 / part.length);
    for (const whole of [text, `resets ${text}`]) {
      quickly(() => parseResetTime(whole, SETTINGS), JSON.stringify(part));
    }
  }
});
