import { assert, assertEquals } from "@std/assert";
import { asMessage, type Reading, readMessage } from "../lib/message.ts";
import { plainText, stripEscapes } from "../lib/plain_text.ts";
import {
  LIMIT_SUBJECT,
  LIMIT_WORDINGS,
  OTHER_WORDINGS,
  POLICY_STOPS,
} from "../lib/wording.ts";

function read(text: string, failed = true): Reading | null {
  const message = asMessage(text);
  return message === null ? null : readMessage(message, failed);
}

/** An example of each limit's head, with the window it must give. */
const HEADS: [string, string | null][] = [
  ["You have reached your specified API usage limits.", "spend"],
  ["You've hit your limit", null],
  ["You have hit your session limit", "five_hour"],
  ["You've hit your 5-hour limit", "five_hour"],
  ["You've hit your weekly limit", "seven_day"],
  ["You've hit your Opus limit", "seven_day_opus"],
  ["You've hit your weekly Opus limit", "seven_day_opus"],
  ["You've reached your Sonnet 4.6 limit", "seven_day_sonnet"],
  ["You've reached your Fable 5.1 limit.", "seven_day_overage_included"],
  ["You've hit your monthly spend limit", "spend"],
  ["You've hit your channel's shared budget", "spend"],
  ["Opus weekly limit reached", "seven_day_opus"],
  ["Claude AI usage limit reached|1786991715", null],
  ["Limit reached · resets 3pm", null],
  ["Spending cap reached", "spend"],
  ["You're out of extra usage", "spend"],
  ["You've run out of usage credits", "spend"],
  ["Your team is out of usage", "credit"],
  ["Credit balance too low", "credit"],
  ["Your usage allocation has been disabled by your admin", "credit"],
  ["Your group's usage limit is set to $0", "credit"],
  ["Your plan does not include usage credits", "credit"],
  ["Your organization's usage credit cap is reached", "spend"],
  ["Fable 5.1 requires usage credits", "seven_day_overage_included"],
  ["This service is disabled for your org", "credit"],
  ["This organization has been disabled.", "credit"],
  ["Your ANTHROPIC_API_KEY belongs to a disabled organization", "credit"],
];

Deno.test("readMessage() knows an example of each head, and its window", {
  permissions: "none",
}, () => {
  for (const [text, window] of HEADS) {
    const found = read(text);
    assertEquals(found?.ending, "limit", text);
    assertEquals(found?.limit?.window ?? null, window, text);
    assert(LIMIT_SUBJECT.test(text), text);
  }
});

Deno.test(
  "LIMIT_WORDINGS has no head without an example, nor one without a source",
  {
    permissions: "none",
  },
  () => {
    const texts = HEADS.map(([text]) => text);
    for (const { says, seen } of LIMIT_WORDINGS) {
      // Lists of words are taken as anything here.
      const pattern = new RegExp(says.replace(/\{[a-z]+\}/g, ".{0,40}"), "i");
      assert(texts.some((text) => pattern.test(text)), `no example of ${says}`);
      assert(seen.length > 0, says);
    }
  },
);

Deno.test(
  "readMessage() needs more than bare words where an answer could consist of them",
  {
    permissions: "none",
  },
  () => {
    assertEquals(read("Limit reached")?.ending, "suspected");
    assertEquals(read("Limit reached", false), null);
    assertEquals(read("Usage limit reached", false), null);
    assertEquals(read("Usage limit reached")?.ending, "limit");
    assertEquals(
      read("Usage limit reached · resets 3pm", false)?.ending,
      "limit",
    );
    assertEquals(read("You've hit your session limit", false)?.ending, "limit");
    // Words before "limit" that no plan has.
    assertEquals(read("You've hit your patience limit")?.ending, "suspected");
    assertEquals(
      read("You've hit your flagship limit · resets 3pm")?.ending,
      "limit",
    );
    assertEquals(read("You've hit your context limit · resets 3pm"), null);
  },
);

Deno.test(
  "readMessage() drops what programs put before a message, but no sentence",
  {
    permissions: "none",
  },
  () => {
    const limit = "You've hit your session limit · resets 3pm";
    const dropped = [
      "API Error: ",
      "API Error: 429 ",
      "API Error: Request rejected (429) · ",
      "Error: 400 ",
      "● ⎿  ",
      "[2026-08-17T16:30:00Z] ",
      "[worker 2] claude: ",
      "Task failed: ",
      "relay.UpstreamError: Claude Code returned an error result: ",
      "Prompt is too long · automatic compaction failed: ",
    ];
    for (const prefix of dropped) {
      assertEquals(read(prefix + limit)?.ending, "limit", prefix);
    }
    const kept = [
      "The error is: ",
      "It failed with this message: ",
      "Added a test for the error: ",
      "Note: ",
      "- ",
      "> ",
      "+ ",
      "12: ",
      "1. ",
      "# ",
      '"',
      "`",
      "'",
    ];
    for (const prefix of kept) {
      const ending = read(prefix + limit)?.ending;
      assert(ending !== "limit", `${prefix}: ${ending}`);
    }
    // A foreign prefix is no evidence if the call did not fail.
    assertEquals(read(`Task failed: ${limit}`, false), null);
  },
);

