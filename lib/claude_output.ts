import { type Fields, isFields, numberOr, stringOr } from "./lenient.ts";
import { NOISE } from "./wording.ts";

const ROW_TYPES = new Set([
  "system",
  "assistant",
  "user",
  "result",
  "rate_limit_event",
  "stream_event",
  "control_request",
  "control_response",
  "keep_alive",
  "tool_progress",
  "auth_status",
]);

/** What a `rate_limit_event` and its copies in other rows say; null where not said. */
export interface LimitInfo {
  /** True for the status `rejected`; the others let a request pass. */
  rejected: boolean;
  /** As given, in seconds; may be 0 or long past. */
  resetsAt: number | null;
  /** `five_hour`, `seven_day`, ... */
  type: string | null;
  /** True if the request was served on credits, outside the window. */
  usingOverage: boolean;
}

/** The row that ended the last turn, or the error message that stands for it. */
export interface LastRow {
  /** False if it is the assistant's error message of a run that printed no result. */
  isResult: boolean;
  /** `success`, `error_max_turns`, ...; "" if not said. */
  subtype: string;
  /** `completed`, `api_error`, ...; "" if not said. */
  terminalReason: string;
  /** Null if not said. */
  isError: boolean | null;
  /** HTTP status of the last request if it failed. */
  status: number | null;
  /** Kinds of error that the row and the error message before it name. */
  kinds: string[];
  /** `result`, or else the error message's text. */
  text: string;
  /** `errors` of a run that broke off. */
  errors: string[];
  /** `total_cost_usd`. */
  costUsd: number | null;
}

/** What a structured output says about its end. */
export interface StructuredOutput {
  /** Null if the output ended before any. */
  last: LastRow | null;
  /** What the last request's limit event said, if one came. */
  info: LimitInfo | null;
}

/**
 * Reads an output of `--output-format json` or `stream-json`: one object, a
 * list of them, or one a line. Null if it is anything else, that is text.
 *
 * @param cut True if the front of the output is missing: the first line may
 * then be a part of one, and of a long object its last fields are read
 */
export function readStructured(
  text: string,
  cut: boolean,
): StructuredOutput | null {
  const rows = readRows(text.trim(), cut);
  if (rows === null || !rows.some(isRow)) return null;
  let last: LastRow | null = null;
  let info: LimitInfo | null = null;
  let message: LastRow | null = null;
  let ended = false;
  for (const row of rows) {
    if (ended && beginsTurn(row)) {
      ended = false;
      info = message = null;
    }
    for (const found of limitInfos(row)) info = merged(info, found);
    if (isErrorMessage(row)) message = errorMessageOf(row);
    else if (row.type === "assistant" && isMain(row)) message = null;
    if (isResult(row)) {
      last = resultOf(row, message);
      ended = true;
    }
  }
  return { last: ended ? last : message ?? last, info };
}

/** Some versions print events after a turn's result; these rows belong to the next. */
function beginsTurn(row: Fields): boolean {
  return row.type === "assistant" || row.type === "user" ||
    row.type === "system" && row.subtype === "init";
}

function isRow(row: Fields): boolean {
  return ROW_TYPES.has(stringOr(row.type, "")) || isResult(row) ||
    isErrorMessage(row);
}

function isResult(row: Fields): boolean {
  if (row.type !== undefined) return row.type === "result";
  return "is_error" in row || typeof row.subtype === "string" &&
      /^(?:success$|error_)/.test(row.subtype);
}

/** True for the assistant's message that the CLI makes up of an API error. */
function isErrorMessage(row: Fields): boolean {
  if (row.type !== "assistant" && row.type !== undefined) return false;
  return isMain(row) &&
    (row.isApiErrorMessage === true || row.is_api_error_message === true ||
      row.type === "assistant" && typeof row.error === "string");
}

/** False for the rows of subagents, whose errors are not the run's. */
function isMain(row: Fields): boolean {
  return row.parent_tool_use_id === undefined ||
    row.parent_tool_use_id === null;
}

function statusOf(row: Fields): number | null {
  return numberOr(row.api_error_status ?? row.apiErrorStatus, null);
}

function kindsOf(row: Fields): string[] {
  return [row.api_error, row.error, row.api_error_type].filter((kind) =>
    typeof kind === "string"
  );
}

function errorMessageOf(row: Fields): LastRow {
  const content = isFields(row.message) ? row.message.content : undefined;
  const parts = Array.isArray(content) ? content : [];
  const texts = parts.map((part) =>
    isFields(part) ? stringOr(part.text, "") : ""
  );
  return {
    isResult: false,
    subtype: "",
    terminalReason: "",
    isError: true,
    status: statusOf(row),
    kinds: kindsOf(row),
    text: typeof content === "string" ? content : texts.join("\n").trim(),
    errors: [],
    costUsd: null,
  };
}

