import { assert, assertEquals } from "@std/assert";
import { classify } from "../lib/classify.ts";
import type { Ending } from "../lib/ending.ts";
import { CALLED_AT, randomMessage, seeded } from "./message_generator.ts";
import { quickly } from "./quick.ts";

/** A Monday. */
const AT = seconds("2026-08-17T16:30:15Z");
const RESET = AT + 7500;
/** The same reset as the CLI shows it: without its seconds. */
const SENTENCE = "You've hit your session limit · resets 6:35pm (UTC)";
const SHOWN = seconds("2026-08-17T18:35:00Z");

const TAIL = 65_536;

const FIXTURES: {
  text: string;
  ending: string;
  reset?: string;
  scope?: string;
}[] = Deno.readTextFileSync(
  new URL("./fixtures/endings.jsonl", import.meta.url),
).trim().split("\n").map((line) => JSON.parse(line));

/** How many random inputs; `ENDING_TEST_RANDOM=100000` for a thorough run. */
const RANDOM_TEXTS = Number(Deno.env.get("ENDING_TEST_RANDOM") ?? "4000");
const SEED = Number(Deno.env.get("ENDING_TEST_SEED") ?? "20260817");

function seconds(iso: string): number {
  return Temporal.Instant.from(iso).epochMilliseconds / 1000;
}

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text).subarray(-TAIL);
}

function judge(stdout: string, exit: number, stderr = ""): Ending {
  return classify({
    stdout: bytes(stdout),
    stderr: bytes(stderr),
    exit,
    startedAt: AT,
    timeZone: "UTC",
  });
}

function rows(...list: unknown[]): string {
  return list.map((row) => `${JSON.stringify(row)}\n`).join("");
}

const INIT = { type: "system", subtype: "init", session_id: "s" };

function result(fields: Record<string, unknown>): Record<string, unknown> {
  return {
    type: "result",
    subtype: "success",
    is_error: false,
    num_turns: 2,
    result: "All done.",
    total_cost_usd: 0.25,
    ...fields,
  };
}

/** The result of a refused request. */
function refused(
  fields: Record<string, unknown> = {},
): Record<string, unknown> {
  return result({
    is_error: true,
    api_error_status: 429,
    result: SENTENCE,
    ...fields,
  });
}

function event(info: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    type: "rate_limit_event",
    rate_limit_info: {
      status: "rejected",
      resetsAt: RESET,
      rateLimitType: "five_hour",
      overageStatus: "rejected",
      isUsingOverage: false,
      ...info,
    },
  };
}

function said(
  text: string,
  fields: Record<string, unknown> = {},
): Record<string, unknown> {
  const message = { role: "assistant", content: [{ type: "text", text }] };
  return { type: "assistant", message, ...fields };
}

function errorMessage(
  text: string,
  fields: Record<string, unknown> = {},
): Record<string, unknown> {
  return said(text, {
    isApiErrorMessage: true,
    error: "rate_limit",
    apiErrorStatus: 429,
    ...fields,
  });
}

/** Output, exit code, ending, and for a limit its reset. */
type Row = [string, number, string, (number | null)?];

function check(table: Row[]): void {
  for (const [stdout, exit, ending, reset] of table) {
    const found = judge(stdout, exit);
    const what = `${stdout.slice(0, 400)}\nexit ${exit}: ${found.evidence}`;
    assertEquals(found.ending, ending, what);
    if (reset !== undefined) assertEquals(found.reset_at, reset, what);
  }
}

Deno.test("classify() judges short messages on either stream", {
  permissions: "none",
}, () => {
  assert(FIXTURES.length > 100);
  for (const { text, ending, reset, scope } of FIXTURES) {
    const limit = ending === "limit";
    for (const exit of ending === "not limit" ? [0, 1] : [1]) {
      for (const found of [judge(text, exit), judge("", exit, text)]) {
        const what = `${text}\nexit ${exit}: ${found.evidence}`;
        if (ending === "not limit") assert(found.ending !== "limit", what);
        else assertEquals(found.ending, ending, what);
        if (!limit) continue;
        const expected = reset === undefined ? null : seconds(reset);
        const seen = found.reset_at === null
          ? null
          : found.reset_at - found.reset_at % 60;
        assertEquals(seen, expected, what);
        assertEquals(found.scope, scope ?? "account", what);
      }
    }
  }
});

