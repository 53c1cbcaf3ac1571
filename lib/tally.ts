import type { Ending, EndingName } from "./ending.ts";

/**
 * A job's calls, a line each in `runs/<id>`: what is owed goes by what its
 * calls met, never by its exit code.
 */
export interface CallRecord {
  /** How the call ended; `refused` if it was not let through. */
  met: EndingName | "refused";
  /** End of the model's limit that it met, in epoch seconds; null for the account's or none. */
  owedFrom: number | null;
  /** US dollars, if claude said. */
  cost: number | null;
}

/** What `runs/<id>` holds. */
export interface Tally {
  /** The run was let through an open circuit. */
  probe: boolean;
  /** Oldest end first. */
  calls: CallRecord[];
}

/** First line of the file of a run that holds the probe. */
export const PROBE_LINE = "probe\n";

/** The line that a call adds before claude starts, unsigned. */
export const BEGUN_LINE = "begun";

/** From harmless to grave, as `end=` names them. */
const GRAVITY: readonly (EndingName | "refused")[] = [
  "ok",
  "turns",
  "budget",
  "killed",
  "failed",
  "overloaded",
  "throttle",
  "auth",
  "suspected",
  "refused",
  "limit",
];

/** The line that a call adds to its run's file, unsigned. */
export function callLine(record: CallRecord): string {
  return `call ${record.met} ${record.owedFrom ?? "-"} ${record.cost ?? "-"}`;
}

/**
 * A call's line as it goes into the file, with the run that it is of: the file
 * may come to serve another run between the moment that a call opens it and the
 * one that it writes.
 */
export function signedLine(line: string, run: string): string {
  return `${line} ${run}\n`;
}

/** A finished call as a record. */
export function callRecord(
  ending: Ending,
  scopeUntil: number | null,
): CallRecord {
  return {
    met: ending.ending,
    owedFrom: scopeUntil,
    cost: ending.cost_usd,
  };
}

function numberField(text: string | undefined): number | null {
  return text === undefined || text === "-" || !Number.isFinite(Number(text))
    ? null
    : Number(text);
}

/**
 * Reads a run's file; lines that are cut or unknown do not count. A call that
 * began and never told how it ended was killed, and may have had its answer.
 *
 * @param run Its id: what is signed with another one does not count
 */
export function parseTally(text: string, run: string): Tally {
  const calls: CallRecord[] = [];
  let open = 0;
  // A line without a signature is the run's own; so is one that was cut in it.
  const own = (signature = run): boolean => run.startsWith(signature);
  for (const line of text.split("\n")) {
    const [word, met, owedFrom, cost, signature] = line.split(" ");
    if (word === BEGUN_LINE && own(met)) open++;
    const known = GRAVITY.find((name) => name === met);
    if (word !== "call" || known === undefined || cost === undefined) continue;
    if (!own(signature)) continue;
    calls.push({
      met: known,
      owedFrom: numberField(owedFrom),
      cost: numberField(cost),
    });
    if (known !== "refused") open--;
  }
  for (; open > 0; open--) {
    calls.push({ met: "killed", owedFrom: null, cost: null });
  }
  return { probe: text.startsWith(PROBE_LINE), calls };
}

/** True once a call of the run met the account's limit: its probe is used up. */
export function metLimit(tally: Tally): boolean {
  return tally.calls.some((call) =>
    call.met === "limit" && call.owedFrom === null
  );
}

/** The gravest ending among the calls; null without a call. */
export function worstEnding(tally: Tally): EndingName | null {
  const worst = tally.calls.reduce(
    (grave, call) => Math.max(grave, GRAVITY.indexOf(call.met)),
    -1,
  );
  const name = GRAVITY[worst];
  // What refused it was a limit.
  return name === undefined ? null : name === "refused" ? "limit" : name;
}

/** How a run ended, apart from its calls. */
export interface RunEnd {
  /** As a shell gives it. */
  exit: number;
  /** It was let through an open circuit. */
  heldProbe: boolean;
  /** The circuit is open now that it has ended. */
  circuitOpen: boolean;
  /** It has effects before its first call: never owed once started. */
  once: boolean;
  /** It may be started again after it got something done. */
  resumable: boolean;
  /** The command could be started. */
  started: boolean;
}

/** What the final marker says. */
export type Verdict =
  | {
    kind: "SKIPPED";
    reason: "priority-probe-quota" | "quota-during-run";
    owedFrom: number | null;
  }
  | { kind: "RAN"; end: EndingName | null };

/** Is the run owed? By cause: what its calls met and in which order. */
export function verdict(tally: Tally, run: RunEnd): Verdict {
  const worst = worstEnding(tally);
  const ran: Verdict = { kind: "RAN", end: worst === "ok" ? null : worst };
  if (run.once || !run.started) return ran;
  const refused = (call: CallRecord): boolean =>
    call.met === "limit" || call.met === "refused";
  const firstDone = tally.calls.findIndex(gotSomethingDone);
  const lastRefused = tally.calls.findLastIndex(refused);
  const gotNothingDone = lastRefused >= 0 && firstDone < 0;
  const cutOff = firstDone >= 0 && lastRefused > firstDone;
  const probedBlindly = tally.calls.length === 0 && run.heldProbe &&
    run.exit !== 0 && run.circuitOpen;
  if (!gotNothingDone && !probedBlindly && !(cutOff && run.resumable)) {
    return ran;
  }
  return {
    kind: "SKIPPED",
    reason: run.heldProbe ? "priority-probe-quota" : "quota-during-run",
    owedFrom: owedFrom(tally.calls.filter(refused)),
  };
}

/**
 * Claude has answered in a call that was `ok`, but also in one that a budget or
 * a number of turns stopped: what it did may have had effects.
 */
function gotSomethingDone(call: CallRecord): boolean {
  return call.met === "ok" || call.met === "budget" || call.met === "turns";
}

/** A skip by model limits alone is owed once the last of them is over. */
function owedFrom(refused: readonly CallRecord[]): number | null {
  const ends = refused.map((call) => call.owedFrom);
  return ends.length > 0 && ends.every((end) => end !== null)
    ? Math.max(...ends)
    : null;
}
