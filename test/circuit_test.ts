import { assert, assertEquals } from "@std/assert";
import {
  type Circuit,
  circuitStatus,
  claimProbe,
  closeByHand,
  lastClosed,
  openByHand,
  openUntil,
  probeTime,
  recordEnding,
  type Report,
  scopeLimit,
} from "../lib/circuit.ts";
import {
  circuitJson,
  closedCircuit,
  parseCircuit,
} from "../lib/circuit_json.ts";
import type { Ending } from "../lib/ending.ts";
import { isFields } from "../lib/lenient.ts";
import { anEnding, Dice } from "./samples.ts";

const pure = { permissions: "none" } as const;
const NOW = 1_796_056_215;
const HOUR = 3600;
const DAY = 86_400;
const policy = { probeInterval: 1800, cooldown: 6 * HOUR };

function report(ending: Ending, fields: Partial<Report> = {}): Report {
  return { ending, job: "mail", model: "default", passed: null, ...fields };
}

function limit(reset: number | null, fields: Partial<Ending> = {}): Ending {
  return anEnding("limit", {
    reset_at: reset,
    window: "five_hour",
    text: "No more",
    ...fields,
  });
}

/** A circuit that a limit has opened at NOW, with its reset in two hours. */
function opened(): Circuit {
  return recordEnding(
    closedCircuit(),
    report(limit(NOW + 2 * HOUR)),
    NOW,
    policy,
  );
}

function fromJson(text: string, now = NOW): Circuit {
  const json: unknown = JSON.parse(text);
  assert(isFields(json));
  return parseCircuit(json, now);
}

Deno.test(
  "openUntil() adds the margin of an epoch or of a shown time",
  pure,
  () => {
    const reset = NOW + HOUR;
    assertEquals(openUntil(limit(reset), NOW, policy), reset + 60);
    assertEquals(
      openUntil(limit(reset, { shown: true }), NOW, policy),
      reset + 120,
    );
  },
);

Deno.test("openUntil() opens nothing for a reset that is over", pure, () => {
  assertEquals(openUntil(limit(NOW), NOW, policy), null);
  assertEquals(openUntil(limit(NOW - DAY), NOW, policy), null);
  assertEquals(openUntil(limit(NOW + 1), NOW, policy), NOW + 61);
  // The CLI cuts the seconds off: that minute may last yet.
  const shown = { shown: true };
  assertEquals(openUntil(limit(NOW - 59, shown), NOW, policy), NOW + 61);
  assertEquals(openUntil(limit(NOW - 60, shown), NOW, policy), null);
});

Deno.test(
  "openUntil() without a reset takes the cooldown, for credit one probe interval",
  pure,
  () => {
    const credit = limit(null, { window: "credit" });
    assertEquals(openUntil(limit(null), NOW, policy), NOW + 6 * HOUR);
    assertEquals(openUntil(credit, NOW, policy), NOW + 1800);
    const never = { ...policy, probeInterval: 0 };
    assertEquals(openUntil(credit, NOW, never), NOW + 1800);
  },
);

Deno.test("openUntil() is never farther ahead than 32 days", pure, () => {
  const farthest = NOW + 32 * DAY;
  assertEquals(openUntil(limit(NOW + 400 * DAY), NOW, policy), farthest);
  const long = { probeInterval: 400 * DAY, cooldown: 400 * DAY };
  assertEquals(openUntil(limit(null), NOW, long), farthest);
  const credit = limit(null, { window: "credit" });
  assertEquals(openUntil(credit, NOW, long), farthest);
});

Deno.test("recordEnding() opens by a limit alone", pure, () => {
  const closed = closedCircuit();
  for (
    const name of [
      "ok",
      "budget",
      "turns",
      "throttle",
      "overloaded",
      "auth",
      "killed",
      "failed",
    ] as const
  ) {
    const same = recordEnding(closed, report(anEnding(name)), NOW, policy);
    assert(same === closed, name);
    const open = opened();
    const still = recordEnding(
      open,
      report(anEnding(name), { passed: name === "ok" ? null : NOW }),
      NOW + 5,
      policy,
    );
    assert(still === open, name);
  }
  const open = opened();
  assertEquals(circuitStatus(open, NOW + 1), {
    is_open: true,
    reason: "quota",
    remaining_seconds: 2 * HOUR + 59,
  });
  assertEquals(open.opened_by, { job: "mail", sentence: "No more" });
  assertEquals(open.window, "five_hour");
});