function resultOf(row: Fields, message: LastRow | null): LastRow {
  const isError = row.is_error === "true" || row.is_error === "false"
    ? row.is_error === "true"
    : typeof row.is_error === "boolean"
    ? row.is_error
    : null;
  const errors = Array.isArray(row.errors)
    ? row.errors.filter((error) => typeof error === "string")
    : [];
  return {
    isResult: true,
    subtype: stringOr(row.subtype, ""),
    terminalReason: stringOr(row.terminal_reason, ""),
    isError,
    status: statusOf(row) ?? message?.status ?? null,
    kinds: [...kindsOf(row), ...message?.kinds ?? []],
    text: stringOr(row.result, "") || (message?.text ?? ""),
    errors,
    costUsd: numberOr(row.total_cost_usd, null),
  };
}

function limitInfos(row: Fields): LimitInfo[] {
  const params = isFields(row.api_error_params) ? row.api_error_params : {};
  const places = [
    row.type === "rate_limit_event" ? row.rate_limit_info : null,
    isErrorMessage(row) ? params.rate_limit_info : null,
    isErrorMessage(row) ? row.quotaLimits : null,
  ];
  return places.filter(isFields).map((info) => ({
    rejected: info.status === "rejected",
    resetsAt: secondsOf(info.resetsAt ?? info.resets_at) ??
      latestExhausted(info.unifiedWindows),
    type: stringOr(info.rateLimitType ?? info.rate_limit_type, null),
    usingOverage: info.isUsingOverage === true,
  }));
}

/** The account's windows that are used up: the latest reset among them, or null. */
function latestExhausted(windows: unknown): number | null {
  if (!isFields(windows)) return null;
  const resets = [windows.five_hour, windows.seven_day].filter(isFields)
    .filter((window) => (numberOr(window.utilization, 0)) >= 1)
    .map((window) => secondsOf(window.resetsAt ?? window.resets_at) ?? 0);
  return resets.length === 0 ? null : Math.max(...resets);
}

/** Epoch seconds of a number, also in milliseconds, or of an ISO instant; else null. */
function secondsOf(value: unknown): number | null {
  const number = numberOr(value, null);
  if (number !== null) return number > 1e11 ? number / 1000 : number;
  if (typeof value !== "string") return null;
  try {
    return Temporal.Instant.from(value).epochMilliseconds / 1000;
  } catch {
    return null;
  }
}

/** A request's second event adds to its first; one that is not rejected ends the matter. */
function merged(old: LimitInfo | null, found: LimitInfo): LimitInfo {
  if (old === null || !old.rejected || !found.rejected) return found;
  return {
    rejected: true,
    resetsAt: found.resetsAt ?? old.resetsAt,
    type: found.type ?? old.type,
    usingOverage: found.usingOverage,
  };
}

function readRows(text: string, cut: boolean): Fields[] | null {
  const whole = parse(text);
  if (isFields(whole)) return [whole];
  if (Array.isArray(whole)) {
    const rows = whole.filter(isFields);
    return rows.length === whole.length ? rows : null;
  }
  const lines = text.split("\n");
  const rows: Fields[] = [];
  for (const [index, line] of lines.entries()) {
    const trimmed = line.trim();
    if (trimmed === "") continue;
    const row = lines.length > 1 && trimmed.startsWith("{")
      ? parse(trimmed)
      : undefined;
    if (isFields(row) && (typeof row.type === "string" || isResult(row))) {
      rows.push(row);
    } else if (index === 0 && cut) rows.push(...lastFields(trimmed));
    else if (index === lines.length - 1 && trimmed.startsWith("{")) break;
    else if (!NOISE.test(trimmed)) return null;
  }
  return rows;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The last object of a text whose front is missing: a list of one, with those
 * of its fields that are whole, or an empty list. Read from the end, where it
 * is certain that one stands outside of any string.
 */
function lastFields(text: string): Fields[] {
  const end = text.endsWith("}]") ? text.length - 1 : text.length;
  if (text[end - 1] !== "}") return [];
  let depth = 0;
  let inString = false;
  let firstComma = end;
  for (let i = end - 1; i >= 0; i--) {
    const char = text[i];
    if (char === '"') {
      if (!isEscaped(text, i)) inString = !inString;
    } else if (inString) continue;
    else if (char === "}" || char === "]") depth++;
    else if (char === "," && depth === 1) firstComma = i;
    else if (char === "{" || char === "[") {
      depth--;
      if (depth > 0) continue;
      // It stands whole; that is how only the objects of a list may stand here.
      const listed = i === 0 || text[i - 1] === "," || text[i - 1] === "[";
      return listed ? objects(text.slice(i, end)) : [];
    }
  }
  return objects(`{${text.slice(firstComma + 1, end)}`);
}

function objects(text: string): Fields[] {
  const value = parse(text);
  return isFields(value) ? [value] : [];
}

function isEscaped(text: string, quote: number): boolean {
  let start = quote;
  while (text[start - 1] === "\\") start--;
  return (quote - start) % 2 === 1;
}
