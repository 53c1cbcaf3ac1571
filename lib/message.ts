import { isFields, numberOr } from "./lenient.ts";
import { readShownTime, type ShownTime } from "./shown_time.ts";
import {
  FINITE,
  FOREIGN_PREFIX,
  HINT,
  LIMIT_WORDINGS,
  type LimitWording,
  NO_HINT,
  NO_REFUSAL,
  OTHER_LIMITS,
  OTHER_WORDINGS,
  PLAIN_WHICH,
  POLICY_STOPS,
  PREFIXES,
  UNMISTAKABLE,
  USED_UP,
  VAGUE_TIME,
  WINDOW_WORDS,
  WORD_LISTS,
} from "./wording.ts";

/** Longest message that is looked at, and longest refusal in an unknown wording, in characters. */
const MAX_MESSAGE = 700;
const MAX_UNKNOWN = 300;
const MAX_HINT = 220;
const MAX_UNKNOWN_LINES = 6;

const GAP = /[\s·∙•⋅‧|–—.!,;:()-]*/y;
const RESET_VERB =
  /(?:(?:daily|weekly|monthly)\s?;\s)?(?:(?:you|your|the|it|this|limits?|session|opus|sonnet|fable|\d+-hour|weekly|monthly|daily|usage|plan|account|will|can|may|please|and|or)\s)*(?:resets?|resetting|renews?|refresh(?:es)?|refills?|resumes?|regain\saccess|try\sagain|retry(?:ing)?|continu(?:e|es|ing)(?:\sautomatically)?|available(?:\sagain)?)[\s:]+(?:(?:at|on|in|after|by|about|around)\s)*/iy;