Deno.test("classify() lets the last result decide, not what it quotes", {
  permissions: "none",
}, () => {
  check([
    [rows(result({})), 0, "ok", null],
    [rows(result({})), 1, "ok"],
    [rows(result({ result: SENTENCE })), 0, "ok", null],
    [rows(INIT, event(), result({})), 0, "ok", null],
    [rows(INIT, event({ resetsAt: undefined }), result({})), 0, "ok"],
    [
      rows(
        INIT,
        errorMessage(SENTENCE, { parent_tool_use_id: "t" }),
        result({}),
      ),
      0,
      "ok",
    ],
    [rows(refused()), 1, "limit", SHOWN],
    [rows(refused()), 0, "limit", SHOWN],
    [JSON.stringify([INIT, event(), refused()]), 1, "limit", RESET],
    [JSON.stringify(refused(), null, 2), 1, "limit", SHOWN],
    [
      rows(
        INIT,
        event(),
        errorMessage(SENTENCE),
        refused(),
        INIT,
        said("x"),
        result({}),
      ),
      0,
      "ok",
    ],
    [
      rows(INIT, said("x"), result({}), INIT, event(), refused()),
      1,
      "limit",
      RESET,
    ],
    [
      rows(
        INIT,
        event(),
        refused(),
        INIT,
        result({
          is_error: true,
          api_error_status: 500,
          result: "API Error: 500",
        }),
      ),
      1,
      "failed",
    ],
    [rows(INIT, refused({ result: "Hm." }), event()), 1, "limit", RESET],
    [
      rows(INIT, event(), refused(), INIT, refused({ result: "Come back" })),
      1,
      "suspected",
    ],
    [
      rows(
        INIT,
        errorMessage(SENTENCE, { parent_tool_use_id: "t" }),
        result({ is_error: true, result: "" }),
      ),
      1,
      "failed",
    ],
  ]);
});

Deno.test(
  "classify() takes stops by policy from subtype, whatever else the result says",
  {
    permissions: "none",
  },
  () => {
    for (const is_error of [true, false]) {
      check([
        [
          rows(
            result({
              is_error,
              subtype: "error_max_budget_usd",
              result: undefined,
            }),
          ),
          1,
          "budget",
        ],
        [
          rows(result({ is_error, subtype: "error_max_budget_usd" })),
          0,
          "budget",
        ],
        [
          rows(
            result({ is_error, subtype: "error_max_turns", result: SENTENCE }),
          ),
          1,
          "turns",
        ],
        [
          rows(event(), result({ is_error, subtype: "error_max_turns" })),
          0,
          "turns",
        ],
      ]);
    }
    check([
      [
        rows(result({ is_error: true, terminal_reason: "budget_exhausted" })),
        1,
        "budget",
      ],
      [
        rows({ subtype: "error_max_turns", is_error: true, result: SENTENCE }),
        1,
        "turns",
      ],
      ["Error: Exceeded USD budget (0.25)", 0, "budget"],
      ["Error: Exceeded USD budget (0.25)", 1, "budget"],
      ["Error: Reached max turns (3)", 0, "turns"],
    ]);
  },
);

Deno.test(
  "classify() believes the quoted sentence of a run that broke off only in its old form",
  {
    permissions: "none",
  },
  () => {
    const broke = {
      is_error: true,
      subtype: "error_during_execution",
      api_error_status: undefined,
    };
    check([
      [rows(result({ ...broke, result: SENTENCE })), 1, "failed"],
      [rows(event(), result({ ...broke, errors: ["boom"] })), 1, "failed"],
      [
        rows(
          result({
            ...broke,
            result: `Claude AI usage limit reached|${RESET}`,
          }),
        ),
        1,
        "limit",
        RESET,
      ],
      [
        rows(result({ ...broke, result: undefined, errors: [SENTENCE] })),
        1,
        "limit",
        SHOWN,
      ],
      [
        rows(result({ ...broke, terminal_reason: "aborted_streaming" })),
        1,
        "killed",
      ],
      [rows(result({ ...broke })), 143, "killed"],
    ]);
  },
);