Deno.test("readMessage() allows hints after a limit, but no other sentence", {
  permissions: "none",
}, () => {
  const limit = "You've hit your session limit · resets 3pm (UTC)";
  const hints = [
    " · /upgrade to Max",
    "\n/extra-usage to finish what you're working on.",
    " · progress saved",
    ". Add more at claude.ai/settings/usage and keep going.",
    "\nUpgrade",
    ". No fallback model group found for original model_group=sage",
    "\nSwitch to another model or ask your admin to\nraise the limit.",
    " · https://claude.ai/settings",
    ".",
  ];
  for (const hint of hints) {
    assertEquals(read(limit + hint, false)?.ending, "limit", hint);
  }
  const sentences = [
    " is what the CLI prints.",
    " before the run ended",
    ", so I added a retry",
    ". I added a test.",
    ". The admin raised the plan to get more credits.",
    "\n\nThat is all.",
    "\nRun the tests again.",
    "\n`/upgrade` is what I would use",
    " · resets 25pm",
    " · wait until the reset",
  ];
  for (const sentence of sentences) {
    const ending = read(limit + sentence)?.ending;
    assert(ending !== "limit", `${sentence}: ${ending}`);
  }
});

Deno.test(
  "readMessage() knows the other endings",
  { permissions: "none" },
  () => {
    const table: [string, Reading["ending"]][] = [
      ["Error: Exceeded USD budget (0.5)", "budget"],
      ["Reached maximum budget ($0.00001)", "budget"],
      ["Error: Reached max turns (12)", "turns"],
      ["Reached maximum number of turns (12)", "turns"],
      [
        "API Error: 529 Overloaded. This is not your usage limit.",
        "overloaded",
      ],
      ["API Error: Repeated 529 Overloaded errors", "overloaded"],
      [
        "API Error: Server is temporarily limiting requests (not your usage limit)",
        "throttle",
      ],
      ["API Error: Rate limit reached", "throttle"],
      ["API Error: Request rejected (429) · Rate limited.", "throttle"],
      [
        'API Error: 429 {"type":"error","error":{"type":"rate_limit_error","message":"Too many requests."}}',
        "throttle",
      ],
      ["429 Extra usage is required for long context requests.", "throttle"],
      ["API Error: 429 Too many tokens per day", "suspected"],
      ['[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}]', "suspected"],
      ["API Error: 401 Whatever", "auth"],
      ["Not logged in · Please run /login", "auth"],
      ["API Error: 503 Service unavailable", "failed"],
      ["API Error: Unable to connect to API (ECONNREFUSED)", "failed"],
      ["error: unknown option '--quota'", "failed"],
      ["Your included allowance is exhausted until 9:00", "suspected"],
      ["Plan quota exceeded. Renews Dec 4.", "suspected"],
      ["No more usage left in this window", "suspected"],
    ];
    for (const [text, ending] of table) {
      assertEquals(read(text)?.ending, ending, text);
    }
    for (const { says, seen } of [...OTHER_WORDINGS, ...POLICY_STOPS]) {
      assert(says.length > 0 && seen.length > 0);
    }
  },
);

Deno.test("readMessage() says nothing about prose, code and warnings", {
  permissions: "none",
}, () => {
  const texts = [
    "You've used 85% of your weekly limit · resets 3pm",
    "Approaching usage limit · resets at 7pm",
    "Your weekly limit has reset.",
    "Opus limit reached, now using Sonnet 4",
    "if (limit.reached) { reset(); }",
    "I hit the limit of the API and stopped.",
    "An error occurred. Please try again later.",
    "The build takes 5 minutes.",
  ];
  for (const text of texts) assertEquals(read(text), null, text);
  assertEquals(read("Plan quota exceeded. Renews Dec 4.", false), null);
  assertEquals(read("The server was overloaded yesterday", false), null);
});

Deno.test(
  "asMessage() takes the sentence out of an API's error body, also a wrapped one",
  {
    permissions: "none",
  },
  () => {
    const wrapped =
      'API Error: 400 {"type":"error","error":{"type":"x","message":"Credit balance\n      is too low"},"request_id":"r"} · Please run /login';
    assertEquals(asMessage(wrapped), {
      text: "API Error: 400 Credit balance is too low · Please run /login",
      status: 400,
      unmistakable: true,
    });
    assertEquals(
      asMessage('API Error (429 {"error":{"message":"Slow"}})')?.status,
      429,
    );
    assertEquals(
      asMessage('{"error":{"type":"rate_limit_error"}}')?.status,
      429,
    );
    assertEquals(asMessage("  \n "), null);
    assertEquals(asMessage("word ".repeat(200)), null);
  },
);

Deno.test(
  "plainText() removes frames, marks, escapes and what belongs to no message",
  {
    permissions: "none",
  },
  () => {
    const frame = "╭────╮\n│ ⚠ You’ve hit it │\n│ · resets 3pm │\n╰────╯";
    assertEquals(plainText(frame), "You've hit it\n· resets 3pm");
    assertEquals(plainText("+-----+\n|  hello   you  |\n+-----+"), "hello you");
    assertEquals(
      plainText(
        "\x1b[1m\x1b[31mhi\x1b[0m \x1b]8;;https://x\x1b\\there\x1b]8;;\x07",
      ),
      "hi there",
    );
    assertEquals(
      plainText("(node:7) Warning: x\r\n● done\r\n   at f (file:///a.js:1:2)"),
      "done",
    );
    assertEquals(plainText("a\u200bb\x00c\td"), "abc d");
    assertEquals(plainText("`You’ve`"), "`You've`");
    assertEquals(stripEscapes("\x9b1mx\x1b7y\x1b"), "xy");
  },
);
