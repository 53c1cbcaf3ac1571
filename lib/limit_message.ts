import { matchAt, startsWith, whole } from "./pattern.ts";
import { findShownTime, readShownTime, type ShownTime } from "./shown_time.ts";
import {
  FOREIGN_PREFIX,
  HINT,
  HINT_START,
  LIMIT_SUBJECT,
  LIMIT_WORDINGS,
  type LimitWording,
  NO_HINT,
  ONE_MODEL,
  OTHER_LIMITS,
  PLAIN_WHICH,
  PREFIXES,
  VAGUE_TIME,
  WINDOW_WORDS,
} from "./wording.ts";

/** Longest hint, in characters. */
const MAX_HINT = 220;

/** What may stand between the parts of a message. */
const GAP = /[\s·∙•⋅‧|–—.!,;:()-]*/y;
/** What comes before a reset's time. */
const RESET_VERB =
  /(?:(?:daily|weekly|monthly)\s?;\s)?(?:(?:you|your|the|it|this|limits?|session|opus|sonnet|fable|\d+-hour|weekly|monthly|daily|usage|plan|account|will|can|may|please|and|or)\s)*(?:resets?|resetting|renews?|refresh(?:es)?|refills?|resumes?|regain\saccess|try\sagain|retry(?:ing)?|continu(?:e|es|ing)(?:\sautomatically)?|available(?:\sagain)?)[\s:]+(?:(?:at|on|in|after|by|about|around)\s)*/iy;
/** What a limit message names. */
export interface LimitMessage {
  /** By its words; null if they name none. */
  window: string | null;
  /** Of the model family that a hint names as the only one refused; else null. */
  modelWindow: string | null;
  /** The reset, null if it names none. */
  time: ShownTime | null;
}

/**
 * Reads a plain text as a limit message: prefixes, a head, then nothing but
 * resets, hints and further heads. Anything else makes it an answer about
 * limits, and the result null. `failed`: the call is known to have failed, so
 * that prefixes and heads count that an answer might consist of.
 */
export function readLimitMessage(
  text: string,
  failed: boolean,
): LimitMessage | null {
  if (!LIMIT_SUBJECT.test(text)) return null;
  const first = headAt(text, afterPrefixes(text, failed));
  if (first === null) return null;
  let { window } = first;
  let shown: ResetClause | null = null;
  let position = first.end;
  while (true) {
    const gap = matchAt(GAP, text, position) ?? "";
    const start = position + gap.length;
    if (start === text.length) break;
    const bar = /\d/.test(text.charAt(start)) ? gap.lastIndexOf("|") : -1;
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
    const { needs } = first.wording;
    if (needs === "a reset" || needs !== undefined && !failed) return null;
    if (!whole(PLAIN_WHICH).test(first.which)) return null;
  }
  const rest = text.slice(first.end);
  const model = ONE_MODEL.exec(rest);
  return {
    window,
    modelWindow: model === null ? null : windowOf(model[0]),
    time: shown?.time ?? findShownTime(rest),
  };
}

/** Where the message begins after everything that programs put before it. */
function afterPrefixes(text: string, failed: boolean): number {
  let position = 0;
  for (let rounds = 0; rounds < 8; rounds++) {
    const space = matchAt(/[\s·∙•]*/y, text, position) ?? "";
    let next = position + space.length;
    const known = PREFIXES.find((prefix) =>
      matchAt(startsWith(prefix.says), text, next) !== null
    );
    const stamp = matchAt(
      /\[[\w:.,+/ -]{1,60}\]\s|\d{4}-\d\d-\d\d[T ][\d:.,]{5,15}Z?\s|(?:error|fatal)\s(?=you|claude\b)/iy,
      text,
      next,
    );
    if (known !== undefined) {
      next += (matchAt(startsWith(known.says), text, next) ?? "").length;
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
    const pattern = startsWith(wording.says);
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
  let length = hintLength(rest, 0);
  // A narrow terminal may have wrapped it before the words that count.
  for (let lines = 1; lines < 3 && !HINT.test(rest.slice(0, length)); lines++) {
    if (rest[length] !== "\n") break;
    length = hintLength(rest, length + 1);
  }
  const hint = rest.slice(0, length);
  if (
    hint.length > MAX_HINT || !HINT_START.test(hint) || !HINT.test(hint) ||
    NO_HINT.test(hint)
  ) {
    return null;
  }
  // A hint that a narrow terminal wrapped goes on in small letters.
  const wrapped = /\w$/.test(hint) && !/\/\S+$/.test(hint)
    ? /^\n[a-z][^"`{}<>;:(\n]{0,80}/.exec(rest.slice(length))
    : null;
  return position + length + (wrapped?.[0].length ?? 0);
}

function hintLength(text: string, from: number): number {
  const end = /\n| [·∙•|] |[.!](?=\s)/.exec(text.slice(from));
  return end === null ? text.length : from + end.index;
}

function windowOf(which: string): string | null {
  return WINDOW_WORDS.find((word) => word.says.test(which))?.window ?? null;
}
