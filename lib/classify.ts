import {
  type LastRow,
  type LimitInfo,
  readStructured,
  type StructuredOutput,
} from "./claude_output.ts";
import {
  asMessage,
  type Message,
  type Reading,
  readMessage,
} from "./message.ts";
import type { Ending, EndingName, Scope } from "./ending.ts";
import { plainText, stripEscapes } from "./plain_text.ts";
import type { LimitMessage } from "./limit_message.ts";
import { placeShownTime } from "./reset_time.ts";

/** How much of each output is looked at, in bytes. */
const TAIL_BYTES = 65_536;

/** More than that is an answer, whatever one of its lines says. */
const MOST_LINES = 5;
const MOST_CHARACTERS = 8_000;
const MAX_TEXT = 200;
const MAX_EVIDENCE = 300;

/** 128 + SIGHUP, SIGINT, SIGKILL and SIGTERM, and what timeout(1) returns. */
const KILLED = new Set([124, 129, 130, 137, 143]);

/** What one call of `claude` left behind. */
export interface CallOutput {
  /** The last 64 KiB of standard output. */
  stdout: Uint8Array;
  /** The last 64 KiB of standard error. */
  stderr: Uint8Array;
  /** Exit code as a shell gives it: 128 + n for a signal. */
  exit: number;
  /** Epoch seconds. */
  startedAt: number;
  /** When the output was complete, epoch seconds; "in 2 hours" counts from here. Default: `startedAt`. */
  endedAt?: number;
  /** Zone of the called process. */
  timeZone: string;
}

/**
 * Tells how a call ended. Structured output (a result object, a list, or a
 * stream) speaks by its fields, the last result first; text only as a whole
 * short message, never by a sentence inside a longer answer. The exit code
 * alone decides nothing: up to 2.1.61 a budget stop returns 0, and an
 * interrupted run (SIGINT) prints nothing and returns 0 too.
 */
export function classify(output: CallOutput): Ending {
  const stdout = decode(output.stdout);
  const stderr = decode(output.stderr);
  const cut = output.stdout.length >= TAIL_BYTES;
  const structured = readStructured(stdout, cut);
  if (structured !== null) return ofStructured(structured, stderr, output);
  return ofText(stdout, stderr, output);
}

function decode(bytes: Uint8Array): string {
  return stripEscapes(
    new TextDecoder().decode(bytes.subarray(-TAIL_BYTES)),
  );
}

function ofStructured(
  { last, info }: StructuredOutput,
  stderr: string,
  output: CallOutput,
): Ending {
  if (last !== null) {
    return { ...ofLastRow(last, info, output), cost_usd: last.costUsd };
  }
  const { exit } = output;
  if (KILLED.has(exit)) return ended("killed", `exit ${exit}, no result`);
  if (refuses(info)) {
    return limit(`${REJECTED}, no result`, "", null, info, output);
  }
  if (exit === 0) return ended("killed", "exit 0, but no result");
  return ofMessage(asMessage(stderr), "stderr", output) ??
    ended("failed", `exit ${exit}, no result`);
}

const REJECTED = "a rejected rate_limit_event with a reset";

