import { isFields, numberOr } from "./lenient.ts";
import { type LimitMessage, readLimitMessage } from "./limit_message.ts";
import { anywhere, whole } from "./pattern.ts";
import { plainText } from "./plain_text.ts";
import {
  FINITE,
  NO_REFUSAL,
  OTHER_WORDINGS,
  POLICY_STOPS,
  UNMISTAKABLE,
  USED_UP,
} from "./wording.ts";

/** Longest message that is looked at, and longest refusal in an unknown wording, in characters and lines. */
const MAX_MESSAGE = 700;
const MAX_LINES = 60;
const MAX_UNKNOWN = 300;
const MAX_UNKNOWN_LINES = 6;

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
  /** What it says; `failed` is any known failure that is none of the others. */
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
  /** Of a limit, if the message names it. */
  limit: LimitMessage | null;
}

/**
 * Makes a message of a raw text: an API error's JSON body is replaced by the
 * sentence in it. Null if it is empty, or too long to be one.
 */
export function asMessage(raw: string): Message | null {
  // Escapes and frames take room; a text beyond this is long whatever they take.
  if (raw.length > 8 * MAX_MESSAGE) return null;
  if (raw.trim().split("\n").length > MAX_LINES) return null;
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
function apiError(
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
  const limit = readLimitMessage(text, failed);
  if (limit !== null) {
    return { ending: "limit", rule: "its whole text is a known limit", limit };
  }
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
  return { ending, rule, limit: null };
}
