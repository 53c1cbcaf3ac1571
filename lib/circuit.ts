import type { Ending, Scope } from "./ending.ts";

/** Who opened the circuit, and with which sentence. */
export interface Opener {
  /** Label of its job; null for a call outside of jobs. */
  job: string | null;
  /** What claude said; "" if nothing is known. */
  sentence: string;
}

/** A limit of one model family: refuses only calls with the same `--model`. */
export interface ScopeLimit {
  /** Epoch seconds. */
  open_until: number;
  /** Epoch seconds. */
  opened_at: number;
  /** The models that the limit is about. */
  family: Scope;
  /** Null if that is not known. */
  opened_by: Opener | null;
}

/**
 * The circuit as in `state.json`. Times are epoch seconds, 0 for never. It is
 * open while `open_until` lies ahead.
 */
export interface Circuit {
  /** The end; once that has passed the circuit is closed. */
  open_until: number;
  /** Names the episode: a report counts as news only if it was let through by this very one. */
  opened_at: number;
  /** When a probe or a hand closed it before its end. */
  closed_at: number;
  /** End of a hold by hand; until then no probe closes the circuit. */
  hold: number;
  /** `quota`, `suspected` or a word given by hand. */
  reason: string;
  /** Window of the limit, such as `five_hour`. */
  window: string | null;
  /** Null for a hold by hand. */
  opened_by: Opener | null;
  /** When the last probe was claimed. */
  last_priority_probe: number;
  /** By the call's `--model`, `default` without one. */
  scopes: Map<string, ScopeLimit>;
  /** When which job last met a refusal in an unknown wording. */
  suspects: Map<string, number>;
  /** Fields that this version does not know. */
  rest: [string, unknown][];
}

/** The two lengths of time that users may set, in seconds. */
export interface Policy {
  /** Between two probes; 0 or less: never. */
  probeInterval: number;
  /** How long a limit without a reset opens the circuit. */
  cooldown: number;
}

/** What one call reports. */
export interface Report {
  /** How the call ended. */
  ending: Ending;
  /** Label of its job; null for a call outside of jobs. */
  job: string | null;
  /** The call's `--model`, `default` without one. */
  model: string;
  /** `opened_at` of the open circuit that let the call through; null if it was closed. */
  passed: number | null;
}

/** Half an hour, as in the original. */
export const DEFAULT_PROBE_INTERVAL = 1800;
/** Six hours, as in the original. */
export const DEFAULT_COOLDOWN = 6 * 3600;
/** Two jobs must meet an unknown refusal within so many seconds to open the circuit. */
const SUSPECT_SPAN = 900;
/** The calls without a job share one name. */
const NO_JOB = "(no job)";

const FARTHEST_WRITTEN = 32 * 86_400;

/** Is it open, why, and for how many more whole seconds. */
export interface CircuitStatus {
  /** Calls are refused, and jobs skipped. */
  is_open: boolean;
  /** `quota`, `suspected` or a word given by hand; also of one that has run out. */
  reason: string;
  /** Rounded up; 0 while closed. */
  remaining_seconds: number;
}

/** The circuit for the account, as seen at `now`. */
export function circuitStatus(circuit: Circuit, now: number): CircuitStatus {
  const remaining = circuit.open_until - now;
  return {
    is_open: remaining > 0,
    reason: circuit.reason,
    remaining_seconds: Math.max(0, Math.ceil(remaining)),
  };
}

/** The limit that refuses calls with this `--model`, if one is in force. */
export function scopeLimit(
  circuit: Circuit,
  model: string,
  now: number,
): ScopeLimit | null {
  const limit = circuit.scopes.get(model);
  return limit !== undefined && limit.open_until > now ? limit : null;
}

/** When the circuit last closed, by a probe, by hand or by its time; 0 for never. */
export function lastClosed(circuit: Circuit, now: number): number {
  return circuit.open_until <= now
    ? Math.max(circuit.closed_at, circuit.open_until)
    : circuit.closed_at;
}

/**
 * Until when a limit refuses calls, in epoch seconds: its reset and a margin of
 * 60 s for an epoch, 120 s for a shown time, whose seconds the CLI cuts off.
 * Null if that reset is over: then it opens nothing.
 */
export function openUntil(
  ending: Ending,
  now: number,
  policy: Policy,
): number | null {
  const { reset_at: reset } = ending;
  if (reset === null) {
    return now +
      (ending.window === "credit"
        ? probeWait(policy)
        : Math.min(policy.cooldown, FARTHEST_WRITTEN));
  }
  if (reset + (ending.shown ? 60 : 0) <= now) return null;
  return Math.min(reset + (ending.shown ? 120 : 60), now + FARTHEST_WRITTEN);
}

function probeWait(policy: Policy): number {
  return policy.probeInterval > 0
    ? Math.min(policy.probeInterval, FARTHEST_WRITTEN)
    : DEFAULT_PROBE_INTERVAL;
}