Deno.test("classify() reads a structured refusal whatever its wording", {
  permissions: "none",
}, () => {
  const odd = { result: "Come back another day" };
  check([
    [
      rows(refused({ ...odd, api_error: "usage_limit_reached" })),
      1,
      "limit",
      null,
    ],
    [rows(INIT, event(), refused(odd)), 1, "limit", RESET],
    [
      rows(INIT, event(), refused({ ...odd, api_error_status: undefined })),
      1,
      "limit",
      RESET,
    ],
    [
      rows(INIT, event({ resetsAt: String(RESET) }), refused(odd)),
      1,
      "limit",
      RESET,
    ],
    [
      rows(INIT, event({ resetsAt: RESET * 1000 }), refused(odd)),
      1,
      "limit",
      RESET,
    ],
    [
      rows(
        INIT,
        errorMessage("x", { api_error: "usage_limit_reached" }),
        refused(odd),
      ),
      1,
      "limit",
    ],
    [
      rows(
        said("Pay", { isApiErrorMessage: true, error: "billing_error" }),
        refused({ ...odd, api_error_status: 400 }),
      ),
      1,
      "limit",
      null,
    ],
    // Without a result.
    [rows(event()), 1, "limit", RESET],
    [rows(INIT, errorMessage(SENTENCE)), 1, "limit", SHOWN],
    [
      rows(INIT, event(), errorMessage(SENTENCE)) + '{"type":"result","is_err',
      1,
      "limit",
      RESET,
    ],
  ]);
});

Deno.test(
  "classify() takes a rejected event for a refusal only with a reset, no overage and a failed request",
  {
    permissions: "none",
  },
  () => {
    const odd = { result: "Come back another day" };
    check([
      [
        rows(INIT, event({ resetsAt: undefined }), refused(odd)),
        1,
        "suspected",
        null,
      ],
      [rows(INIT, event({ resetsAt: 0 }), refused(odd)), 1, "suspected", null],
      [
        rows(INIT, event({ isUsingOverage: true }), refused(odd)),
        1,
        "suspected",
      ],
      [
        rows(event({ isUsingOverage: true, overageStatus: "allowed" })),
        1,
        "failed",
      ],
      [
        rows(
          event(),
          event({ status: "allowed" }),
          refused({ ...odd, api_error_status: null }),
        ),
        1,
        "failed",
      ],
      [rows(event({ status: "allowed" })), 1, "failed"],
      [
        rows(
          event(),
          refused({ api_error_status: 500, result: "API Error: 500" }),
        ),
        1,
        "failed",
      ],
      [
        rows(
          event(),
          refused({
            api_error_status: null,
            result: "API Error: Unable to connect to API (ENOTFOUND)",
          }),
        ),
        1,
        "failed",
      ],
      [
        rows(
          event({ resetsAt: undefined, rateLimitType: undefined }),
          refused({
            result:
              "API Error: Server is temporarily limiting requests (not your usage limit)",
          }),
        ),
        1,
        "throttle",
      ],
      // Before the call: unknown. The text's own time then counts.
      [rows(event({ resetsAt: AT - 1 }), refused()), 1, "limit", SHOWN],
    ]);
  },
);

