import { assertEquals, assertStringIncludes } from "@std/assert";
import {
  type Books,
  emptyBooks,
  type JobEntry,
  recordJob,
} from "../lib/books.ts";
import { type Circuit, openByHand, recordEnding } from "../lib/circuit.ts";
import { closedCircuit } from "../lib/circuit_json.ts";
import { statusLines, statusReport } from "../lib/status.ts";
import { anEnding } from "./samples.ts";

const pure = { permissions: "none" } as const;
const NOW = 1_796_056_215; // 2026-11-30T16:30:15Z
const policy = { probeInterval: 1800, cooldown: 21_600 };

const ran: JobEntry = {
  outcome: "ran",
  ts: NOW - 60,
  exit: 0,
  reason: null,
  ending: "ok",
  calls: 1,
  seconds: 3,
  owed_from: null,
};

function opened(fields: Partial<Circuit> = {}): Circuit {
  const ending = anEnding("limit", {
    reset_at: NOW + 7200,
    window: "five_hour",
    text: "You've hit your limit",
  });
  const report = { ending, job: "mail", model: "default", passed: null };
  return {
    ...recordEnding(closedCircuit(), report, NOW - 600, policy),
    ...fields,
  };
}

function lines(circuit: Circuit, books: Books = emptyBooks()): string {
  return statusLines(circuit, books, NOW, policy, "Asia/Tokyo").join("\n");
}

Deno.test(
  "statusLines() tell since when, by whom and until when it is open",
  pure,
  () => {
    const circuit = opened({ last_priority_probe: NOW - 60 });
    assertEquals(
      lines(circuit),
      `Circuit OPEN until 03:31 (2 h 1 min left), reason quota, window five_hour
  since 01:20, by job mail: "You've hit your limit"
  next probe: from 01:59 on, by the next --priority job
No job has run through the guard yet`,
    );
  },
);

Deno.test("statusLines() tell when the next probe is due", pure, () => {
  assertStringIncludes(
    lines(opened()),
    "next probe: by the next --priority job",
  );
  assertStringIncludes(
    lines(opened({ open_until: NOW + 60, last_priority_probe: NOW })),
    "no probe is due before it closes",
  );
  const none = statusLines(
    opened(),
    emptyBooks(),
    NOW,
    { ...policy, probeInterval: 0 },
    "UTC",
  ).join("\n");
  assertStringIncludes(none, "no probes");
});

Deno.test(
  "statusLines() tell of a closed circuit, a hold and a model's limit",
  pure,
  () => {
    assertEquals(lines(closedCircuit()).split("\n")[0], "Circuit closed");
    assertStringIncludes(
      lines(opened({ open_until: NOW - 60 })),
      "Circuit closed since 01:29",
    );
    const held = openByHand(closedCircuit(), NOW + 300, "drill", NOW);
    assertStringIncludes(lines(held), "(5 min left), reason drill\n");
    const opus = anEnding("limit", {
      scope: "opus",
      reset_at: NOW + 3540,
      text: "Opus is used up",
    });
    const scoped = recordEnding(
      closedCircuit(),
      { ending: opus, job: "mail", model: "opus", passed: null },
      NOW,
      policy,
    );
    assertStringIncludes(
      lines(scoped),
      '  model opus: refused until 02:30 (1 h), "Opus is used up"',
    );
  },
);

Deno.test(
  "statusLines() show each job's newest outcome, and where no call was seen",
  pure,
  () => {
    const skip: JobEntry = {
      ...ran,
      outcome: "skipped",
      exit: null,
      reason: "quota",
      ending: null,
      calls: 0,
    };
    let books = recordJob(emptyBooks(), "news", {
      ...ran,
      calls: 0,
      ending: null,
    });
    books = recordJob(books, "mail", {
      ...ran,
      calls: 3,
      ending: "budget",
      exit: 1,
    });
    books = recordJob(books, "post", skip);
    books = recordJob(books, "__proto__", {
      ...skip,
      reason: "quota-during-run",
      exit: 0,
      calls: 1,
    });
    assertEquals(
      lines(closedCircuit(), books).split("\n").slice(1),
      [
        "Jobs, newest outcome of each:",
        "  __proto__  01:29  skipped (quota-during-run), exit 0, 1 call",
        "  mail       01:29  ran, exit 1, budget, 3 calls",
        "  news       01:29  ran, exit 0, no call seen",
        "  post       01:29  skipped (quota)",
      ],
    );
  },
);

Deno.test("statusReport() has the documented fields, in seconds", pure, () => {
  const books = recordJob(emptyBooks(), "__proto__", ran);
  const report: Record<string, unknown> = JSON.parse(
    JSON.stringify(statusReport(opened(), books, NOW, policy)),
  );
  assertEquals(report.is_open, true);
  assertEquals(report.reason, "quota");
  assertEquals(report.remaining_seconds, 7260);
  assertEquals(report.open_until, NOW + 7260);
  assertEquals(report.window, "five_hour");
  assertEquals(report.opened_by, {
    job: "mail",
    sentence: "You've hit your limit",
  });
  assertEquals(report.scopes, {});
  assertEquals(
    JSON.stringify(report.jobs),
    `{"__proto__":{"outcome":"ran","ts":${
      NOW - 60
    },"exit":0,"reason":null,"ending":"ok","calls":1}}`,
  );
  const closed = statusReport(closedCircuit(), emptyBooks(), NOW, policy);
  assertEquals(
    [
      closed.is_open,
      closed.reason,
      closed.remaining_seconds,
      closed.open_until,
    ],
    [false, null, 0, null],
  );
});
