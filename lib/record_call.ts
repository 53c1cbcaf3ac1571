import { type Books, recordOk } from "./books.ts";
import {
  type Circuit,
  lastClosed,
  openUntil,
  recordEnding,
} from "./circuit.ts";
import type { Ending, EndingName } from "./ending.ts";
import {
  circuitNow,
  type Guard,
  lockWait,
  namedHost,
  say,
  sayTrouble,
} from "./guard.ts";
import { addCall, beginCall } from "./run_file.ts";
import { ENV } from "./settings.ts";
import { LOCK_WAIT, readBooks, SHORT_LOCK_WAIT, updateState } from "./state.ts";
import { folderTrouble } from "./state_folder.ts";
import { type CallRecord, callRecord } from "./tally.ts";

/** The endings that may move the circuit. */
const MOVES: ReadonlySet<EndingName> = new Set(["limit", "suspected", "ok"]);

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
  const recorded = await updateState(folder, namedHost(guard), (state) => {
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
  if (problem === null) return;
  say(guard, `${problem}; quota_guard --notify TEXT shows why`);
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
  const books = await readBooks(folder, namedHost(guard));
  if (noted(books, await circuitNow(guard)) === books) return;
  const recorded = await updateState(folder, namedHost(guard), (state) => {
    const { circuit } = state;
    const closed = lastClosed(circuit, host.now());
    const first = state.books.last_ok < closed && startedAt >= closed &&
      circuit.opened_by !== null;
    return { books: noted(state.books, circuit), result: first };
  }, SHORT_LOCK_WAIT);
  // Its end has closed it, and nobody was there to say so.
  if (recorded.done && recorded.result) await sendNoticeOf(guard, null);
}

/** Puts a call on its run's tally: that it begins, or how it ended. */
export function noteCall(guard: Guard, call: CallRecord | "begun"): void {
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