Deno.test("circuitStatus() is closed at the very end", pure, () => {
  const open = opened();
  assert(circuitStatus(open, open.open_until - 0.001).is_open);
  assertEquals(
    circuitStatus(open, open.open_until - 0.001).remaining_seconds,
    1,
  );
  assert(!circuitStatus(open, open.open_until).is_open);
  assertEquals(circuitStatus(open, open.open_until + 9).remaining_seconds, 0);
});

Deno.test(
  "recordEnding() with a report from before the opening extends, never shortens or closes",
  pure,
  () => {
    const open = opened();
    const ok = report(anEnding("ok"));
    assert(recordEnding(open, ok, NOW + 60, policy) === open);
    const earlier = report(limit(NOW + HOUR));
    assert(recordEnding(open, earlier, NOW + 60, policy) === open);
    const later = recordEnding(
      open,
      report(limit(NOW + 9 * HOUR), { job: "late" }),
      NOW + 60,
      policy,
    );
    assertEquals(later.open_until, NOW + 9 * HOUR + 60);
    assertEquals(later.opened_at, open.opened_at);
    assertEquals(later.opened_by?.job, "late");
  },
);

Deno.test(
  "recordEnding() with a probe's report moves the reset either way",
  pure,
  () => {
    const open = opened();
    for (const reset of [NOW + HOUR, NOW + 5 * HOUR]) {
      const moved = recordEnding(
        open,
        report(limit(reset), { passed: open.opened_at }),
        NOW + 60,
        policy,
      );
      assertEquals(moved.open_until, reset + 60);
      assertEquals(moved.opened_at, open.opened_at);
    }
  },
);

Deno.test("recordEnding() with a probe's ok closes", pure, () => {
  const open = opened();
  const closed = recordEnding(
    open,
    report(anEnding("ok"), { passed: open.opened_at }),
    NOW + 60,
    policy,
  );
  assertEquals(closed.open_until, 0);
  assertEquals(closed.closed_at, NOW + 60);
  assertEquals(closed.opened_by, null);
  assertEquals(lastClosed(closed, NOW + 70), NOW + 60);
});

Deno.test(
  "recordEnding() takes a probe of an earlier opening for no news",
  pure,
  () => {
    const first = opened();
    const over = first.open_until + 5;
    const second = recordEnding(
      first,
      report(limit(over + HOUR)),
      over,
      policy,
    );
    assertEquals(second.opened_at, over);
    const passed = first.opened_at;
    assert(
      recordEnding(
        second,
        report(anEnding("ok"), { passed }),
        over + 9,
        policy,
      ) ===
        second,
    );
    assert(
      recordEnding(
        second,
        report(limit(over + 60), { passed }),
        over + 9,
        policy,
      ) === second,
    );
  },
);

Deno.test(
  "recordEnding() believes two different jobs within 15 minutes that are suspected",
  pure,
  () => {
    const suspected = anEnding("suspected", { text: "That was all" });
    const meet = (circuit: Circuit, job: string | null, at: number): Circuit =>
      recordEnding(circuit, report(suspected, { job }), at, policy);
    const one = meet(closedCircuit(), "a", NOW);
    assert(!circuitStatus(one, NOW).is_open);
    assert(
      !circuitStatus(meet(one, "a", NOW + 9), NOW + 9).is_open,
      "same job",
    );
    const late = meet(one, "b", NOW + 900);
    assert(!circuitStatus(late, NOW + 900).is_open, "15 minutes later");
    const two = meet(one, "b", NOW + 899);
    assertEquals(circuitStatus(two, NOW + 899), {
      is_open: true,
      reason: "suspected",
      remaining_seconds: 1800,
    });
    assertEquals(two.opened_by, { job: "b", sentence: "That was all" });
    // Calls outside of jobs count as one job.
    const alone = meet(meet(closedCircuit(), null, NOW), null, NOW + 1);
    assert(!circuitStatus(alone, NOW + 1).is_open);
    assert(circuitStatus(meet(alone, "a", NOW + 2), NOW + 2).is_open);
    const open = opened();
    assert(meet(open, "a", NOW + 1) === open);
  },
);

