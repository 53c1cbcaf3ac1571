import { assertEquals } from "@std/assert";
import {
  BEGUN_LINE,
  callLine,
  type CallRecord,
  callRecord,
  metLimit,
  parseTally,
  PROBE_LINE,
  type RunEnd,
  signedLine,
  type Verdict,
  verdict,
  worstEnding,
} from "../lib/tally.ts";
import { aCall, anEnding } from "./samples.ts";

const RUN = "1796056215-7-00000001";
const pure = { permissions: "none" } as const;
const NOW = 1_796_056_215;

/** What becomes of a run that made these calls. */
function verdictOf(
  calls: (CallRecord["met"] | CallRecord)[],
  run: Partial<RunEnd> = {},
): Verdict {
  const tally = {
    probe: run.heldProbe ?? false,
    calls: calls.map((call) => typeof call === "string" ? aCall(call) : call),
  };
  return verdict(tally, {
    exit: 1,
    heldProbe: false,
    circuitOpen: false,
    once: false,
    resumable: false,
    started: true,
    ...run,
  });
}

function ran(end: Extract<Verdict, { kind: "RAN" }>["end"]): Verdict {
  return { kind: "RAN", end };
}

function owed(
  reason: "quota-during-run" | "priority-probe-quota",
  owedFrom: number | null = null,
): Verdict {
  return { kind: "SKIPPED", reason, owedFrom };
}

Deno.test(
  "verdict() owes a run that met the limit and got nothing done, whatever its exit code",
  pure,
  () => {
    for (const exit of [0, 1, 75, 143]) {
      assertEquals(verdictOf(["limit"], { exit }), owed("quota-during-run"));
      assertEquals(verdictOf(["refused"], { exit }), owed("quota-during-run"));
      assertEquals(
        verdictOf(["limit"], { exit, heldProbe: true, circuitOpen: true }),
        owed("priority-probe-quota"),
      );
    }
    assertEquals(
      verdictOf(["failed", "limit", "throttle"]),
      owed("quota-during-run"),
    );
  },
);

Deno.test(
  "verdict() owes a run that was cut off after an answer with --resumable only",
  pure,
  () => {
    for (const end of ["limit", "refused"] as const) {
      assertEquals(verdictOf(["ok", end]), ran("limit"));
      assertEquals(
        verdictOf(["ok", end], { resumable: true }),
        owed("quota-during-run"),
      );
      assertEquals(
        verdictOf(["ok", end], { resumable: true, heldProbe: true }),
        owed("priority-probe-quota"),
      );
    }
  },
);

Deno.test(
  "verdict() does not owe a run that was answered after the limit",
  pure,
  () => {
    assertEquals(verdictOf(["limit", "ok"], { exit: 0 }), ran("limit"));
    assertEquals(
      verdictOf(["refused", "ok"], { exit: 0, resumable: true }),
      ran("limit"),
    );
  },
);

Deno.test("verdict() without a call does as the original", pure, () => {
  assertEquals(verdictOf([]), ran(null));
  const probe = { heldProbe: true, circuitOpen: true };
  assertEquals(verdictOf([], probe), owed("priority-probe-quota"));
  assertEquals(verdictOf([], { ...probe, exit: 0 }), ran(null));
  assertEquals(verdictOf([], { ...probe, circuitOpen: false }), ran(null));
  assertEquals(verdictOf([], { circuitOpen: true }), ran(null));
});

Deno.test(
  "verdict() names the worst ending of a run that is not owed",
  pure,
  () => {
    assertEquals(verdictOf(["ok", "ok"]), ran(null));
    assertEquals(verdictOf(["ok", "budget", "turns"]), ran("budget"));
    assertEquals(verdictOf(["failed", "auth"]), ran("auth"));
    // A probe that failed for its own reasons has been had.
    assertEquals(
      verdictOf(["failed"], { heldProbe: true, circuitOpen: true }),
      ran("failed"),
    );
    assertEquals(verdictOf(["suspected"]), ran("suspected"));
  },
);

Deno.test(
  "verdict() never owes with --once, nor what could not be started",
  pure,
  () => {
    assertEquals(verdictOf(["limit"], { once: true }), ran("limit"));
    const blind = { heldProbe: true, circuitOpen: true };
    assertEquals(verdictOf([], { ...blind, once: true }), ran(null));
    assertEquals(
      verdictOf([], { ...blind, started: false, exit: 127 }),
      ran(null),
    );
  },
);

