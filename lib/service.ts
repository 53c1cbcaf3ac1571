// What `launchctl print` says of a service. The text is no interface: its shape
// was taken from outputs of macOS 10.14 to 27. Pure.

/** A job as launchd holds it. */
export interface ServiceStatus {
  /** Whether launchd knows the job; `unknown`: it could not be asked. */
  found: "yes" | "no" | "unknown";
  /** `running`, `not running`, `spawn scheduled`, ...; null if not said. */
  state: string | null;
  /** The process, while there is one. */
  pid: number | null;
  /** Starts since the job was loaded, whatever their cause. */
  runs: number | null;
  /** Exit code of the run that ended last, also while the next one runs. */
  lastExit: number | null;
  /** Signal that ended the last run, instead of an exit code. */
  lastSignal: number | null;
  /** launchd's reason for ending the last run, as `OS_REASON_CODESIGNING`. */
  lastReason: string | null;
  /** No run has ended since the job was loaded. */
  neverExited: boolean;
  /** The plist in force; it may have changed on disk since. */
  path: string | null;
  /** The calendar in force, one dictionary an entry; empty if there is none. */
  calendar: Record<string, number>[];
  /** Why the job could not be looked at or is not known, and the remedy; else null. */
  problem: string | null;
}

/** A status without anything known. */
export function unknownService(
  problem: string,
  found: "no" | "unknown" = "unknown",
): ServiceStatus {
  return {
    found,
    state: null,
    pid: null,
    runs: null,
    lastExit: null,
    lastSignal: null,
    lastReason: null,
    neverExited: false,
    path: null,
    calendar: [],
    problem,
  };
}

/**
 * Reads the output of `launchctl print gui/UID/LABEL`.
 *
 * Only fields one level in count: nested blocks repeat `state` and `pid`, and the
 * job's arguments and environment are shown raw, whatever they contain.
 */
export function parsePrint(text: string): ServiceStatus {
  const fields = topFields(text.split("\n"));
  if (fields === null) {
    return unknownService(
      "launchctl print answered in a form that is not known",
    );
  }
  const { first, last, triggers } = fields;
  const number = (pattern: RegExp, key: string): number | null => {
    const digits = pattern.exec(last.get(key) ?? "")?.[1];
    return digits === undefined ? null : Number(digits);
  };
  return {
    found: "yes",
    state: first.get("state") ?? null,
    pid: number(/^(\d+)$/, "pid"),
    runs: number(/^(\d+)$/, "runs"),
    lastExit: number(/^(-?\d+)(?:: \w+)?$/, "last exit code"),
    lastSignal: number(/: (\d+)$/, "last terminating signal"),
    lastReason: /^\S+/.exec(last.get("last exit reason") ?? "")?.[0] ?? null,
    neverExited: last.get("last exit code") === "(never exited)",
    path: first.get("path") ?? null,
    calendar: calendarInForce(triggers),
    problem: null,
  };
}

interface TopFields {
  /** The first field of each name. */
  first: Map<string, string>;
  /** The last field of each name, those in doubt left out. */
  last: Map<string, string>;
  /** The lines of the block `event triggers`. */
  triggers: string[];
}

/**
 * Picks the lines one level in. An argument or a variable with newlines in it goes
 * on at the left margin and may look like a field or like the end of its block. All
 * of these stand between the first block and the last `domain`, so what is found
 * there is in doubt; a text without `domain`, cut short, is taken as it comes.
 */
function topFields(lines: string[]): TopFields | null {
  const header = lines.findIndex((line) => /^\S.* = \{$/.test(line));
  if (header < 0) return null;
  // A tab; old systems and copies of the text have four or eight spaces.
  const indent = /^\s+/.exec(lines[header + 1] ?? "")?.[0] ?? "\t";
  const first = new Map<string, string>();
  let certain: Map<string, string> | null = null;
  let last = new Map<string, string>();
  let triggers: string[] = [];
  let block: string | null = null;
  for (const line of lines.slice(header + 1)) {
    if (!line.startsWith(indent)) continue;
    const inner = line.slice(indent.length);
    if (block !== null) {
      if (block === "event triggers") triggers.push(inner.trim());
      if (inner === "}") block = null;
      continue;
    }
    const [, key, value] = /^(\S.*?) = (.*)$/.exec(inner) ?? [];
    if (key === undefined || value === undefined) continue;
    if (value === "{") {
      block = key;
      certain ??= new Map(last);
    } else {
      if (key === "domain") {
        last = new Map(certain ?? last);
        triggers = [];
      }
      if (!first.has(key)) first.set(key, value);
      last.set(key, value);
    }
  }
  return { first, last, triggers };
}

/** The descriptors that launchd holds for a calendar; other triggers are left out. */
function calendarInForce(lines: string[]): Record<string, number>[] {
  const calendars = new Set<Record<string, number>>();
  let descriptor: Record<string, number> = {};
  for (const line of lines) {
    const [, key, value] = /^"(\w+)" => (-?\d+)$/.exec(line) ?? [];
    if (line.endsWith(" => {")) descriptor = {};
    else if (line === "stream = com.apple.launchd.calendarinterval") {
      calendars.add(descriptor);
    } else if (key !== undefined) descriptor[key] = Number(value);
  }
  return [...calendars];
}

/**
 * Reads the output of `launchctl print-disabled gui/UID`: for each label that has
 * been switched by hand, whether it is disabled. It goes before the plist's key
 * `Disabled`. Up to macOS 12 the words are `true` and `false`.
 */
export function parsePrintDisabled(text: string): Map<string, boolean> {
  const switched = text.matchAll(
    /^\s*"(.+)" => (disabled|true|enabled|false)\s*$/gm,
  );
  return new Map(
    [...switched].map((
      [, label = "", word],
    ) => [label, word === "disabled" || word === "true"]),
  );
}

/** States of a job that has a process, or is about to have one. */
const ALIVE = new Set([
  "running",
  "spawn scheduled",
  "spawning",
  "xpcproxy",
  "SIGTERMed",
  "SIGKILLed",
]);

/** Whether nothing of a job runs and launchd is not about to start it. */
export function isGone(status: ServiceStatus): boolean {
  if (status.found === "unknown") return false;
  return status.pid === null && !ALIVE.has(status.state ?? "");
}

/**
 * Whether a job was started between two looks at it. False can also mean that it
 * could not be seen: an answer of `launchctl kickstart` alone settles nothing.
 */
export function hasStarted(
  before: ServiceStatus,
  after: ServiceStatus,
): boolean {
  if (after.pid !== null && after.pid !== before.pid) return true;
  return before.runs !== null && after.runs !== null &&
    after.runs > before.runs;
}
