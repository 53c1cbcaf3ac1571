/**
 * What Claude Code says when a call fails, as data: a new wording is one more
 * line. `says` is a regular expression without case; a space in it matches any
 * white space, also a line break; `{...}` stands for a word list from below.
 */
export interface Wording {
  /** Source of a regular expression. */
  says: string;
  /** CLI versions, or where else. */
  seen: string;
}

/** One head of a limit message: what it starts with. */
export interface LimitWording extends Wording {
  /** Window of the limit, where the words that `{which}` matched do not name it. */
  window: string | null;
  /** What must come with it, where its words alone might be an answer. */
  needs?: "a reset" | "a reset or a failed call";
}

/** Lines that programs print besides, which belong to no message and to no stream. */
export const NOISE =
  /^(?:warning\b|warn\b|\[(?:warn|debug|info|notice)|\(node:\d+\)|\(use `node|npm warn|debugger |info:|notice:)/i;

/** Heads of messages that say: the allowance is used up; the first that fits. */
export const LIMIT_WORDINGS: readonly LimitWording[] = [
  {
    says:
      "you have reached your specified (?:workspace |organization )?api usage limits",
    window: "spend",
    seen: "0.2.107 to 2.1.332 (the API's text, HTTP 400)",
  },
  {
    says: "you(?:'ve| have) (?:hit|reached|exceeded) your {which}limits?",
    window: null,
    seen: "2.1.4 to 2.1.332; the window's name came with 2.1.147",
  },
  {
    says: "you(?:'ve| have) (?:hit|reached) your {which}(?:budget|quota)",
    window: "spend",
    seen: "2.1.268 (shared budget)",
  },
  {
    says: "{plan}limit reached",
    window: null,
    needs: "a reset or a failed call",
    seen: "0.2.81 to 2.0.76 (usage, 5-hour, session, weekly, Opus limit)",
  },
  {
    says: "limit reached",
    window: null,
    needs: "a reset",
    seen: "2.0.57",
  },
  {
    says: "spend(?:ing)? (?:cap|limit) reached",
    window: "spend",
    needs: "a reset or a failed call",
    seen: "2.0.26; apps gateway",
  },
  {
    says:
      "you(?:'re| are|'ve run| have run) out of (?:extra usage|usage credits|usage|credits)",
    window: "spend",
    seen: "2.1.23 to 2.1.143 (extra usage), 2.1.144 on (usage credits)",
  },
  {
    says:
      "your (?:org|organization|team|workspace|group) is out of (?:extra usage|usage credits|usage|credits)",
    window: "credit",
    seen: "2.1.295",
  },
  {
    says:
      "(?:your )?credit balance (?:is )?too low(?: to access the (?:anthropic|claude) api)?",
    window: "credit",
    seen: "0.2.81 to 2.1.332",
  },
  {
    says:
      "your usage allocation has been disabled(?: by your (?:org |organization |workspace )?admin)?",
    window: "credit",
    seen: "2.1.260",
  },
  {
    says: "your {which}limit is set to \\$0(?:\\.00)?",
    window: "credit",
    seen: "2.1.260",
  },
  {
    says:
      "your (?:seat|plan)(?: type)? (?:doesn't|does not) include (?:usage credits|extra usage|usage|claude code)",
    window: "credit",
    seen: "2.1.260",
  },
  {
    says: "your {which}(?:limit|cap) is reached",
    window: "spend",
    seen: "2.1.269 (organization's usage credit cap)",
  },
  {
    says: "fable(?: \\d+(?:\\.\\d+)?)? requires usage credits",
    window: "seven_day_overage_included",
    seen: "2.1.269",
  },
  {
    says: "this service is disabled for your org(?:anization)?",
    window: "credit",
    seen: "2.1.269",
  },
  {
    says: "(?:this|your) organization has been disabled",
    window: "credit",
    seen: "2.1.144 (the API's text, HTTP 400)",
  },
  {
    says: "your anthropic_api_key belongs to a disabled organization",
    window: "credit",
    seen: "2.1 (a stray key)",
  },
];

/** One of these words is in each head: most texts need no further look. */
export const LIMIT_SUBJECT =
  /limit|quota|budget|\bcap\b|usage|credit|organization|service/i;

/** Words that a message may put before "limit reached". */
const PLAN_WORDS =
  "claude|code|ai|\\[?(?:max|pro|team|enterprise)\\]?|monthly|weekly|daily|hourly|session|usage|extra|spend(?:ing)?|credit|opus|sonnet|haiku|fable|\\d+(?:\\.\\d+)?|(?:\\d+|five|seven)[- ](?:hour|day)";

/** Lists that `{...}` in a wording stands for. */
export const WORD_LISTS: Readonly<Record<string, string>> = {
  plan: `(?<plan>(?:(?:${PLAN_WORDS}) ){1,6})`,
  which: "(?<which>(?:[\\w$'.\\[\\]-]+ ){0,5}?)",
};

/** What `{which}` may be without a reset after it. */
export const PLAIN_WHICH =
  `(?:(?:${PLAN_WORDS}|org(?:anization)?'s|team's|group's|channel's|workspace's|individual|shared|personal|account|plan|subscription) ){0,6}`;

/** What `{which}` never is: other things that have limits. */
export const OTHER_LIMITS =
  /\b(?:context|rate|turns?|tokens?|time|size|length|speed|files?|memory|output|input|recursion|concurren\w+|retry|retries|requests?|characters?|search|upload|fast|storage|disk|deployments?|git(?:hub|lab)|copilot|vercel|netlify|npm|docker|aws|azure|gcp|google|gemini|openai|chatgpt|cursor|slack|stripe)\b/i;

/** Which window the words before "limit" name, by its `rateLimitType`; the first that fits. */
export const WINDOW_WORDS: readonly { says: RegExp; window: string }[] = [
  { says: /\bopus\b/i, window: "seven_day_opus" },
  { says: /\bsonnet\b/i, window: "seven_day_sonnet" },
  { says: /\bfable\b/i, window: "seven_day_overage_included" },
  {
    says:
      /\b(?:spend(?:ing)?|extra|credits?|overage|budget|monthly|individual)\b/i,
    window: "spend",
  },
  { says: /\b(?:session|5.hour|five.hour)\b/i, window: "five_hour" },
  { says: /\b(?:weekly|7.day|seven.day)\b/i, window: "seven_day" },
];

/** What a hint says after a limit that leaves the other models alone; its word is in the list above. */
export const ONE_MODEL =
  /\b(?:keep using|continuing on|continue (?:on|with|using)) (?:claude )?(?:opus|sonnet|fable)\b/i;

/** What programs put before the message. Each is dropped from the start, again and again. */
export const PREFIXES: readonly Wording[] = [
  { says: "(?:api )?error:? \\(?\\d{3}\\)?:?", seen: "all" },
  { says: "(?:api |execution )?error:", seen: "all" },
  { says: "request rejected \\(429\\) [·-]", seen: "2.1" },
  {
    says:
      "(?:(?:task|background) )?(?:sub)?agent terminated early due to an api error:",
    seen: "2.1.199",
  },
  {
    says: "prompt is too long [·-] automatic compaction failed:",
    seen: "2.1.260",
  },
  { says: "teammate @\\S{1,60} failed:", seen: "2.1" },
  { says: "rate limited: rejected \\/", seen: "2.1 (subagent)" },
  { says: "claude code returned an error result:", seen: "Agent SDK" },
  { says: "claude(?: code)?:", seen: "shells and loggers" },
  {
    says:
      "claude code envelope has is_error=true\\. subtype: \\w{1,40}\\. message:",
    seen: "a wrapper",
  },
];

/**
 * A prefix of a program that is not known: only before a message of a failed
 * call. It names a failure, and none of the words of which sentences are made.
 */
export const FOREIGN_PREFIX =
  /(?=[^:]{0,80}(?:failed|failure|errored|error|exception|terminated|rejected|refused|aborted|exited)\b)(?![^:]{0,80}[.!?]\s)(?![^:]{0,80}\b(?:the|this|that|when|if|is|was|are|i|we|it|says?|said|prints?|printed|message|text|line|like|fix(?:ed|es)?|tests?|add(?:ed|s)?|handle|for|expect\w*|show\w*|note|see|example|e\.g)\b)[\w@ .#/()[\]=-]{1,80}:\s/iy;

/** Endings that are not a limit, by what a short message says anywhere; the first that fits. */
export const OTHER_WORDINGS: readonly (Wording & {
  ending: "throttle" | "overloaded" | "auth" | "failed";
})[] = [
  { ending: "overloaded", says: "overloaded", seen: "all" },
  {
    ending: "throttle",
    says: "not your usage limit|temporarily limiting requests",
    seen: "2.1.193 to 2.1.332",
  },
  {
    ending: "throttle",
    says: "^(?:api error: )?rate limit (?:reached|exceeded)",
    seen: "2.0.26 to 2.1.61",
  },
  {
    ending: "throttle",
    says: "too many requests|\\brate.limited\\b",
    seen: "2.1 (Request rejected (429))",
  },
  {
    ending: "throttle",
    says: "(?:extra usage|usage credits?) (?:(?:is|are) )?required for",
    seen: "2.1.85 to 2.1.295 (an entitlement, sent as 429)",
  },
  {
    ending: "auth",
    says:
      "invalid api key|not logged in|login expired|failed to authenticate|authentication_(?:error|failed)|oauth (?:token|session|authentication)|please run \\/login|account is on hold|authentication required|apikeyhelper|organization (?:doesn't allow|does not allow|doesn't have access|does not have access)|invalid bearer token|could not resolve authentication",
    seen: "all",
  },
  {
    ending: "failed",
    says:
      "prompt is too long|unable to connect|connection (?:error|refused|reset)|econn\\w+|enotfound|etimedout|timed out|stalled mid-stream|fetch failed|unknown option|unknown command|internal server error|certificate",
    seen: "all",
  },
];

/** How errors of the CLI begin, and no answer does. */
export const UNMISTAKABLE =
  /^(?:api error\b|error: \d{3} \{|invalid api key [·-]|not logged in [·-]|login expired [·-]|failed to authenticate\b)/i;

/** Stops by policy: the whole message. */
export const POLICY_STOPS: readonly (Wording & {
  ending: "budget" | "turns";
})[] = [
  {
    ending: "budget",
    says: "(?:error: )?exceeded usd budget \\(\\$?[\\d.e-]+\\)",
    seen: "2.0.57 to 2.1.332",
  },
  {
    ending: "budget",
    says: "(?:error: )?reached maximum budget \\(\\$?[\\d.e-]+\\)",
    seen: "2.1.193 to 2.1.332 (in `errors`)",
  },
  {
    ending: "turns",
    says:
      "(?:error: )?reached max(?:imum)? (?:number of )?turns(?: \\(\\d+\\))?",
    seen: "2.0.26 to 2.1.332",
  },
];

/** What may follow a limit's head besides the reset: how it begins, ... */
export const HINT_START =
  /^(?:(?:or|and|then|please) )?(?:\/[a-z]|https?:|run|raise|visit|ask|contact|add|switch|upgrade|manage|go|see|use|try|turn|enable|buy|purchase|get|check|wait|wrapping up|to get more|press|esc|change|continu(?:e|ing)|progress saved|answer|nothing was sent|keep|increase|set|view|open|learn more|no fallback model|stderr:|request.?id)/i;

/** ... and what it has: something that the reader can do about a limit. */
export const HINT =
  /(?:^|\s)\/[a-z][\w-]+|claude\.(?:ai|com)|anthropic\.com|https?:\/\/|\badmin\b|^upgrade\b|\busage credits?\b|\bextra usage\b|\bcredits\b|\bbilling\b|\b(?:another|different|fallback|switch) models?\b|\bprogress saved\b|\bnothing was sent\b|\btry again\b|\bplease wait\b|\bto cancel\b|\bfunds\b|\bwrapping up\b|\brequest.?id\b|^stderr:|\byour plan\b/i;

/** What no hint has: code, quotes, the voice of somebody who tells a story. */
export const NO_HINT =
  /["`{}<>;\\]|\b(?:I|we|when|because|added|prints?|following|test|tests|wrapper|regex|now using|errors?|failed|exceeded|approaching|invalid|expired|unavailable|occurred|required|too long|you've|close to|def|fix)\b|claude\.(?:ai|com)\/\S*\s(?!(?:to|and|or|for)\b)/i;

/** Words instead of a time: the limit stands, its reset is unknown. */
export const VAGUE_TIME =
  /(?:soon|later(?: today| tonight| this week)?|shortly|tomorrow|next (?:week|month)|at the (?:start|end|beginning) of (?:the |next )?(?:week|month|billing (?:period|cycle)))(?![\w])/iy;

/** Words of a refusal that no head above covers: something finite, ... */
export const FINITE =
  /\b(?:limits?|quotas?|allowances?|allocations?|usage|credits?|budgets?|caps?|balance|entitlement|messages|requests)\b/i;
/** ... and that it is used up. */
export const USED_UP =
  /\b(?:reached|hit|exceed(?:s|ed|ing)?|exhausted|used|spent|depleted|consumed|r[au]n out|out of|no more|none left|no \w+ left|gone|no remaining|too low|insufficient|maxed|over|resets?|renews?|refills?|regain|rate_limit|try again|suspended|blocked|disabled|paused|(?:unavailable )?until)\b/i;
/** Warnings, notices, other limits and prose, which are no refusals. */
export const NO_REFUSAL =
  /\b(?:approaching|close to|nearing|almost|\d+% (?:of|used)|has reset|have reset|now using|context|tokens?|turns|characters?|files?|speed|timeout|memory|disk)\b|\b(?:I|I've|we|we've|added|fix|fixed|todo)\b|["`{}<>;]|^\s*at \S+ \(/i;
