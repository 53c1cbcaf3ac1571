import { isCall, modelOf } from "./call.ts";
import { type ChildEnd, runInherited, runTeed } from "./child.ts";
import { circuitStatus, scopeLimit } from "./circuit.ts";
import { classify } from "./classify.ts";
import { circuitNow, type Guard, realClaude, refusalOf, say } from "./guard.ts";
import { numberOr } from "./lenient.ts";
import { circuitOpenMarker, probePassMarker } from "./marker.ts";
import { callPath } from "./real_claude.ts";
import { noteCall, recordClaudeResult } from "./record_call.ts";
import { readRun } from "./run_file.ts";
import { ENV } from "./settings.ts";
import { metLimit } from "./tally.ts";

/** Exit code of a call that an open circuit refuses: sysexits' EX_TEMPFAIL, as in the original. */
const EXIT_CIRCUIT_OPEN = 75;
/** A guard within a guard within a guard: something calls itself. */
const DEEPEST_CALL = 10;

/** What a job that is nothing but a run of claude gives it. */
export interface ClaudeOptions {
  /** Added to the environment. */
  env?: Record<string, string>;
  /** Seconds until it is stopped. */
  timeout?: number | undefined;
}

/** An end by the guard itself. */
function endedWith(code: number): ChildEnd {
  return { started: true, code, timedOut: false };
}

/**
 * Runs the real claude. A call is refused while the circuit is open, unless its
 * run holds the probe; how it ends is recorded. Everything else passes through.
 *
 * @returns claude's own exit code, or 75 for a refusal
 */
export async function runClaude(
  guard: Guard,
  args: readonly string[],
  options: ClaudeOptions = {},
): Promise<ChildEnd> {
  const { host, signals } = guard;
  const claude = realClaude(guard);
  if (claude === null) {
    say(
      guard,
      `no claude found on PATH or in its usual places; set ${ENV.realClaude} to its absolute path`,
    );
    return endedWith(127);
  }
  const depth = numberOr(host.env(ENV.depth), 0) + 1;
  if (depth > DEEPEST_CALL) {
    say(
      guard,
      `"${claude}" leads back to the guard; set ${ENV.realClaude} to the real claude`,
    );
    return endedWith(126);
  }
  const { timeout } = options;
  const env = {
    ...options.env,
    PATH: callPath(host.env, claude),
    [ENV.depth]: String(depth),
  };
  const unset = host.env(ENV.watchdog) !== undefined &&
      host.env(ENV.keepWatchdog) !== "1"
    ? [ENV.watchdog]
    : [];
  const onTerminal = Deno.stdout.isTerminal();
  if (!isCall(args, onTerminal)) {
    const end = await runInherited([claude, ...args], signals, {
      env,
      timeout,
    });
    return callEnd(guard, claude, end);
  }
  const model = modelOf(args);
  const admission = await admit(guard, model);
  if (!admission.admitted) return endedWith(EXIT_CIRCUIT_OPEN);
  const startedAt = host.now();
  if (onTerminal) {
    const end = await runInherited([claude, ...args], signals, {
      env,
      unset,
      timeout,
    });
    // What it said is on the terminal; that it answered is all there is to tell.
    if (end.code === 0) {
      noteCall(guard, { met: "ok", owedFrom: null, cost: null });
    }
    return callEnd(guard, claude, end);
  }
  noteCall(guard, "begun");
  const { end, stdout, stderr } = await runTeed(
    [claude, ...args],
    signals,
    { env, unset, timeout },
  );
  if (end.started) {
    const timeZone = host.timeZone();
    const ending = classify({
      stdout,
      stderr,
      exit: end.code,
      startedAt,
      endedAt: host.now(),
      timeZone,
    });
    await recordClaudeResult(guard, {
      ending,
      model,
      passed: admission.passed,
      startedAt,
    });
  } else {
    noteCall(guard, { met: "failed", owedFrom: null, cost: null });
  }
  return callEnd(guard, claude, end);
}

function callEnd(guard: Guard, claude: string, end: ChildEnd): ChildEnd {
  if (end.started) return end;
  say(guard, `cannot start "${claude}": ${end.why}`);
  return endedWith(end.code);
}

/** Whether a call is let through, and by which open circuit; `passed` null for a closed one. */
type Admission = { admitted: false } | {
  admitted: true;
  passed: number | null;
};

async function admit(guard: Guard, model: string): Promise<Admission> {
  const { host, folder } = guard;
  const circuit = await circuitNow(guard);
  const now = host.now();
  const scope = scopeLimit(circuit, model, now);
  if (scope !== null) {
    const remaining = Math.ceil(scope.open_until - now);
    noteRefusal(guard, scope.open_until);
    host.say(circuitOpenMarker({ reason: `quota-${scope.family}`, remaining }));
    return { admitted: false };
  }
  if (!circuitStatus(circuit, now).is_open) {
    return { admitted: true, passed: null };
  }
  const refusal = refusalOf(circuit, now);
  const id = host.env(ENV.run);
  const run = folder !== null && id !== undefined ? readRun(folder, id) : null;
  const holdsProbe = host.env(ENV.probe) === "1" && run !== null && run.probe;
  if (!holdsProbe || metLimit(run)) {
    noteRefusal(guard, null);
    host.say(circuitOpenMarker(refusal));
    return { admitted: false };
  }
  host.say(probePassMarker(refusal));
  return { admitted: true, passed: circuit.opened_at };
}

/** Before the marker: what is said to be refused is owed. */
function noteRefusal(guard: Guard, owedFrom: number | null): void {
  noteCall(guard, { met: "refused", owedFrom, cost: null });
}
