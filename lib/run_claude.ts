import { type Books, recordOk } from "./books.ts";
import { isCall, modelOf } from "./call.ts";
import { type ChildEnd, runInherited, runTeed } from "./child.ts";
import {
  type Circuit,
  circuitStatus,
  lastClosed,
  openUntil,
  recordEnding,
  scopeLimit,
} from "./circuit.ts";
import { classify, type Ending, type EndingName } from "./ending.ts";
import {
  circuitNow,
  type Guard,
  lockWait,
  realClaude,
  refusalOf,
  say,
  sayTrouble,
} from "./guard.ts";
import { numberOr } from "./lenient.ts";
import { circuitOpenMarker, probePassMarker } from "./marker.ts";
import { callPath } from "./real_claude.ts";
import { addCall, beginCall, readRun } from "./run_file.ts";
import { ENV } from "./settings.ts";
import { LOCK_WAIT, readBooks, SHORT_LOCK_WAIT, updateState } from "./state.ts";
import { folderTrouble } from "./state_folder.ts";
import { type CallRecord, callRecord, metLimit } from "./tally.ts";

/** Exit code of a call that an open circuit refuses: sysexits' EX_TEMPFAIL, as in the original. */
export const EXIT_CIRCUIT_OPEN = 75;
/** A guard within a guard within a guard: something calls itself. */
const DEEPEST_CALL = 10;
/** The endings that may move the circuit. */
const MOVES: ReadonlySet<EndingName> = new Set(["limit", "suspected", "ok"]);

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

/** Puts a call on its run's tally: that it begins, or how it ended. */
function noteCall(guard: Guard, call: CallRecord | "begun"): void {
  const { folder, host } = guard;
  const id = host.env(ENV.run);
  if (folder === null || id === undefined) return;
  try {
    if (call === "begun") beginCall(folder, id);
    else addCall(folder, id, call);
  } catch (error) {
    const why = folderTrouble(folder, error);
    sayTrouble(guard, `a call is not on its run's tally: ${why}`);
  }
}

/** How one call ended, and what let it through. */
export interface ClaudeResult {
  /** What its output and exit code say. */
  ending: Ending;
  /** Its `--model`, `default` without one. */
  model: string;
  /** `opened_at` of the open circuit that let it through; null if it was closed. */
  passed: number | null;
  /** Epoch seconds. */
  startedAt: number;
}

/**
 * Puts a call's ending on its run's tally, and on the state if it opens, moves
 * or closes the circuit or is the first answer in a while.
 */
export async function recordClaudeResult(
  guard: Guard,
  result: ClaudeResult,
): Promise<void> {
  const { host, folder, policy } = guard;
  if (folder === null) return;
  const { ending, model, passed, startedAt } = result;
  const scopeUntil = ending.ending === "limit" && ending.scope !== "account"
    ? openUntil(ending, host.now(), policy)
    : null;
  noteCall(guard, callRecord(ending, scopeUntil));
  if (ending.ending === "ok" && passed === null) {
    await recordAnswer(guard, startedAt);
    return;
  }
  if (!MOVES.has(ending.ending)) return;
  const keepWording = ending.ending === "suspected" && ending.text !== ""
    ? await wordingKeeper(guard, folder, ending.text)
    : null;
  const recorded = await updateState(folder, host, (state) => {
    const now = host.now();
    keepWording?.();
    const report = { ending, job: host.env(ENV.job) ?? null, model, passed };
    const circuit = recordEnding(state.circuit, report, now, policy);
    const books = ending.ending !== "ok"
      ? state.books
      : circuit !== state.circuit
      ? { ...state.books, last_ok: now }
      : recordOk(state.books, startedAt, lastClosed(circuit, now));
    const result = { before: state.circuit, circuit };
    return { circuit, books, result };
  }, lockWait(guard, LOCK_WAIT));
  if (!recorded.done) {
    const { ending: name } = ending;
    sayTrouble(guard, `a call's ${name} is not recorded: ${recorded.why}`);
    return;
  }
  const { before, circuit } = recorded.result;
  const [wasOpen, open] = [before, circuit].map((c) =>
    c.open_until > host.now()
  );
  if (wasOpen !== open) await sendNoticeOf(guard, open ? circuit : null);
}

/** Once an episode: of all processes the one that has opened or closed it. */
async function sendNoticeOf(
  guard: Guard,
  opened: Circuit | null,
): Promise<void> {
  const notice = await import("./notice.ts");
  const { host, folder } = guard;
  const command = notice.notifier(host, folder);
  if (command === null) return;
  const text = opened === null
    ? notice.ANSWERS_NOTICE
    : notice.openedNotice(opened, host.now(), host.timeZone());
  const problem = await notice.sendNotice(command, text);
  if (problem !== null) say(guard, problem);
}

/** Keeps a refusal in no known wording for whoever adds the wording to the table. */
async function wordingKeeper(
  guard: Guard,
  folder: string,
  text: string,
): Promise<() => void> {
  const { noteUnknown } = await import("./unknown_log.ts");
  return () => {
    try {
      noteUnknown(folder, text, guard.host.now());
    } catch (error) {
      const why = folderTrouble(folder, error);
      sayTrouble(guard, `unknown.log cannot be written: ${why}`);
    }
  };
}

/** Notes that the allowance is there, unless that is known: the usual case costs no lock. */
async function recordAnswer(guard: Guard, startedAt: number): Promise<void> {
  const { host, folder } = guard;
  if (folder === null) return;
  const noted = (books: Books, circuit: Circuit): Books =>
    recordOk(books, startedAt, lastClosed(circuit, host.now()));
  const books = await readBooks(folder, host);
  if (noted(books, await circuitNow(guard)) === books) return;
  const recorded = await updateState(folder, host, (state) => {
    const { circuit } = state;
    const closed = lastClosed(circuit, host.now());
    const first = state.books.last_ok < closed && startedAt >= closed &&
      circuit.opened_by !== null;
    return { books: noted(state.books, circuit), result: first };
  }, SHORT_LOCK_WAIT);
  // Its end has closed it, and nobody was there to say so.
  if (recorded.done && recorded.result) await sendNoticeOf(guard, null);
}