Deno.test(
  "recordEnding() keeps a model family's limit to calls with the same --model",
  pure,
  () => {
    const opus = limit(NOW + DAY, { scope: "opus", window: "seven_day_opus" });
    const circuit = recordEnding(
      closedCircuit(),
      report(opus, { model: "opus" }),
      NOW,
      policy,
    );
    assert(!circuitStatus(circuit, NOW).is_open);
    assertEquals(scopeLimit(circuit, "opus", NOW)?.open_until, NOW + DAY + 60);
    assertEquals(scopeLimit(circuit, "opus", NOW)?.family, "opus");
    assertEquals(scopeLimit(circuit, "default", NOW), null);
    assertEquals(scopeLimit(circuit, "opus", NOW + DAY + 60), null);
    const shorter = { ...opus, reset_at: NOW + HOUR };
    assert(
      recordEnding(circuit, report(shorter, { model: "opus" }), NOW, policy) ===
        circuit,
    );
  },
);

Deno.test(
  "recordEnding() by a probe does not close a hold by hand",
  pure,
  () => {
    const held = openByHand(closedCircuit(), NOW + HOUR, "repair", NOW);
    const ok = report(anEnding("ok"), { passed: held.opened_at });
    assert(recordEnding(held, ok, NOW + 60, policy) === held);
    // A limit that reaches beyond the hold shrinks to the hold.
    const longer = recordEnding(
      held,
      report(limit(NOW + 5 * HOUR), { passed: held.opened_at }),
      NOW + 60,
      policy,
    );
    assertEquals(longer.open_until, NOW + 5 * HOUR + 60);
    const back = recordEnding(longer, ok, NOW + 90, policy);
    assertEquals(back.open_until, NOW + HOUR);
    // A limit that ends before the hold does not shorten it.
    const shorter = recordEnding(
      held,
      report(limit(NOW + 600), { passed: held.opened_at }),
      NOW + 60,
      policy,
    );
    assertEquals(shorter.open_until, NOW + HOUR);
  },
);

Deno.test(
  "openByHand() takes the place of an earlier hold",
  pure,
  () => {
    const long = openByHand(closedCircuit(), NOW + 2 * HOUR, "long", NOW);
    const short = openByHand(long, NOW + HOUR, "short", NOW + 5);
    assertEquals(short.open_until, NOW + HOUR);
    assertEquals(short.hold, NOW + HOUR);
    assertEquals(short.reason, "short");
  },
);

Deno.test(
  "openByHand() never shortens a limit and keeps its cause",
  pure,
  () => {
    const open = opened();
    const held = openByHand(open, NOW + HOUR, "repair", NOW + 5);
    assertEquals(held.open_until, open.open_until);
    assertEquals(held.reason, "quota");
    assertEquals(held.opened_by, open.opened_by);
    const longer = openByHand(open, NOW + 9 * HOUR, "repair", NOW + 5);
    assertEquals(longer.open_until, NOW + 9 * HOUR);
    assertEquals(longer.reason, "repair");
    const fresh = openByHand(closedCircuit(), NOW + 90 * DAY, "manual", NOW);
    assertEquals(fresh.open_until, NOW + 32 * DAY);
    assertEquals(fresh.opened_by, null);
  },
);

Deno.test("closeByHand() ends limits, holds and model limits", pure, () => {
  const opus = limit(NOW + DAY, { scope: "opus" });
  const circuit = recordEnding(
    openByHand(opened(), NOW + DAY, "manual", NOW),
    report(opus, { model: "opus" }),
    NOW,
    policy,
  );
  const closed = closeByHand(circuit, NOW + 9);
  assert(!circuitStatus(closed, NOW + 9).is_open);
  assertEquals(closed.hold, 0);
  assertEquals(closed.scopes.size, 0);
  assertEquals(closed.closed_at, NOW + 9);
});

Deno.test(
  "claimProbe() gives one probe an interval, again after exactly that",
  pure,
  () => {
    const first = claimProbe(opened(), NOW + 0.7, 1800);
    assert(first !== null);
    assertEquals(first.last_priority_probe, NOW);
    assertEquals(claimProbe(first, NOW + 1799.9, 1800), null);
    assert(claimProbe(first, NOW + 1800, 1800) !== null);
  },
);

Deno.test("claimProbe() gives none for an interval of 0 or less", pure, () => {
  for (const interval of [0, -1, NaN]) {
    assertEquals(claimProbe(opened(), NOW, interval), null);
  }
});