Deno.test("classify() goes by the status where the wording is unknown", {
  permissions: "none",
}, () => {
  const status = (code: unknown): string =>
    rows(refused({ api_error_status: code, result: "Something went wrong" }));
  check([
    [status(401), 1, "auth"],
    [status(403), 1, "auth"],
    [status(429), 1, "suspected"],
    [status("429"), 1, "suspected"],
    [status(529), 1, "overloaded"],
    [status(503), 1, "failed"],
    [status(400), 1, "failed"],
    [status(null), 1, "failed"],
    [status([]), 1, "failed"],
    [rows(refused({ result: "" })), 1, "suspected"],
    [rows(refused({ result: null, api_error_status: null })), 1, "failed"],
    [
      rows(
        { type: "result", is_error: 1, result: {}, errors: [1], subtype: 5 },
        { type: 5 },
      ),
      1,
      "failed",
    ],
    // Contradictions: an error status and nothing but the refusal.
    [rows(refused({ is_error: false })), 0, "limit", SHOWN],
    [rows(refused({ is_error: "true" })), 1, "limit"],
    [rows(refused({ is_error: undefined })), 1, "limit"],
    [rows(result({ is_error: undefined })), 0, "ok"],
  ]);
});

Deno.test("classify() names window and scope, by the event before the text", {
  permissions: "none",
}, () => {
  const judged = (type: string, text: string): [string | null, string] => {
    const { window, scope } = judge(
      rows(event({ rateLimitType: type }), refused({ result: text })),
      1,
    );
    return [window, scope];
  };
  const bare = "You've hit your limit · resets 6:35pm (UTC)";
  assertEquals(judged("five_hour", bare), ["five_hour", "account"]);
  assertEquals(judged("seven_day_opus_large", bare), [
    "seven_day_opus_large",
    "opus",
  ]);
  assertEquals(judged("__proto__", bare), ["__proto__", "account"]);
  assertEquals(judged("overage", bare), ["overage", "account"]);
  assertEquals(judged("seven_day_opus", bare), ["seven_day_opus", "opus"]);
  assertEquals(judged("seven_day_sonnet", "You've hit your weekly limit"), [
    "seven_day_sonnet",
    "sonnet",
  ]);
  assertEquals(judged("seven_day_overage_included", bare), [
    "seven_day_overage_included",
    "fable",
  ]);
  assertEquals(judged("seven_day", "You've hit your Opus limit"), [
    "seven_day",
    "opus",
  ]);
  assertEquals(judged("five_hour", "You've hit your monthly spend limit"), [
    "five_hour",
    "account",
  ]);
  assertEquals(judge("Credit balance is too low", 1).window, "credit");
  assertEquals(judge("Spending cap reached resets 6:43pm", 1).window, "spend");
  assertEquals(judge(bare, 1).window, null);
});

Deno.test("classify() says whether a reset was shown, and what a run cost", {
  permissions: "none",
}, () => {
  assertEquals(judge(rows(refused()), 1).shown, true);
  assertEquals(judge(rows(event(), refused()), 1).shown, false);
  assertEquals(judge(`Claude AI usage limit reached|${RESET}`, 1).shown, false);
  assertEquals(judge(rows(result({ total_cost_usd: 1.5 })), 0).cost_usd, 1.5);
  assertEquals(judge(rows(refused({ total_cost_usd: "x" })), 1).cost_usd, null);
  assertEquals(judge("fine", 0).cost_usd, null);
  const waited = classify({
    stdout: bytes("You've hit your usage limit · resets in 10 minutes"),
    stderr: bytes(""),
    exit: 1,
    startedAt: AT,
    endedAt: AT + 3600,
    timeZone: "UTC",
  });
  assertEquals(waited.reset_at, AT + 4200);
});

Deno.test(
  "classify() knows a run that was cut short",
  { permissions: "none" },
  () => {
    check([
      ["", 0, "killed"],
      // Interrupted in mid-request; with a newline it is an answer.
      ["Execution error", 0, "killed"],
      ["Execution error\n", 0, "ok"],
      ["\n", 0, "ok"],
      ["Usage limit reached", 0, "ok"],
      [`Task failed: ${SENTENCE}`, 0, "ok"],
      [`Task failed: ${SENTENCE}`, 1, "limit"],
      ["", 124, "killed"],
      ["", 129, "killed"],
      ["", 130, "killed"],
      ["", 137, "killed"],
      ["", 143, "killed"],
      ["", 1, "failed"],
      ["", 139, "failed"],
      [rows(INIT, said("half")), 0, "killed"],
      [rows(INIT, event(), said("half")), 143, "killed"],
      [rows(INIT, said("half")), 1, "failed"],
      // Done or refused, and only then killed.
      [rows(INIT, result({})), 137, "ok"],
      [SENTENCE, 143, "limit"],
    ]);
    assertEquals(judge("", 0, "Warning: something").ending, "killed");
    assertEquals(judge("fine", 0, SENTENCE).ending, "ok");
  },
);

