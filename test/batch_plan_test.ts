import { assertEquals } from "@std/assert";
import {
  batchExit,
  dollars,
  type ItemEnd,
  judgeAttempt,
  newStanding,
  settle,
  type Standing,
  summaryLine,
  sumOf,
} from "../lib/batch_plan.ts";
import {
  type DoneMarker,
  type FailedRecord,
  orderItems,
  parseDoneMarker,
  parseFailedRecord,
  worstCost,
} from "../lib/batch_record.ts";
import { barLine, itemLine } from "../lib/batch_report.ts";
import type { CallRecord } from "../lib/tally.ts";

const pure = { permissions: "none" } as const;

function calls(...met: CallRecord["met"][]): CallRecord[] {
  return met.map((met) => ({ met, owedFrom: null, cost: null }));
}

function marker(name: string, cost: number | null = null): DoneMarker {
  return {
    name,
    bytes: 1,
    sha256: "00",
    file: `${name}.out`,
    ended_at: 1000,
    attempts: 1,
    cost_usd: cost,
  };
}

const committed: ItemEnd = { kind: "committed", marker: marker("a", 0.25) };
const failed: ItemEnd = {
  kind: "failed",
  why: "exit code 1",
  attempts: 2,
  cost: 0.5,
};
const limit: ItemEnd = { kind: "limit", cost: null };

function after(
  ends: ItemEnd[],
  limits: { stall?: number; maxItems?: number | null } = {},
): Standing {
  const { stall = 2, maxItems = null } = limits;
  return ends.reduce(
    (standing, end) => settle(standing, end, { stall, maxItems }),
    newStanding(10, 1),
  );
}

Deno.test("judgeAttempt() goes by exit code and last call", pure, () => {
  const cases: [number, CallRecord[], string][] = [
    [0, [], "whole"],
    [0, calls("ok"), "whole"],
    [0, calls("limit", "ok"), "whole"],
    [0, calls("budget", "ok"), "whole"],
    [9, [], "crashed"],
    [1, calls("ok"), "crashed"],
    [0, calls("ok", "limit"), "limit"],
    [1, calls("limit"), "limit"],
    [75, calls("refused"), "limit"],
    [1, calls("ok", "budget"), "stopped"],
    [0, calls("budget"), "stopped"],
    [0, calls("turns"), "stopped"],
    [0, calls("suspected"), "crashed"],
    [0, calls("overloaded"), "crashed"],
    [1, calls("throttle"), "crashed"],
  ];
  for (const [exit, met, kind] of cases) {
    assertEquals(judgeAttempt(exit, met).kind, kind, JSON.stringify(met));
  }
});

Deno.test("judgeAttempt() names the last call where it failed", pure, () => {
  const why = (exit: number, ...met: CallRecord["met"][]): string => {
    const attempt = judgeAttempt(exit, calls(...met));
    return "why" in attempt ? attempt.why : attempt.kind;
  };
  assertEquals(why(1), "exit code 1");
  assertEquals(why(1, "auth", "ok"), "exit code 1");
  assertEquals(why(1, "ok", "auth"), "exit code 1, its last call: auth");
  assertEquals(why(0, "overloaded"), "exit code 0, its last call: overloaded");
});

Deno.test("sumOf() adds up what is known", pure, () => {
  assertEquals(sumOf([]), null);
  assertEquals(sumOf([null, null]), null);
  assertEquals(sumOf([0.25, null, 0.5]), 0.75);
  assertEquals(sumOf([null, 0]), 0);
});

Deno.test("settle() counts, and a commit ends a row", pure, () => {
  const standing = after([committed, failed, committed, failed]);
  assertEquals(standing.stop, null);
  assertEquals(
    [standing.done, standing.committed, standing.failed, standing.cost],
    [3, 2, 2, 1.5],
  );
  assertEquals([standing.row, standing.attempts], [1, 2]);
});

Deno.test("settle() stops at a row of failures", pure, () => {
  assertEquals(after([failed, failed]).stop, "stalled");
  assertEquals(after([failed, failed]).attempts, 4);
  assertEquals(after([failed], { stall: 1 }).stop, "stalled");
  assertEquals(after([failed, failed], { stall: 3 }).stop, null);
  const elsewhere: ItemEnd = { kind: "elsewhere" };
  assertEquals(after([failed, elsewhere, failed]).stop, "stalled");
});