function ofLastRow(
  last: LastRow,
  info: LimitInfo | null,
  output: CallOutput,
): Ending {
  const raw = last.text || last.errors.join(" ");
  const message = asMessage(raw);
  const reading = message === null ? null : readMessage(message, true);
  const words = reading?.limit ?? null;
  const text = message?.text ?? raw;
  const row = last.isResult ? "result" : "error message";
  const stop = stopOf(last);
  if (stop !== null) {
    return ended(stop, `${row}: ${last.subtype || last.terminalReason}`, text);
  }
  if (isGood(last, reading, output.exit)) {
    return ended("ok", `${row}: is_error ${last.isError}`);
  }
  if (last.subtype.startsWith("error_")) {
    return ofFailedRun(last, reading, text, output);
  }
  if (last.kinds.includes("usage_limit_reached")) {
    return limit(`${row}: usage_limit_reached`, text, words, info, output);
  }
  if (last.kinds.includes("model_requires_usage_credits")) {
    const fable = { window: null, time: null, ...words, modelWindow: FABLE };
    return limit(
      `${row}: model_requires_usage_credits`,
      text,
      fable,
      info,
      output,
    );
  }
  if (reading?.ending === "limit") {
    return limit(`${row}: ${reading.rule}`, text, words, info, output);
  }
  if (last.kinds.includes("billing_error")) {
    return limit(`${row}: billing_error`, text, BILLING, info, output);
  }
  const status = last.status ?? message?.status ?? null;
  const unknown = reading === null || reading.ending === "suspected";
  if (unknown && (status === 429 || status === null) && refuses(info)) {
    return limit(REJECTED, text, null, info, output);
  }
  const [ending, rule] = byStatus(status, reading);
  return ended(ending, `${row}: ${rule}`, text);
}

/**
 * A run that broke off. The model's own words may stand in `result` then, so
 * that only `errors` and the form with an epoch count (0.2 to 1.0).
 */
function ofFailedRun(
  last: LastRow,
  reading: Reading | null,
  text: string,
  output: CallOutput,
): Ending {
  const readings = last.errors.map((error) => {
    const message = asMessage(error);
    return message === null ? null : readMessage(message, true);
  });
  if (reading?.limit?.time?.form === "epoch") readings.push(reading);
  const found = readings.find((reading) => reading?.limit);
  if (found) {
    return limit(`errors: ${found.rule}`, text, found.limit, null, output);
  }
  const aborted = KILLED.has(output.exit) ||
    last.terminalReason.startsWith("aborted");
  const rule = `result: ${last.subtype} ${last.terminalReason}`.trim();
  return ended(aborted ? "killed" : "failed", rule, text);
}

const FABLE = "seven_day_overage_included";

const BILLING: LimitMessage = {
  window: "credit",
  modelWindow: null,
  time: null,
};

/** Only `status` describes the request, and a plain throttle is `rejected` too, without a reset. */
function refuses(info: LimitInfo | null): boolean {
  return info !== null && info.rejected && !info.usingOverage &&
    info.resetsAt !== null && info.resetsAt > 0;
}

function stopOf(last: LastRow): "budget" | "turns" | null {
  const says = last.subtype.startsWith("error_")
    ? last.subtype
    : last.terminalReason;
  if (/^(?:error_max_budget_usd|budget_exhausted)$/.test(says)) return "budget";
  return /^(?:error_max_turns|max_turns)$/.test(says) ? "turns" : null;
}

/**
 * `is_error: false` is good, whatever the text quotes; but not if the row names
 * an error status and its text is nothing but a refusal.
 */
function isGood(
  last: LastRow,
  reading: Reading | null,
  exit: number,
): boolean {
  if (last.subtype.startsWith("error_")) return false;
  const status = last.status ?? 0;
  if (last.isError === false) return status < 400 || reading === null;
  return last.isError === null && status < 400 && exit === 0 &&
    reading === null;
}

function byStatus(
  status: number | null,
  reading: Reading | null,
): [EndingName, string] {
  const rule = `status ${status}`;
  if (reading?.ending === "throttle") return ["throttle", reading.rule];
  if (status === 401 || status === 403) return ["auth", rule];
  if (status === 529) return ["overloaded", rule];
  if (status !== null && status >= 500) return ["failed", rule];
  if (status === 429) return ["suspected", `${rule} in no known wording`];
  return reading === null
    ? ["failed", "is_error true"]
    : [reading.ending, reading.rule];
}

/** All that 2.1.332 prints for SIGINT in mid-request, without a newline, and returns 0. */
const INTERRUPTED = "Execution error";

