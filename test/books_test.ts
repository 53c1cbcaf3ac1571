import { assert, assertEquals } from "@std/assert";
import {
  type Books,
  booksJson,
  emptyBooks,
  type JobEntry,
  parseBooks,
  recordJob,
  recordOk,
} from "../lib/books.ts";
import { isFields } from "../lib/lenient.ts";
import { Dice } from "./samples.ts";

const pure = { permissions: "none" } as const;
const NOW = 1_796_056_215;

const ran: JobEntry = {
  outcome: "ran",
  ts: NOW,
  exit: 0,
  reason: null,
  ending: "ok",
  calls: 2,
  seconds: 40,
  owed_from: null,
};

function fromJson(text: string, now = NOW): Books {
  const json: unknown = JSON.parse(text);
  assert(isFields(json));
  return parseBooks(json, now);
}

Deno.test(
  "parseBooks() takes a time more than 60 s ahead for now",
  pure,
  () => {
    const tsOf = (ts: number): number | undefined =>
      fromJson(`{"jobs":{"a":{"outcome":"ran","ts":${ts}}}}`, NOW + 0.5).jobs
        .get("a")?.ts;
    assertEquals(tsOf(NOW + 60), NOW + 60);
    assertEquals(tsOf(NOW + 61), NOW);
    assertEquals(tsOf(NOW * 1000), NOW);
    assertEquals(fromJson(`{"last_ok":${NOW + 900}}`).last_ok, NOW);
  },
);

Deno.test(
  "parseBooks() leaves all as it is after the clock went back 4 s",
  pure,
  () => {
    const books = {
      ...recordJob(emptyBooks(), "a", ran),
      last_ok: NOW,
      heartbeats: new Map([["catchup", NOW]]),
    };
    const text = JSON.stringify(booksJson(books));
    assertEquals(fromJson(text, NOW - 4), books);
  },
);

Deno.test(
  "parseBooks() repairs field by field and keeps the rest",
  pure,
  () => {
    const books = fromJson(JSON.stringify({
      jobs: {
        good: ran,
        odd: { outcome: "skipped", ts: String(NOW), exit: [], calls: "x" },
        lost: { outcome: "perhaps", ts: NOW },
        list: [],
      },
      kicks: { good: { skip_ts: 5 }, list: 7 },
      last_ok: "never",
      heartbeats: null,
      note: { mine: true },
    }));
    assertEquals([...books.jobs.keys()], ["good", "odd"]);
    assertEquals(books.jobs.get("odd"), {
      outcome: "skipped",
      ts: NOW,
      exit: null,
      reason: null,
      ending: null,
      calls: 0,
      seconds: null,
      owed_from: null,
    });
    assertEquals(books.kicks.size, 1);
    assertEquals(books.last_ok, 0);
    assertEquals(books.heartbeats.size, 0);
    assertEquals(books.rest, [["note", { mine: true }]]);
  },
);

Deno.test(
  "parseBooks() makes of every time one that a calendar has",
  pure,
  () => {
    for (const far of [-1e300, 1e300, -1e18]) {
      const { jobs, kicks, last_ok, heartbeats } = fromJson(JSON.stringify({
        jobs: { a: { outcome: "skipped", ts: far, owed_from: far } },
        kicks: { a: { skip_ts: far, at: far } },
        last_ok: far,
        heartbeats: { catchup: far },
      }));
      const now = far > 0 ? NOW : 0;
      assertEquals(jobs.get("a")?.ts, now);
      assertEquals(jobs.get("a")?.owed_from, null);
      assertEquals(kicks.get("a")?.skip_ts, 0);
      assertEquals(kicks.get("a")?.at, now);
      assertEquals([last_ok, heartbeats.get("catchup")], [now, now]);
    }
  },
);

Deno.test("booksJson() and parseBooks() return the same books", pure, () => {
  const dice = new Dice(3);
  const labels = ["__proto__", "constructor", "toString", "a", "ジョブ", "7"];
  for (let round = 0; round < 200; round++) {
    let books = emptyBooks();
    for (const label of labels) {
      if (dice.below(2) === 0) continue;
      books = recordJob(books, label, {
        ...ran,
        outcome: dice.pick(["ran", "skipped"]),
        ts: NOW - dice.below(1e6),
        exit: dice.pick([null, 0, 75]),
        reason: dice.pick([null, "quota"]),
        seconds: dice.below(9000),
        owed_from: dice.pick([null, NOW + 0.25]),
      });
      books.kicks.set(label, {
        skip_ts: NOW,
        at: NOW,
        runs: dice.pick([null, 3]),
        count: 1 + dice.below(3),
        done: dice.below(2) === 0,
      });
      books.heartbeats.set(label, NOW - dice.below(99));
    }
    books = { ...books, rest: [["__proto__", [1]], ["future", { a: null }]] };
    const text = JSON.stringify(booksJson(books));
    const again = fromJson(text);
    // "7" comes first in JSON: the order says nothing.
    assertEquals(
      new Map([...again.jobs].sort()),
      new Map([...books.jobs].sort()),
    );
    assertEquals(again.kicks.size, books.kicks.size);
    assertEquals(again.heartbeats.size, books.heartbeats.size);
    assertEquals(again.rest, books.rest);
    assertEquals(JSON.stringify(booksJson(again)), text);
  }
});

Deno.test(
  "recordJob() of a skip keeps how long the last run took",
  pure,
  () => {
    const before = recordJob(emptyBooks(), "a", ran);
    const skip: JobEntry = { ...ran, outcome: "skipped", seconds: null };
    const after = recordJob(before, "a", skip);
    assertEquals(after.jobs.get("a")?.seconds, 40);
    assertEquals(after.jobs.get("a")?.outcome, "skipped");
    assertEquals(before.jobs.get("a")?.outcome, "ran");
    assertEquals(
      recordJob(emptyBooks(), "a", skip).jobs.get("a")?.seconds,
      null,
    );
  },
);

Deno.test("recordOk() changes the books at most once a minute", pure, () => {
  const books = recordOk(emptyBooks(), NOW, 0);
  assertEquals(books.last_ok, NOW);
  assert(recordOk(books, NOW + 59, 0) === books);
  assertEquals(recordOk(books, NOW + 60, 0).last_ok, NOW + 60);
  assert(recordOk(books, NOW - 500, 0) === books);
});

Deno.test(
  "recordOk() notes the first answer since the circuit closed at once",
  pure,
  () => {
    const books = recordOk(emptyBooks(), NOW, 0);
    const closed = NOW + 10;
    assertEquals(recordOk(books, NOW + 11, closed).last_ok, NOW + 11);
    // A call that began before says nothing about the time after.
    assert(recordOk(books, NOW + 9, closed) === books);
  },
);