Deno.test("classify() tells a stream from an answer that holds JSON", {
  permissions: "none",
}, () => {
  const row = rows(refused());
  const warning =
    "Warning: no stdin data received in 3s, proceeding without it.\n";
  check([
    [warning + row, 1, "limit", SHOWN],
    [`\ufeff${row}`, 1, "limit"],
    [row.replaceAll("\n", "\r\n"), 1, "limit"],
    [`\x1b[?25l${row}\x1b[?25h`, 1, "limit"],
    [`Here is the row:\n${row}`, 0, "ok"],
    // Not certain, but what a wrapper's own lines around a limit look like.
    [`Here is the row:\n${row}`, 1, "suspected"],
    [`${row}That is all.`, 1, "suspected"],
    [`Now using node v22\n${SENTENCE}\n`, 1, "suspected"],
    [`Now using node v22\n${SENTENCE}\n`, 0, "ok"],
    [`${"A line of an answer\n".repeat(40)}${SENTENCE}\n`, 1, "failed"],
    ["```json\n" + row + "```", 0, "ok"],
    ['{"limit":"reached","resets":"3pm"}', 0, "ok"],
    ['{"limit":"reached","resets":"3pm"}', 1, "failed"],
    [
      rows({
        type: "user",
        message: { content: [{ type: "tool_result", content: SENTENCE }] },
      }),
      124,
      "killed",
    ],
  ]);
});

Deno.test("classify() judges the end of an output whose front was cut off", {
  permissions: "none",
}, () => {
  const long = `${SENTENCE}\n"}],{\\ `.repeat(2000);
  const first = (fields: Record<string, unknown>): string =>
    JSON.stringify(fields);
  check([
    [
      first({ denials: [{ x: long, y: 1 }, { z: [2, 3] }], ...refused() }),
      1,
      "limit",
      SHOWN,
    ],
    [
      first({
        type: "result",
        result: long,
        is_error: false,
        subtype: "success",
        total_cost_usd: 2,
      }),
      0,
      "ok",
      null,
    ],
    [
      first({
        usage: { a: [1, "}"] },
        result: long,
        is_error: false,
        type: "result",
      }),
      0,
      "ok",
    ],
    [
      first({ type: "result", is_error: false, result: long, uuid: "u" }),
      0,
      "ok",
    ],
    [
      first({ type: "result", is_error: true, result: long, uuid: "u" }),
      1,
      "failed",
    ],
    [
      first({ permission_denials: [{ x: long }], ...refused() }),
      1,
      "limit",
      SHOWN,
    ],
    [
      first({
        denials: long,
        ...refused({ api_error: "usage_limit_reached" }),
      }),
      1,
      "limit",
      SHOWN,
    ],
    [
      first({
        denials: long,
        ...result({ is_error: true, subtype: "error_max_budget_usd" }),
      }),
      1,
      "budget",
    ],
    [
      first({
        type: "result",
        is_error: true,
        result: SENTENCE,
        denials: long,
      }),
      1,
      "failed",
    ],
    [JSON.stringify([INIT, said(long), refused()]), 1, "limit", SHOWN],
    [JSON.stringify([INIT, said(long), result({ result: SENTENCE })]), 0, "ok"],
    [rows(INIT, said(long), event(), refused()), 1, "limit", RESET],
    [rows(INIT, said(long)) + SENTENCE, 1, "failed"],
    [`${long}\n${SENTENCE}`, 0, "ok"],
    [`${long}\n${SENTENCE}`, 1, "failed"],
    [`${long.replaceAll("\n", " ")} ${first(refused())}`, 0, "ok"],
    [`${long.replaceAll("\n", " ")} ${first(refused())}`, 1, "failed"],
  ]);
  const cut = judge(
    first({ type: "result", result: long, is_error: false, total_cost_usd: 2 }),
    0,
  );
  assertEquals(cut.cost_usd, 2);
});