Deno.test(
  "claimProbe() lets a probe up to one interval ahead stand, one further ahead counts as never",
  pure,
  () => {
    const ahead = (seconds: number): Circuit => ({
      ...opened(),
      last_priority_probe: NOW + seconds,
    });
    assertEquals(claimProbe(ahead(4), NOW, 1800), null);
    assertEquals(claimProbe(ahead(1800), NOW, 1800), null);
    assert(claimProbe(ahead(1801), NOW, 1800) !== null);
    assertEquals(probeTime(ahead(1801), NOW, 1800), 0);
  },
);

Deno.test(
  "lastClosed() is the end of an opening that has run out",
  pure,
  () => {
    const open = opened();
    assertEquals(lastClosed(open, NOW + 1), 0);
    assertEquals(lastClosed(open, open.open_until + 1), open.open_until);
    assertEquals(lastClosed(closedCircuit(), NOW), 0);
  },
);

Deno.test(
  "parseCircuit() repairs field by field and keeps the rest",
  pure,
  () => {
    const circuit = fromJson(JSON.stringify({
      open_until: String(NOW + HOUR),
      opened_at: null,
      closed_at: [],
      hold: "no",
      reason: 7,
      window: {},
      opened_by: "mail",
      last_priority_probe: { ts: 3 },
      scopes: [1, 2],
      suspects: { mail: "soon", news: NOW },
      note: "mine",
    }));
    assertEquals(circuit, {
      open_until: NOW + HOUR,
      opened_at: 0,
      closed_at: 0,
      hold: 0,
      reason: "quota",
      window: null,
      opened_by: null,
      last_priority_probe: 0,
      scopes: new Map(),
      suspects: new Map([["news", NOW]]),
      rest: [["note", "mine"]],
    });
  },
);

Deno.test(
  "parseCircuit() closes what is open for more than 33 days",
  pure,
  () => {
    const until = (seconds: number): number =>
      fromJson(`{"open_until":${seconds}}`).open_until;
    assertEquals(until(NOW + 33 * DAY), NOW + 33 * DAY);
    assertEquals(until(NOW + 33 * DAY + 1), 0);
    assertEquals(until((NOW + HOUR) * 1000), 0);
    assertEquals(until(1e300), 0);
    assert(!circuitStatus(fromJson('{"open_until":-5}'), NOW).is_open);
  },
);

Deno.test(
  "parseCircuit() takes a time that no calendar has for never",
  pure,
  () => {
    for (const far of ["1e300", "-1e300", "1e18", "-5"]) {
      const { opened_at, closed_at, last_priority_probe, scopes } = fromJson(
        `{"opened_at":${far},"closed_at":${far},"last_priority_probe":${far},
          "scopes":{"opus":{"open_until":${NOW + HOUR},"opened_at":${far}}}}`,
      );
      assertEquals([opened_at, closed_at, last_priority_probe], [0, 0, 0]);
      assertEquals(scopes.get("opus")?.opened_at, 0);
    }
  },
);

Deno.test(
  "parseCircuit() makes one word of a reason, which stands in markers",
  pure,
  () => {
    const reason = (text: string): string =>
      fromJson(JSON.stringify({ reason: text })).reason;
    assertEquals(
      reason("usage limit\nCLAUDE_QUOTA_JOB_RAN job=a exit=0 ts=1796056215"),
      "usage_limit_CLAUDE_QUOTA_JOB_RAN_job=a_exit=0_ts=1796056215",
    );
    assertEquals([reason("quota"), reason(" ")], ["quota", "quota"]);
  },
);

Deno.test("parseCircuit() reads the state of the Python original", pure, () => {
  const circuit = fromJson(
    `{"open_until": ${
      NOW + 60
    }, "reason": "quota", "last_priority_probe": ${NOW}}`,
  );
  assert(circuitStatus(circuit, NOW).is_open);
  // Its openings have no name: a probe is news all the same.
  const ok = report(anEnding("ok"), { passed: circuit.opened_at });
  const closed = recordEnding(circuit, ok, NOW + 5, policy);
  assert(!circuitStatus(closed, NOW + 5).is_open);
});

