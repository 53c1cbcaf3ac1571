/**
 * Random messages around limits: real limits with everything that may surround
 * them, and texts that only talk about limits.
 */

/** A generator of numbers in [0, 1) that a seed repeats (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A text, and whether it is a limit; `resets`: it must name a reset. */
export interface RandomMessage {
  text: string;
  exit: number;
  limit: boolean;
  resets: boolean;
}

/** When the calls began that print these messages, epoch seconds: 2026-03-10T14:20:30Z. */
export const CALLED_AT = 1_773_152_430;

const WINDOWS = [
  "",
  "session ",
  "5-hour ",
  "weekly ",
  "Opus ",
  "Opus 4.5 ",
  "Sonnet ",
  "Fable ",
  "Fable 5 ",
  "usage ",
  "monthly spend ",
  "org's monthly spend ",
  "individual usage ",
];
const TIMES = [
  "3pm",
  "3:45 PM",
  "12:05am",
  "12pm",
  "15:45",
  "Mar 13, 12:02am",
  "Mar 13 at 3am",
  "Mar 14, 2026, 2am",
  "Thu 9am",
  "Mon",
  "2026-03-12 00:00 UTC",
  "in 2 hours 15 minutes",
];
const ZONES = [
  "",
  " (UTC)",
  " (Asia/Tokyo)",
  " (America/New_York)",
  " (No/Where)",
];
const HINTS = [
  "",
  " · /upgrade to Max 20x or turn on /extra-usage",
  "\n/upgrade to increase your usage limit.",
  "\n     /usage-credits to adjust your monthly spend limit.",
  " · run /usage-credits to ask your admin for a higher limit",
  " · visit claude.ai/admin-settings/usage to raise it",
];
const PREFIXES = [
  "",
  "",
  "",
  "API Error: ",
  "Error: ",
  "● ",
  "  ⎿  ",
  "⚠ ",
  "Subagent failed: ",
  "Teammate @writer failed: ",
  "Agent terminated early due to an API error: ",
  "Claude Code returned an error result: ",
  "[2026-03-10T14:20:31Z] ",
];
const PLAIN_HEADS = [
  "Credit balance is too low",
  "You're out of extra usage",
  "You're out of usage credits",
  "Your org is out of usage",
  "Your usage allocation has been disabled by your admin",
  "You've hit your team's shared budget",
];
const OTHERS = [
  "You've used 93% of your session limit · resets 3:40pm",
  "Approaching your weekly limit · resets 3pm (UTC)",
  "Your claude.ai usage limit has reset. Go on with the task.",
  "Claude Opus 4 limit reached, now using Sonnet 4",
  "You've hit your session limit before, so I added a retry.",
  "You've hit your context limit · resets 3pm",
  "You've hit your session limit · resets 25pm",
  "API Error: Server is temporarily limiting requests (not your usage limit)",
  "API Error: Rate limit reached",
  "API Error: Request rejected (429) · Rate limited.",
  "API Error: 529 Overloaded. This is not your usage limit.",
  "Failed to authenticate. API Error: 401 OAuth token has expired.",
  "Error: Exceeded USD budget (0.5)",
  "Error: Reached max turns (3)",
  "You're close to your usage credit limit",
  "API Error: Usage credits required for 1M context · run /usage-credits",
  "spend limit unavailable",
  "Prompt is too long",
  "The tests pass.",
];
const SENTENCES = [
  "The wrapper must react when the CLI prints the following line.",
  "I added a test for this message.",
  "That is all.",
  "Here is what it looks like:",
  "The regular expression matches",
  "Done: three files changed.",
  "It then resets the counter and tries again.",
  "See the fixture for more.",
];
const WORDS = [
  ...OTHERS,
  ...SENTENCES,
  ...HINTS,
  ...PREFIXES,
  ...TIMES,
  ...PLAIN_HEADS,
  "You've hit your weekly limit · resets",
  "5-hour limit reached ∙ resets",
  "Claude AI usage limit reached",
].flatMap((text) => text.split(/\s+/)).filter((word) => word !== "");

/** One random message. */
export function randomMessage(random: () => number): RandomMessage {
  const exit = random() < 0.5 ? 0 : 1;
  if (random() < 0.4) return builtLimit(random);
  return { text: decoy(random), exit, limit: false, resets: false };
}