function ofText(stdout: string, stderr: string, output: CallOutput): Ending {
  const { exit } = output;
  if (exit === 0 && stdout === INTERRUPTED) {
    return ended("killed", "exit 0, interrupted", stdout);
  }
  const printed = stdout.trim() !== "";
  const fromStdout = ofMessage(asMessage(stdout), "stdout", output);
  if (fromStdout !== null && fromStdout.ending !== "failed") return fromStdout;
  if (exit === 0 && stdout !== "") return ended("ok", "exit 0 with an answer");
  const fromStderr = ofMessage(asMessage(stderr), "stderr", output);
  if (fromStderr !== null && fromStderr.ending !== "failed") return fromStderr;
  if (exit === 0) return ended("killed", "exit 0, but nothing was printed");
  if (KILLED.has(exit)) return ended("killed", `exit ${exit}, no result`);
  return fromStdout ?? fromStderr ?? amongLines(stdout, output) ??
    amongLines(stderr, output) ??
    ended("failed", `exit ${exit}`, printed ? stdout : stderr);
}

/** A limit among a few lines of other programs: likely, but not certain. */
function amongLines(text: string, output: CallOutput): Ending | null {
  const lines = text.trim().split("\n");
  if (lines.length > MOST_LINES || text.length > MOST_CHARACTERS) return null;
  for (const line of lines) {
    const row = readStructured(line, false);
    const found = row === null
      ? ofMessage(asMessage(line), "a line", output)
      : ofStructured(row, "", output);
    if (found?.ending === "limit") {
      return ended("suspected", "a line of it is a known limit", found.text);
    }
  }
  return null;
}

/** The ending that a short message tells; null if it tells none. */
function ofMessage(
  message: Message | null,
  where: string,
  output: CallOutput,
): Ending | null {
  if (message === null) return null;
  const reading = readMessage(message, output.exit !== 0);
  if (reading === null) return null;
  if (reading.ending === "suspected" && KILLED.has(output.exit)) return null;
  const rule = `${where}: ${reading.rule}`;
  return reading.limit !== null
    ? limit(rule, message.text, reading.limit, null, output)
    : ended(reading.ending, rule, message.text);
}

function limit(
  rule: string,
  text: string,
  words: LimitMessage | null,
  info: LimitInfo | null,
  output: CallOutput,
): Ending {
  const refusal = info?.rejected ? info : null;
  const window = refusal?.type ?? words?.window ?? null;
  const epoch = refusal?.resetsAt ?? 0;
  const context = {
    after: output.startedAt,
    timeZone: output.timeZone,
    window: words?.window ?? window,
    printedAt: output.endedAt ?? output.startedAt,
  };
  const time = words?.time ?? null;
  const fromEpoch = epoch >= output.startedAt ? epoch : null;
  const fromText = time === null ? null : placeShownTime(time, context);
  return ended("limit", rule, text, {
    scope: familyOf(refusal?.type) ?? familyOf(words?.window) ??
      familyOf(words?.modelWindow) ?? "account",
    window,
    reset_at: fromEpoch ?? fromText,
    shown: fromEpoch === null && fromText !== null && time?.form !== "epoch",
  });
}

/** The model family that a window's name says it is for. */
function familyOf(window: string | null | undefined): Scope | null {
  if (window === FABLE) return "fable";
  const families = ["opus", "sonnet", "fable"] as const;
  return families.find((family) => window?.includes(family)) ?? null;
}

function ended(
  ending: EndingName,
  rule: string,
  text = "",
  more: Partial<Ending> = {},
): Ending {
  const line = plainText(text.slice(0, 4 * MAX_EVIDENCE)).replace(/\s+/g, " ");
  return {
    ending,
    scope: "account",
    window: null,
    reset_at: null,
    evidence: (line === "" ? rule : `${rule}: ${line}`).slice(0, MAX_EVIDENCE),
    shown: false,
    text: line.slice(0, MAX_TEXT).trimEnd(),
    cost_usd: null,
    ...more,
  };
}