Deno.test(
  "circuitJson() and parseCircuit() return the same circuit",
  pure,
  () => {
    const dice = new Dice(7);
    for (let round = 0; round < 300; round++) {
      const { circuit } = play(dice, 12);
      const named: Circuit = {
        ...circuit,
        scopes: new Map([...circuit.scopes, ["__proto__", {
          open_until: NOW + DAY * 20,
          opened_at: NOW,
          family: "sonnet",
          opened_by: { job: "__proto__", sentence: 'a "quoted"\u2028 one' },
        }]]),
        suspects: new Map([...circuit.suspects, ["__proto__", NOW]]),
        rest: [["__proto__", { a: [1, null] }], ["constructor", 1], [
          "later",
          "x",
        ]],
      };
      const text = JSON.stringify(circuitJson(named));
      const again = fromJson(text);
      assertEquals(again, named);
      assertEquals(JSON.stringify(circuitJson(again)), text);
    }
  },
);

/** What happened to a circuit in one random step. */
interface Step {
  before: Circuit;
  after: Circuit;
  now: number;
  event: "report" | "news" | "ok-news" | "hold" | "close" | "claim";
}

/** Random calls, holds and probes; the clock goes back at times. */
function play(dice: Dice, length: number): { circuit: Circuit; steps: Step[] } {
  let circuit = closedCircuit();
  let now = NOW;
  const steps: Step[] = [];
  const passes: (number | null)[] = [null];
  for (let i = 0; i < length; i++) {
    now += dice.pick([0, 0.25, 1, 7, 400, 1800, 4000]) -
      (dice.below(10) === 0 ? 4 : 0);
    const before = circuit;
    const open = circuitStatus(before, now).is_open;
    let event: Step["event"] = "report";
    switch (dice.below(8)) {
      case 0:
        event = "hold";
        circuit = openByHand(circuit, now + 1 + dice.below(9000), "x", now);
        break;
      case 1:
        event = "close";
        if (dice.below(4) === 0) circuit = closeByHand(circuit, now);
        break;
      case 2:
      case 3: {
        event = "claim";
        const claimed = claimProbe(circuit, now, policy.probeInterval);
        if (claimed !== null) passes.push(circuit.opened_at);
        circuit = claimed ?? circuit;
        break;
      }
      default: {
        const ending = anEnding(
          dice.pick(["ok", "limit", "limit", "suspected", "failed"]),
          {
            reset_at: dice.pick([
              null,
              now - 60,
              now + 5,
              now + 5 * HOUR,
              now + 50 * DAY,
            ]),
            scope: dice.pick(["account", "account", "opus"]),
          },
        );
        const passed = dice.pick([null, ...passes.slice(-3)]);
        const news = open && passed === before.opened_at;
        if (news) event = ending.ending === "ok" ? "ok-news" : "news";
        circuit = recordEnding(
          circuit,
          {
            ending,
            job: dice.pick(["a", "b", "__proto__"]),
            model: dice.pick(["default", "opus"]),
            passed,
          },
          now,
          policy,
        );
      }
    }
    steps.push({ before, after: circuit, now, event });
  }
  return { circuit, steps };
}

Deno.test("a circuit keeps its promises in any order of events", pure, () => {
  const dice = new Dice(20_261_130);
  let opens = 0;
  let closes = 0;
  for (let round = 0; round < 400; round++) {
    const { steps } = play(dice, 40);
    let lastClaim = -Infinity;
    for (const { before, after, now, event } of steps) {
      const was = circuitStatus(before, now);
      const is = circuitStatus(after, now);
      if (!was.is_open && is.is_open) opens++;
      if (was.is_open && !is.is_open) {
        closes++;
        assert(event === "ok-news" || event === "close", `closed by ${event}`);
        assert(event === "close" || before.hold <= now, "closed in a hold");
        assertEquals(after.closed_at, now);
      }
      if (event === "report" || event === "claim" || event === "hold") {
        // A hold takes the place of an earlier hold, never of a limit.
        const hold = event === "hold" && before.open_until <= before.hold;
        assert(
          !was.is_open || hold || after.open_until >= before.open_until,
          `shortened by ${event}`,
        );
      }
      if (event === "claim" && after !== before) {
        assert(now - lastClaim >= 1799, "two probes in one interval");
        lastClaim = now;
      }
      if (is.is_open && event !== "close") {
        assert(after.open_until <= now + 32 * DAY + 5, "open for too long");
      }
      if (was.is_open && is.is_open) {
        assertEquals(after.opened_at, before.opened_at);
      }
      if (event !== "close") {
        assert(
          before.hold <= now || event === "hold" ||
            after.open_until >= Math.min(before.hold, before.open_until),
          "a hold was cut short",
        );
      }
    }
  }
  assert(opens > 500 && closes > 50, `${opens} opened, ${closes} closed`);
});