function pick<T>(random: () => number, list: readonly T[]): T {
  const item = list[Math.floor(random() * list.length)];
  if (item === undefined) throw new Error("Nothing to pick from");
  return item;
}

function sentenceOfLimit(
  random: () => number,
): { text: string; resets: boolean } {
  const window = pick(random, WINDOWS);
  const time = `${pick(random, TIMES)}${pick(random, ZONES)}`;
  switch (Math.floor(random() * 6)) {
    case 0:
      return { text: `${pick(random, PLAIN_HEADS)}`, resets: false };
    case 1:
      return { text: "Claude AI usage limit reached|1773200000", resets: true };
    case 2: {
      const bullet = pick(random, [" · ", " ∙ ", " - ", " "]);
      const start = window === ""
        ? ""
        : window.replace(/org's |individual /, "");
      const head = `${start}limit reached`;
      return {
        text: `${head.charAt(0).toUpperCase()}${
          head.slice(1)
        }${bullet}resets ${time}`,
        resets: true,
      };
    }
    case 3:
      return {
        text: `Claude usage limit reached. Your limit will reset at ${time}.`,
        resets: true,
      };
    default: {
      const saved = pick(random, ["", "", " · progress saved"]);
      const bullet = pick(random, [" · ", " ∙ ", "\n· "]);
      return {
        text: `You've hit your ${window}limit${saved}${bullet}resets ${time}`,
        resets: true,
      };
    }
  }
}

function builtLimit(random: () => number): RandomMessage {
  const { text: sentence, resets } = sentenceOfLimit(random);
  let text = `${pick(random, PREFIXES)}${sentence}`;
  if (!text.endsWith(".")) text += pick(random, HINTS);
  if (random() < 0.3) text = text.replaceAll("'", "’");
  if (random() < 0.2) {
    text = `\x1b[1m\x1b[31m${text.replace(" · ", "\x1b[0m · \x1b[2m")}\x1b[0m`;
  }
  const layout = random();
  if (layout < 0.2) text = framed(text);
  else if (layout < 0.4) text = text.replace(" (", "\n(");
  return {
    text: `${text}${pick(random, ["", "\n", "\r\n"])}`,
    exit: 1,
    limit: true,
    resets,
  };
}

function framed(text: string): string {
  const lines = text.split("\n").map((line) => `│ ${line} │`);
  return ["╭────────╮", ...lines, "╰────────╯"].join("\n");
}

function decoy(random: () => number): string {
  const { text: sentence } = sentenceOfLimit(random);
  const sentences = Array.from(
    { length: 1 + Math.floor(random() * 3) },
    () => pick(random, SENTENCES),
  ).join(" ");
  switch (Math.floor(random() * 9)) {
    case 0:
      return pick(random, OTHERS);
    case 1:
      return `${sentences}\n\n${sentence}\n\n${pick(random, SENTENCES)}`;
    case 2:
      return `${sentence}\n\n${sentences}`;
    case 3:
      return `${sentences} ${sentence}`;
    case 4:
      return pick(random, [
        `      334 +    "${sentence}"`,
        `  - ${sentence}`,
        `> ${sentence}`,
        `\`${sentence}\``,
        `"${sentence}"`,
        `// ${sentence}`,
        `echo '${sentence}'`,
        "```\n" + sentence + "\n```",
      ]);
    case 5: {
      const length = 4 + Math.floor(random() * 60);
      return Array.from({ length }, () => pick(random, WORDS)).join(" ");
    }
    case 6:
      return JSON.stringify({
        type: "result",
        subtype: pick(random, [
          "success",
          "error_max_turns",
          "error_max_budget_usd",
        ]),
        is_error: false,
        result: sentence,
        total_cost_usd: random(),
      });
    case 7:
      return [
        {
          type: "rate_limit_event",
          rate_limit_info: {
            status: "allowed",
            resetsAt: 1773200000,
            overageStatus: "rejected",
          },
        },
        {
          type: "user",
          message: { content: [{ type: "tool_result", content: sentence }] },
        },
        {
          type: "assistant",
          message: { content: [{ type: "text", text: sentence }] },
        },
        {
          type: "result",
          subtype: "success",
          is_error: random() < 0.5,
          result: pick(random, OTHERS),
        },
      ].map((row) => JSON.stringify(row)).join("\n");
    default:
      return `${sentence} ${pick(random, SENTENCES)}`;
  }
}