/**
 * What a call's ending does to the circuit. The same object comes back if it
 * does nothing. A call that was let through before the circuit opened can
 * extend it, never shorten or close it; one that this episode let through is
 * news: its limit sets the reset, earlier or later, and its `ok` closes.
 */
export function recordEnding(
  circuit: Circuit,
  report: Report,
  now: number,
  policy: Policy,
): Circuit {
  const open = circuit.open_until > now;
  const news = open && report.passed === circuit.opened_at;
  switch (report.ending.ending) {
    case "ok":
      return news ? closedByProbe(circuit, now) : circuit;
    case "limit": {
      const until = openUntil(report.ending, now, policy);
      if (until === null) return circuit;
      return report.ending.scope === "account"
        ? openedByLimit(circuit, report, until, now, news)
        : scopeOpened(circuit, report, until, now);
    }
    case "suspected":
      return open ? circuit : suspectNoted(circuit, report, now, policy);
    default:
      return circuit;
  }
}

function closedByProbe(circuit: Circuit, now: number): Circuit {
  if (circuit.hold > now) {
    return circuit.open_until > circuit.hold
      ? { ...circuit, open_until: circuit.hold, reason: "manual" }
      : circuit;
  }
  return closedAt(circuit, now);
}

function closedAt(circuit: Circuit, now: number): Circuit {
  return {
    ...circuit,
    open_until: 0,
    closed_at: now,
    hold: 0,
    window: null,
    opened_by: null,
    suspects: new Map(),
  };
}

function openedByLimit(
  circuit: Circuit,
  report: Report,
  until: number,
  now: number,
  news: boolean,
): Circuit {
  const open = circuit.open_until > now;
  if (open && !news && until <= circuit.open_until) return circuit;
  return {
    ...circuit,
    open_until: Math.max(until, circuit.hold > now ? circuit.hold : 0),
    opened_at: open ? circuit.opened_at : now,
    hold: circuit.hold > now ? circuit.hold : 0,
    reason: "quota",
    window: report.ending.window,
    opened_by: { job: report.job, sentence: report.ending.text },
    suspects: new Map(),
  };
}

function scopeOpened(
  circuit: Circuit,
  report: Report,
  until: number,
  now: number,
): Circuit {
  const before = scopeLimit(circuit, report.model, now);
  if (before !== null && before.open_until >= until) return circuit;
  const scopes = new Map(circuit.scopes);
  scopes.set(report.model, {
    open_until: until,
    opened_at: before?.opened_at ?? now,
    family: report.ending.scope,
    opened_by: { job: report.job, sentence: report.ending.text },
  });
  return { ...circuit, scopes };
}

function suspectNoted(
  circuit: Circuit,
  report: Report,
  now: number,
  policy: Policy,
): Circuit {
  const job = report.job ?? NO_JOB;
  const suspects = new Map(
    [...circuit.suspects].filter(([, at]) => Math.abs(now - at) < SUSPECT_SPAN),
  );
  suspects.set(job, now);
  if (suspects.size < 2) return { ...circuit, suspects };
  return {
    ...circuit,
    open_until: now + probeWait(policy),
    opened_at: now,
    hold: 0,
    reason: "suspected",
    window: null,
    opened_by: { job: report.job, sentence: report.ending.text },
    suspects: new Map(),
  };
}

/**
 * Gives out the one probe of an interval, or null if it is taken. All priority
 * jobs share it: how often the account is asked is what counts, not by whom.
 */
export function claimProbe(
  circuit: Circuit,
  now: number,
  interval: number,
): Circuit | null {
  if (!(interval > 0)) return null;
  const second = Math.floor(now);
  const last = probeTime(circuit, now, interval);
  if (second - last < interval) return null;
  return { ...circuit, last_priority_probe: second };
}

/** When the last probe was claimed; a time more than one interval ahead counts as never. */
export function probeTime(
  circuit: Circuit,
  now: number,
  interval: number,
): number {
  return circuit.last_priority_probe > now + interval
    ? 0
    : circuit.last_priority_probe;
}

/**
 * Opens by hand until `until`: a hold that no probe closes. It takes the place
 * of an earlier hold, and never shortens a limit.
 */
export function openByHand(
  circuit: Circuit,
  until: number,
  reason: string,
  now: number,
): Circuit {
  const open = circuit.open_until > now;
  const limit = open && circuit.open_until > circuit.hold;
  const hold = Math.min(until, now + FARTHEST_WRITTEN);
  const byLimit = limit && circuit.open_until > hold;
  return {
    ...circuit,
    open_until: byLimit ? circuit.open_until : hold,
    opened_at: open ? circuit.opened_at : now,
    hold,
    reason: byLimit ? circuit.reason : reason,
    window: limit ? circuit.window : null,
    opened_by: limit ? circuit.opened_by : null,
  };
}

/** Closes by hand, holds and model limits too. */
export function closeByHand(circuit: Circuit, now: number): Circuit {
  return { ...closedAt(circuit, now), scopes: new Map() };
}