function judged(stdout: Uint8Array, stderr: Uint8Array, exit: number): Ending {
  const output = { stdout, stderr, exit, startedAt: CALLED_AT };
  const ending = quickly(
    () => classify({ ...output, timeZone: "UTC" }),
    "A call",
  );
  const { evidence, text } = ending;
  assert(evidence.length <= 300 && text.length <= 200);
  // deno-lint-ignore no-control-regex -- none of them may be there
  assert(!/[\x00-\x1f\x7f-\x9f]/.test(evidence + text), evidence);
  return ending;
}

Deno.test(
  `classify() judges ${RANDOM_TEXTS} random messages right, seed ${SEED}`,
  {
    permissions: "none",
  },
  () => {
    const random = seeded(SEED);
    const none = new Uint8Array();
    let limits = 0;
    for (let i = 0; i < RANDOM_TEXTS; i++) {
      const { text, exit, limit, resets } = randomMessage(random);
      const onStderr = random() < 0.2;
      const found = onStderr
        ? judged(none, bytes(text), exit)
        : judged(bytes(text), none, exit);
      const what = `${JSON.stringify(text)}\nexit ${exit}: ${found.evidence}`;
      assertEquals(found.ending === "limit", limit, what);
      if (limit) assertEquals(found.reset_at !== null, resets, what);
      if (limit) limits++;
    }
    assert(limits > RANDOM_TEXTS / 5);
  },
);

Deno.test(
  `classify() survives ${RANDOM_TEXTS / 10} random byte strings, seed ${SEED}`,
  {
    permissions: "none",
  },
  () => {
    const random = seeded(SEED);
    const noise = (): Uint8Array => {
      const length = random() < 0.1 ? TAIL : Math.floor(random() * 300);
      // Half of them with the bytes that mean something to a reader of JSON and terminals.
      const alphabet = random() < 0.5 ? '{}[]",:\\\n |x1\x1b' : "";
      return Uint8Array.from(
        { length },
        () =>
          alphabet === ""
            ? random() * 256
            : alphabet.charCodeAt(random() * alphabet.length),
      );
    };
    for (let i = 0; i < RANDOM_TEXTS / 10; i++) {
      const found = judged(noise(), noise(), random() < 0.5 ? 0 : 1);
      assert(found.ending !== "limit", found.evidence);
    }
  },
);

Deno.test("classify() is quick on inputs made to be slow", {
  permissions: "none",
}, () => {
  const parts = [
    "{",
    "[",
    '{"a":',
    '{"a":1},',
    "{}\n",
    '{"type":"result"}\n',
    '"',
    '\\"',
    "\\",
    "}",
    "]",
    "\x1b[",
    "\x1b[0",
    "\x1b]",
    "\x9b;",
    "\n",
    "warn\n",
    "API Error: ",
    "You've hit your ",
    "limit reached · ",
    "resets 3pm ",
    "| ",
    "(",
    "error ",
    "a: ",
    "/a ",
    "1",
    "in 1 h ",
  ];
  const endings = ["", '"}', "}", "}]", "\n", ' limit"}'];
  for (const part of parts) {
    for (const end of endings) {
      for (const size of [350, 690, 1390, 5500, TAIL]) {
        const body = part.repeat(Math.ceil(size / part.length));
        for (const start of ["", "You've hit your limit · "]) {
          const text = bytes((start + body).slice(0, size - end.length) + end);
          for (const exit of [0, 1]) judged(text, text, exit);
        }
      }
    }
  }
});
