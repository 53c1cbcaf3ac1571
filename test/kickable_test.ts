import { assertEquals, assertMatch } from "@std/assert";
import { emptyBooks, type Kick } from "../lib/books.ts";
import type { Candidate } from "../lib/candidate.ts";
import {
  kicksToday,
  slotWasMissed,
  whyNotByLaunchd,
  whyNotNow,
} from "../lib/kickable.ts";
import { unknownService } from "../lib/service.ts";

const ZONE = "Europe/Berlin";

function at(time: string): number {
  return Temporal.PlainDateTime.from(`2026-11-30T${time}`).toZonedDateTime(ZONE)
    .epochMilliseconds / 1000;
}

const SKIP = at("08:00:01");

function candidate(
  calendar: unknown,
  expires: number | null = null,
): Candidate {
  return {
    agent: {
      path: "/agents/me.plist",
      label: "com.me.job",
      program: null,
      arguments: [],
      stdoutPath: null,
      stderrPath: null,
      environment: {},
      workingDirectory: null,
      calendar,
      hasStartInterval: false,
      startInterval: null,
      keepAlive: false,
      runAtLoad: false,
      disabled: null,
    },
    options: {
      label: "me",
      priority: false,
      expires,
      once: false,
      resumable: false,
    },
    folder: "/state",
    skip: { kind: "SKIPPED", ts: SKIP, reason: "quota", exit: null, end: null },
  };
}

const MORNING = candidate({ Hour: 8, Minute: 0 });
const pure = { permissions: "none" as const };

Deno.test("whyNotNow() lets a skip expire to the second", pure, () => {
  const hour = candidate({ Hour: 8, Minute: 0 }, 3600);
  const why = (now: number): string | null =>
    whyNotNow(hour, emptyBooks(), { now, timeZone: ZONE });
  assertEquals(why(SKIP + 3600), null);
  assertMatch(why(SKIP + 3600.1) ?? "", /^expired 09:00 \(--expires 1 h/);
  const never = candidate({ Hour: 8, Minute: 0 }, 0);
  assertEquals(
    whyNotNow(never, emptyBooks(), { now: SKIP + 99, timeZone: ZONE }),
    "never caught up (--expires 0)",
  );
});

Deno.test(
  "whyNotNow() minds a slot half an hour ahead and a minute back, to the second",
  pure,
  () => {
    const brief = candidate([
      { Hour: 8, Minute: 0 },
      { Hour: 10, Minute: 30 },
    ]);
    const why = (time: string): string | null =>
      whyNotNow(brief, emptyBooks(), { now: at(time), timeZone: ZONE });
    assertEquals(why("09:59:59"), null);
    assertEquals(why("10:00:00"), "its 10:30 slot will make it up");
    assertEquals(why("10:29:59"), "its 10:30 slot will make it up");
    assertEquals(why("10:30:00"), "launchd is starting its 10:30 slot");
    assertEquals(why("10:31:00"), "launchd is starting its 10:30 slot");
    assertEquals(why("10:31:01"), null);
  },
);

Deno.test(
  "whyNotNow() looks twice the last run ahead, an hour at most",
  pure,
  () => {
    const evening = candidate([
      { Hour: 8, Minute: 0 },
      { Hour: 18, Minute: 0 },
    ]);
    const isNear = (seconds: number, time: string): boolean => {
      const books = emptyBooks();
      books.jobs.set("me", {
        outcome: "skipped",
        ts: SKIP,
        exit: null,
        reason: "quota",
        ending: null,
        calls: 0,
        seconds,
        owed_from: null,
      });
      return whyNotNow(evening, books, { now: at(time), timeZone: ZONE }) !==
        null;
    };
    assertEquals(isNear(60, "17:29"), false);
    assertEquals(isNear(1200, "17:20"), true);
    assertEquals(isNear(1200, "17:19"), false);
    assertEquals(isNear(9000, "17:00"), true);
    assertEquals(isNear(9000, "16:59"), false);
  },
);

Deno.test(
  "whyNotNow() kicks once for one skip, and three times a day",
  pure,
  () => {
    const now = at("12:00");
    const why = (kick: Partial<Kick>): string | null => {
      const books = emptyBooks();
      books.kicks.set("me", {
        skip_ts: SKIP - 60,
        at: at("09:00"),
        runs: 3,
        count: 1,
        done: true,
        ...kick,
      });
      return whyNotNow(MORNING, books, { now, timeZone: ZONE });
    };
    assertEquals(why({}), null);
    assertEquals(why({ skip_ts: SKIP }), "kicked for this skip already, 09:00");
    assertEquals(why({ skip_ts: SKIP, done: false }), null);
    assertEquals(why({ count: 2 }), null);
    assertEquals(why({ count: 3 }), "kicked 3 times today already");
    // A kick that was never closed, and a new skip since: it was made.
    assertEquals(
      why({ count: 2, done: false }),
      "kicked 3 times today already",
    );
    assertEquals(why({ count: 3, at: at("00:00") - 1 }), null);
  },
);

Deno.test(
  "whyNotByLaunchd() takes an open kick for made unless launchd's count says that it was not",
  pure,
  () => {
    const moment = { now: at("12:00"), timeZone: ZONE };
    const why = (before: number | null, runs: number | null): string | null => {
      const books = emptyBooks();
      books.kicks.set("me", {
        skip_ts: SKIP,
        at: at("11:00"),
        runs: before,
        count: 0,
        done: false,
      });
      const status = {
        ...unknownService("", "no"),
        found: "yes" as const,
        state: "not running",
        runs,
      };
      const view = { status, disabled: null, overruledBy: null };
      return whyNotByLaunchd(MORNING, view, books, moment);
    };
    assertEquals(why(4, 4), null);
    for (
      const [before, runs] of [[4, 5], [4, 0], [null, 4], [null, null]] as const
    ) {
      assertMatch(why(before, runs) ?? "", /how it ended is not known/);
    }
  },
);

Deno.test("kicksToday() counts by the local day", pure, () => {
  const kick = { skip_ts: 1, at: at("00:00"), runs: 0, count: 2, done: true };
  const moment = { now: at("23:59"), timeZone: ZONE };
  assertEquals(kicksToday(undefined, SKIP, moment), 0);
  assertEquals(kicksToday(kick, SKIP, moment), 2);
  assertEquals(kicksToday(kick, SKIP, { ...moment, timeZone: "UTC" }), 0);
});

Deno.test(
  "slotWasMissed() sees a slot since the skip and the last round that nobody ran",
  pure,
  () => {
    const brief = candidate([
      { Hour: 8, Minute: 0 },
      { Hour: 11, Minute: 0 },
    ]);
    const missed = (lastRound: string | null, now: string): boolean =>
      slotWasMissed(brief, lastRound === null ? undefined : at(lastRound), {
        now: at(now),
        timeZone: ZONE,
      });
    assertEquals(missed("08:30", "12:00"), true);
    assertEquals(missed("11:00", "12:00"), false);
    assertEquals(missed("08:30", "11:00:30"), false, "launchd is at it");
    assertEquals(missed("08:30", "10:59"), false);
    assertEquals(missed(null, "12:00"), false, "nothing is known");
    assertEquals(missed("07:00", "08:05"), false, "the slot that was skipped");
  },
);