const STATUS = /^(?:api )?error:? \(?(\d{3})\b|\((\d{3})\)|\bhttp (\d{3})\b/i;

/** A short text of the CLI, made plain: see {@link plainText}. */
export interface Message {
  /** Lines joined by newlines, single spaces. */
  text: string;
  /** HTTP status that the text names, or null. */
  status: number | null;
  /** True if it begins as the CLI's errors begin, and no answer. */
  unmistakable: boolean;
}

/** What a short message says, by its wording alone. */
export interface Reading {
  ending:
    | "limit"
    | "budget"
    | "turns"
    | "throttle"
    | "overloaded"
    | "auth"
    | "failed"
    | "suspected";
  /** Which rule decided, for people. */
  rule: string;
  /** Of a limit, from its words; null if they name none. */
  window: string | null;
  /** Of a limit, if the message names it. */
  time: ShownTime | null;
}

/**
 * A terminal's text as a reader sees it: without ANSI and OSC sequences, box
 * frames, bullets and marks at the start of a line, stack traces and control
 * characters; apostrophes straight, runs of white space single.
 */
export function plainText(raw: string): string {
  return stripEscapes(raw)
    .replace(/[\u2018\u2019\u02bc\u0060\u00b4](?=\w)/g, "'")
    .replace(/[\u2500-\u257f]+/g, " ")
    .replace(/[\u200b-\u200f\u2060\ufeff\ufe0f]/g, "")
    .replace(/\r\n?/g, "\n")
    .split("\n")
    .map((line) =>
      // deno-lint-ignore no-control-regex -- control characters are what goes
      line.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, "")
        .replace(/^[\s⎿●⏺⚠✗✘✖❌✻⛔⛑ℹ🛑🚫⏳⌛⏱■]+/u, "")
        .replace(/^\|\s+(.*?)\s+\|$/, "$1")
        .replace(/[^\S\n]+/g, " ").trim()
    )
    .filter((line) => !/^[-+=_*|#~ ]*$|^at \S.*:\d+:\d+\)?$/.test(line))
    .join("\n");
}

/** Without ANSI (CSI) and OSC sequences; linear in the length of the text. */
export function stripEscapes(text: string): string {
  if (!text.includes("\x1b") && !text.includes("\x9b")) return text;
  // deno-lint-ignore no-control-regex -- escape sequences are what goes
  return text.replace(/\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)/g, "")
    // deno-lint-ignore no-control-regex -- escape sequences are what goes
    .replace(/(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]/g, "")
    // deno-lint-ignore no-control-regex -- escape sequences are what goes
    .replace(/\x1b[@-_]?/g, "");
}

/**
 * Makes a message of a raw text: an API error's JSON body is replaced by the
 * sentence in it. Null if it is empty, or too long to be one.
 */
export function asMessage(raw: string): Message | null {
  // Escapes and frames take room; a text beyond this is long whatever they take.
  if (raw.length > 8 * MAX_MESSAGE) return null;
  let text = plainText(raw);
  if (text === "" || text.length > 2 * MAX_MESSAGE) return null;
  const status = STATUS.exec(text);
  let code = status === null
    ? null
    : Number(status[1] ?? status[2] ?? status[3]);
  const body = /[[{]/.exec(text);
  if (body !== null) {
    const end = Math.max(text.lastIndexOf("}"), text.lastIndexOf("]"));
    const error = apiError(parseLenient(text.slice(body.index, end + 1)));
    if (error !== null) {
      code ??= error.status;
      text = text.slice(0, body.index).replace(/\($/, "") + error.message +
        text.slice(end + 1);
    }
  }
  if (text.length > MAX_MESSAGE) return null;
  return { text, status: code, unmistakable: UNMISTAKABLE.test(text) };
}

/**
 * The error in an API's error body, which is an object with `error`, or a list
 * of such; null if it is none.
 */
export function apiError(
  value: unknown,
): { message: string; status: number | null } | null {
  const body = Array.isArray(value) ? value[0] : value;
  if (!isFields(body) || !isFields(body.error)) return null;
  const { message, type, code, status } = body.error;
  const words = [message, type, status].find((word) =>
    typeof word === "string"
  );
  const number = numberOr(code ?? status, null);
  return {
    message: typeof words === "string" ? words : "",
    status: number ?? (type === "rate_limit_error" ? 429 : null),
  };
}

/** JSON in which a terminal's wrapping may have broken strings over lines. */
function parseLenient(text: string): unknown {
  try {
    return JSON.parse(text.replace(/\s*\n\s*/g, " "));
  } catch {
    return null;
  }
}

/**
 * Reads a message by its wording. `failed`: the call's exit code or result says
 * that it failed; without that only what cannot be an answer is believed. Null
 * if the message says nothing known.
 */
export function readMessage(
  message: Message,
  failed: boolean,
): Reading | null {
  const { text, status } = message;
  for (const stop of POLICY_STOPS) {
    if (whole(stop.says).test(text)) {
      return reading(stop.ending, "its whole text is a stop by policy");
    }
  }
  const limit = readLimit(text, failed);
  if (limit !== null) return limit;
  if (!failed && !message.unmistakable) return null;
  const other = OTHER_WORDINGS.find((wording) =>
    anywhere(wording.says).test(text)
  );
  if (other !== undefined) return reading(other.ending, "its text is known");
  if (status === 401 || status === 403) return reading("auth", "its status");
  if (status === 529) return reading("overloaded", "its status");
  if (status === 429) {
    return reading("suspected", "it is a 429 in no known wording");
  }
  if (status !== null && status >= 500) return reading("failed", "its status");
  if (!failed) return null;
  return isRefusal(text)
    ? reading("suspected", "it is a refusal in no known wording")
    : null;
}

function isShort(text: string): boolean {
  return text.length <= MAX_UNKNOWN &&
    text.split("\n").length <= MAX_UNKNOWN_LINES;
}

function isRefusal(text: string): boolean {
  return isShort(text) && FINITE.test(text) && USED_UP.test(text) &&
    !NO_REFUSAL.test(text);
}

function reading(ending: Reading["ending"], rule: string): Reading {
  return { ending, rule, window: null, time: null };
}

/**
 * The grammar of a limit message: prefixes, a head, then nothing but resets,
 * hints and further heads. Anything else makes it an answer about limits.
 */
function readLimit(text: string, failed: boolean): Reading | null {
  const first = headAt(text, afterPrefixes(text, failed));
  if (first === null) return null;
  let { window } = first;
  let shown: ResetClause | null = null;
  let position = first.end;
  while (true) {
    const gap = matchAt(GAP, text, position) ?? "";
    const start = position + gap.length;
    if (start === text.length) break;
    const bar = gap.indexOf("|");
    const clause = resetAt(text, bar < 0 ? start : position + bar);
    // Mere white space or a comma goes on with the sentence.
    const apart = /[^\s,]|\n/.test(gap);
    const head = clause === null && apart ? headAt(text, start) : null;
    const end = clause?.end ?? head?.end ??
      (apart ? endOfHint(text, start) : null);
    if (end === null) return null;
    window ??= head?.window ?? null;
    if (clause?.time && (shown === null || clause.exact && !shown.exact)) {
      shown = clause;
    }
    position = end;
  }
  if (shown === null) {
    if (first.wording.weak && !failed) return null;
    if (!whole(PLAIN_WHICH).test(first.which)) return null;
  }
  const rule = "its whole text is a known limit";
  return { ending: "limit", rule, window, time: shown?.time ?? null };
}

/** Where the message begins after everything that programs put before it. */
function afterPrefixes(text: string, failed: boolean): number {
  let position = 0;
  for (let rounds = 0; rounds < 8; rounds++) {
    const space = matchAt(/[\s·∙•]*/y, text, position) ?? "";
    let next = position + space.length;
    const known = PREFIXES.find((prefix) =>
      matchAt(sticky(prefix.says), text, next) !== null
    );
    const stamp = matchAt(
      /\[[\w:.,+/ -]{1,60}\]\s|\d{4}-\d\d-\d\d[T ][\d:.,]{5,15}Z?\s|(?:error|err|fatal|warn(?:ing)?)\s(?=you|claude|\d|limit)/iy,
      text,
      next,
    );
    if (known !== undefined) {
      next += (matchAt(sticky(known.says), text, next) ?? "").length;
    } else if (stamp !== null) next += stamp.length;
    else if (failed && headAt(text, next) === null) {
      next += (matchAt(FOREIGN_PREFIX, text, next) ?? "").length;
    }
    if (next === position) break;
    position = next;
  }
  return position;
}

interface Head {
  wording: LimitWording;
  /** The words before "limit", each with the white space after it. */
  which: string;
  window: string | null;
  end: number;
}

function headAt(text: string, position: number): Head | null {
  for (const wording of LIMIT_WORDINGS) {
    const pattern = sticky(wording.says);
    pattern.lastIndex = position;
    const match = pattern.exec(text);
    if (match === null) continue;
    const which = match.groups?.which ?? match.groups?.plan ?? "";
    if (OTHER_LIMITS.test(which)) continue;
    const window = wording.window ?? windowOf(which);
    return { wording, which, window, end: position + match[0].length };
  }
  return null;
}

interface ResetClause {
  /** Null where words such as "soon" stand instead. */
  time: ShownTime | null;
  /** False for a time that is not the reset's own, as of an automatic retry. */
  exact: boolean;
  end: number;
}

/** The reset that is named at `position`; null if there is none or it is impossible. */
function resetAt(text: string, position: number): ResetClause | null {
  const verb = text[position] === "|"
    ? ""
    : matchAt(RESET_VERB, text, position);
  if (verb === null) return null;
  const at = position + verb.length;
  const read = readShownTime(text, at);
  const exact = verb === "" || /reset|regain/i.test(verb);
  if (read !== null) return { time: read.time, exact, end: read.end };
  const vague = matchAt(VAGUE_TIME, text, at);
  return vague === null || verb === ""
    ? null
    : { time: null, exact, end: at + vague.length };
}

/** Where the hint at `position` ends; null if what stands there is none. */
function endOfHint(text: string, position: number): number | null {
  const rest = text.slice(position);
  const length = /\n| [·∙•|] |[.!](?=\s)/.exec(rest)?.index ?? rest.length;
  const hint = rest.slice(0, length);
  if (hint.length > MAX_HINT || !HINT.test(hint) || NO_HINT.test(hint)) {
    return null;
  }
  // A hint that a narrow terminal wrapped goes on in small letters.
  const wrapped = /^\n[a-z][^"`{}<>;\n]{0,80}/.exec(rest.slice(length));
  return position + length + (wrapped?.[0].length ?? 0);
}

function windowOf(which: string): string | null {
  return WINDOW_WORDS.find((word) => word.says.test(which))?.window ?? null;
}

const patterns = new Map<string, RegExp>();

/** Compiles a wording once, when it is first needed. */
function compiled(key: string, source: string, flags: string): RegExp {
  let pattern = patterns.get(key);
  if (pattern === undefined) {
    const filled = source.replace(
      /\{([a-z]+)\}/g,
      (_, name: string) => WORD_LISTS[name] ?? "",
    );
    pattern = new RegExp(spaced(filled), flags);
    patterns.set(key, pattern);
  }
  return pattern;
}

function spaced(source: string): string {
  return source.replaceAll(" ", "\\s");
}

function sticky(says: string): RegExp {
  return compiled(`start ${says}`, `(?:${says})(?!\\w)`, "iy");
}

function anywhere(says: string): RegExp {
  return compiled(`any ${says}`, says, "i");
}

function whole(says: string): RegExp {
  return compiled(`whole ${says}`, `^(?:${says})[.!]?$`, "i");
}

function matchAt(
  pattern: RegExp,
  text: string,
  position: number,
): string | null {
  pattern.lastIndex = position;
  return pattern.exec(text)?.[0] ?? null;
}
