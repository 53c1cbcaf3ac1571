// The lines that the guard prints on stderr, so that they land in the job's
// log. Their forms are those of the Python original, and its users' scripts
// read them: new keys go before `ts=`, none is renamed.

import { isVisibleAscii } from "./ascii.ts";

/** In characters. */
const LONGEST_REASON = 80;

/** What the newest marker of a job says. */
export interface JobMarker {
  /** Owed, or done with. */
  kind: "SKIPPED" | "RAN";
  /** Epoch seconds. */
  ts: number;
  /** Why it was skipped; null if it ran. */
  reason: string | null;
  /** Null if it was not started. */
  exit: number | null;
  /** The worst ending of its calls, if the marker names one. */
  end: string | null;
}

/** Why a job is skipped or a call refused, and for how long. */
export interface Refusal {
  /** One word. */
  reason: string;
  /** Whole seconds. */
  remaining: number;
}

/** Says what is wrong with a job label, or null: a marker is split at blanks. */
export function labelProblem(label: string): string | null {
  if (label === "") return "a label must not be empty";
  if (isVisibleAscii(label, false)) return null;
  // deno-lint-ignore no-control-regex -- control characters are what is refused
  if (/[\s\u0000-\u001f\u007f-\u009f]/.test(label)) {
    return `label ${
      JSON.stringify(label)
    } contains white space or control characters`;
  }
  return null;
}

/** Makes a reason one word that fits a marker: 80 characters, no blanks. */
export function reasonWord(reason: string, fallback = "manual"): string {
  if (reason === "") return fallback;
  if (reason.length <= LONGEST_REASON && isVisibleAscii(reason, false)) {
    return reason;
  }
  // deno-lint-ignore no-control-regex -- control characters are what is replaced
  const word = reason.trim().replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, "_");
  return [...word].slice(0, LONGEST_REASON).join("") || fallback;
}

/** The job was not started: the circuit is open. */
export function skippedMarker(job: string, r: Refusal, ts: number): string {
  return `CLAUDE_QUOTA_JOB_SKIPPED job=${job} reason=${r.reason} remaining=${r.remaining}s ts=${
    Math.floor(ts)
  }`;
}

/** The job ran, met the limit before it got anything done, and is owed. */
export function refusedMarker(
  job: string,
  reason: string,
  exit: number,
  ts: number,
): string {
  return `CLAUDE_QUOTA_JOB_SKIPPED job=${job} reason=${reason} exit=${exit} ts=${
    Math.floor(ts)
  }`;
}

/** The job starts although the circuit is open: it holds the probe. */
export function priorityProbeMarker(
  job: string,
  r: Refusal,
  ts: number,
): string {
  return `CLAUDE_QUOTA_JOB_PRIORITY_PROBE job=${job} reason=${r.reason} remaining=${r.remaining}s ts=${
    Math.floor(ts)
  }`;
}

/** The job ran; `end` is the worst ending of its calls, null if all went well. */
export function ranMarker(
  job: string,
  exit: number,
  end: string | null,
  ts: number,
): string {
  return `CLAUDE_QUOTA_JOB_RAN job=${job} exit=${exit}${
    end === null ? "" : ` end=${end}`
  } ts=${Math.floor(ts)}`;
}

/** A call was refused. */
export function circuitOpenMarker(r: Refusal): string {
  return `CLAUDE_QUOTA_CIRCUIT_OPEN reason=${r.reason} remaining=${r.remaining}s`;
}

/** A call goes through an open circuit: its run holds the probe. */
export function probePassMarker(r: Refusal): string {
  return `CLAUDE_QUOTA_PRIORITY_PROBE_PASS reason=${r.reason} remaining=${r.remaining}s`;
}

// Ten digits: a marker that was cut within its time stamp is no marker.
const JOB_MARKER =
  /^CLAUDE_QUOTA_JOB_(SKIPPED|RAN) job=(\S+)((?: [a-z_]+=\S*)*) ts=(\d{10})\r?$/;

/**
 * Reads one line as a SKIPPED or RAN marker of exactly this label. It must be
 * the whole line: job output that quotes a marker is none.
 */
export function parseJobMarker(line: string, label: string): JobMarker | null {
  const match = JOB_MARKER.exec(line);
  if (match === null || match[2] !== label) return null;
  const fields = new Map(
    (match[3] ?? "").trim().split(" ").map((pair) => {
      const at = pair.indexOf("=");
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
  const exit = Number(fields.get("exit") ?? NaN);
  return {
    kind: match[1] === "RAN" ? "RAN" : "SKIPPED",
    ts: Number(match[4]),
    reason: fields.get("reason") ?? null,
    exit: Number.isInteger(exit) ? exit : null,
    end: fields.get("end") ?? null,
  };
}

/**
 * The last SKIPPED or RAN marker of `label` in a log or its end. The last line
 * counts without its newline.
 */
export function latestJobMarker(text: string, label: string): JobMarker | null {
  for (let at = text.length; at >= 0; at--) {
    at = text.lastIndexOf("CLAUDE_QUOTA_JOB_", at);
    if (at < 0) return null;
    if (at > 0 && text[at - 1] !== "\n") continue;
    const end = text.indexOf("\n", at);
    const line = text.slice(at, end < 0 ? text.length : end);
    const marker = parseJobMarker(line, label);
    if (marker !== null) return marker;
  }
  return null;
}