Deno.test(
  "settle() stops at enough commits, and above all at a limit",
  pure,
  () => {
    assertEquals(after([committed, committed], { maxItems: 2 }).stop, "enough");
    assertEquals(after([committed], { maxItems: 2 }).stop, null);
    assertEquals(after([limit]).stop, "limit");
    assertEquals(after([failed, failed, limit]).stop, "limit");
    assertEquals(after([limit, failed, failed]).stop, "limit");
  },
);

Deno.test("batchExit() says how a batch ended", pure, () => {
  assertEquals(batchExit(after([committed])), 0);
  assertEquals(batchExit(after([failed])), 1);
  assertEquals(batchExit(after([failed, failed])), 1);
  assertEquals(batchExit(after([failed, limit])), 75);
  assertEquals(batchExit(after([failed, committed], { maxItems: 1 })), 0);
});

Deno.test("summaryLine() leaves out what is not known", pure, () => {
  const standing = { ...after([committed, failed]), total: 4, done: 2 };
  assertEquals(
    summaryLine(standing, 0.5),
    "done=2/4 failed=1 left=1 cost=$0.75 worst=$0.50 suggested --max-budget-usd $1.00",
  );
  assertEquals(
    summaryLine({ ...standing, cost: null }, null),
    "done=2/4 failed=1 left=1",
  );
});

Deno.test("dollars() shows small amounts", pure, () => {
  const cases: [number, string][] = [
    [0, "$0.00"],
    [0.25, "$0.25"],
    [0.0617, "$0.0617"],
    [0.061, "$0.061"],
    [1.234, "$1.23"],
    [20, "$20.00"],
  ];
  for (const [amount, text] of cases) assertEquals(dollars(amount), text);
});

Deno.test(
  "orderItems() puts what failed last, the longest ago first",
  pure,
  () => {
    const record = (name: string, ended_at: number): [string, FailedRecord] => [
      name,
      { name, why: "", ended_at, attempts: 1, cost_usd: null },
    ];
    assertEquals(
      orderItems(
        ["a", "b", "c", "d", "e"],
        new Map([["d", marker("d")]]),
        new Map([record("a", 300), record("b", 200)]),
      ),
      ["c", "e", "b", "a"],
    );
  },
);

Deno.test("worstCost() forgets after 30 days", pure, () => {
  const now = 1_800_000_000;
  const day = 86_400;
  const cost = (days: number, cost_usd: number | null): FailedRecord => ({
    name: "",
    why: "",
    attempts: 1,
    ended_at: now - days * day,
    cost_usd,
  });
  assertEquals(worstCost([], now), null);
  assertEquals(worstCost([cost(1, null)], now), null);
  assertEquals(worstCost([cost(31, 9), cost(29, 2), cost(1, 1)], now), 2);
});

Deno.test(
  "parseDoneMarker() reads its own, shorter ones, and nothing else",
  pure,
  () => {
    const own = marker('日本語 "q"', 0.5);
    assertEquals(parseDoneMarker(JSON.stringify(own)), own);
    assertEquals(parseDoneMarker('{"name":"a","bytes":7}')?.bytes, 7);
    for (const text of ["", "{", "[]", "null", '{"name":"a"}', '{"bytes":1}']) {
      assertEquals(parseDoneMarker(text), null, text);
    }
    assertEquals(parseFailedRecord('{"name":"a","why":"x"}')?.why, "x");
    assertEquals(parseFailedRecord("{}"), null);
  },
);

Deno.test("itemLine() quotes the item and says what would help", pure, () => {
  const standing = after([committed]);
  assertEquals(
    itemLine("a\x1b[2J\x9b", committed, standing),
    '2/10 "a\\u001b[2J\ufffd": done, $0.25',
  );
  assertEquals(
    itemLine("a", failed, standing),
    '2/10 "a": failed after 2 attempts: exit code 1',
  );
  assertEquals(
    itemLine("a", { ...failed, why: "budget stop", attempts: 1 }, standing),
    '2/10 "a": failed: budget stop; raise --max-budget-usd or do fewer items a run',
  );
});

Deno.test("barLine() shows rate and time left", pure, () => {
  const standing = { ...after([committed, failed]), total: 8, done: 4 };
  assertEquals(
    barLine(standing, 30, false),
    "██████████░░░░░░░░░░ 4/8 · 1 failed · 2.0 a minute · 1 min 30 s left · $0.75",
  );
  assertEquals(
    barLine(newStanding(3, 0), 0, false),
    "░░░░░░░░░░░░░░░░░░░░ 0/3",
  );
  assertEquals(
    barLine(newStanding(0, 0), 0, true),
    "\x1b[32m████████████████████\x1b[39m 0/0",
  );
});