Deno.test(
  "verdict() owes from the last model's reset on if models' limits were all",
  pure,
  () => {
    const opus = aCall("limit", { owedFrom: NOW + 50 });
    const sonnet = aCall("refused", { owedFrom: NOW + 90 });
    assertEquals(
      verdictOf([opus, sonnet]),
      owed("quota-during-run", NOW + 90),
    );
    assertEquals(verdictOf([opus, "limit"]), owed("quota-during-run", null));
  },
);

Deno.test(
  "verdict() takes a stop by policy for something done",
  pure,
  () => {
    const ran = { kind: "RAN", end: "limit" } as const;
    assertEquals(verdictOf(["budget", "limit"]), ran);
    assertEquals(verdictOf(["turns", "refused"]), ran);
    assertEquals(
      verdictOf(["budget", "limit"], { resumable: true }),
      owed("quota-during-run"),
    );
  },
);

Deno.test(
  "worstEnding() takes a refusal for a limit, and is null without a call",
  pure,
  () => {
    const worst = (...mets: CallRecord["met"][]): string | null =>
      worstEnding({ probe: false, calls: mets.map((met) => aCall(met)) });
    assertEquals(worst(), null);
    assertEquals(worst("ok"), "ok");
    assertEquals(worst("refused", "auth"), "limit");
  },
);

Deno.test(
  "metLimit() is about the account, not one model's limit",
  pure,
  () => {
    const met = (...calls: CallRecord[]): boolean =>
      metLimit({ probe: true, calls });
    assertEquals(met(), false);
    assertEquals(met(aCall("ok"), aCall("refused")), false);
    assertEquals(met(aCall("ok"), aCall("limit")), true);
    assertEquals(met(aCall("limit", { owedFrom: NOW })), false);
  },
);

Deno.test(
  "callLine(), signedLine() and parseTally() return the same calls",
  pure,
  () => {
    const calls = [
      aCall("ok", { cost: 0.25 }),
      aCall("limit", { owedFrom: NOW + 0.5 }),
      aCall("refused"),
      callRecord(anEnding("budget", { cost_usd: 1e-7 }), null),
    ];
    const text = PROBE_LINE + calls.map(callLine).join("\n") + "\n";
    assertEquals(parseTally(text, RUN), { probe: true, calls });
    const signed = calls.map((call) => signedLine(callLine(call), RUN)).join(
      "",
    );
    assertEquals(parseTally(signed, RUN), { probe: false, calls });
    assertEquals(parseTally("", RUN), { probe: false, calls: [] });
  },
);

Deno.test("parseTally() passes over the lines of another run", pure, () => {
  const late = [BEGUN_LINE, "call limit - -"]
    .map((line) => signedLine(line, "1796056215-7-00000002")).join("");
  const own = signedLine(BEGUN_LINE, RUN) + signedLine("call ok - -", RUN);
  assertEquals(parseTally(late + own + late, RUN).calls, [aCall("ok")]);
  // One that was cut in its signature is still its own.
  const cut = signedLine("call limit - -", RUN).slice(0, -9);
  assertEquals(parseTally(`${cut}\n`, RUN).calls, [aCall("limit")]);
});

Deno.test(
  "parseTally() passes over lines that are cut or unknown",
  pure,
  () => {
    const text = "call ok - -\ncall nonsense - -\n\nx\ncall limit -\ncall li";
    assertEquals(parseTally(text, RUN).calls, [aCall("ok")]);
    assertEquals(parseTally("call limit x y\n", RUN).calls, [aCall("limit")]);
  },
);

Deno.test(
  "parseTally() takes a call that never told its end for killed",
  pure,
  () => {
    const begun = (...rest: CallRecord[]): CallRecord[] =>
      parseTally(
        [BEGUN_LINE, BEGUN_LINE, ...rest.map(callLine)].join("\n"),
        RUN,
      ).calls;
    assertEquals(begun(aCall("ok"), aCall("limit")), [
      aCall("ok"),
      aCall("limit"),
    ]);
    assertEquals(begun(aCall("limit")), [aCall("limit"), aCall("killed")]);
    // What is refused does not begin.
    assertEquals(begun(aCall("refused"), aCall("ok")).map((call) => call.met), [
      "refused",
      "ok",
      "killed",
    ]);
    assertEquals(begun(aCall("ok"), aCall("ok"), aCall("ok")).length, 3);
  },
);
