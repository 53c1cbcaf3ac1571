import type { SignalRelay } from "./child.ts";
import {
  type Circuit,
  circuitStatus,
  claimProbe,
  type Policy,
} from "./circuit.ts";
import { closedCircuit } from "./circuit_json.ts";
import type { Host } from "./host.ts";
import type { Refusal } from "./marker.ts";
import { findRealClaude } from "./real_claude.ts";
import { ENV } from "./settings.ts";
import { type Self, shimPath } from "./shim.ts";
import {
  LOCK_WAIT,
  readCircuit,
  SHORT_LOCK_WAIT,
  updateState,
} from "./state.ts";

/** EX_SOFTWARE of sysexits(3): the guard's own trouble, outside of a job. */
export const EXIT_OWN_TROUBLE = 70;

/** What every mode of the guard works with. */
export interface Guard {
  /** Clock, environment and stderr. */
  host: Host;
  /** Passes signals on to whatever the guard runs. */
  signals: SignalRelay;
  /** How to start this guard again. */
  readonly self: Self;
  /** The lengths of time that users may set. */
  policy: Policy;
  /** Null if there is none to be had: then nothing is refused or recorded. */
  folder: string | null;
  /** Trouble of the guard's own has been said. */
  troubled: boolean;
}

/** One line of the guard's own on stderr. */
export function say(guard: Guard, line: string): void {
  guard.host.say(`quota_guard: ${line}`);
}

/** The guard's host for what speaks without a name of its own: its lines get the guard's. */
export function namedHost(guard: Guard): Host {
  return { ...guard.host, say: (line) => say(guard, line) };
}

/** Trouble of the guard's own: the first is said, what follows from it is not. */
export function sayTrouble(guard: Guard, line: string): void {
  if (!guard.troubled) say(guard, line);
  guard.troubled = true;
}

/** The circuit as it stands; closed if there is no state. */
export async function circuitNow(guard: Guard): Promise<Circuit> {
  if (guard.folder === null) return closedCircuit();
  const sayIt = (line: string): void => sayTrouble(guard, line);
  return await readCircuit(guard.folder, { ...guard.host, say: sayIt });
}

/** Whether the circuit is open now. */
export async function isOpen(guard: Guard): Promise<boolean> {
  return circuitStatus(await circuitNow(guard), guard.host.now()).is_open;
}

/** Why and for how long the open circuit refuses. */
export function refusalOf(circuit: Circuit, now: number): Refusal {
  const status = circuitStatus(circuit, now);
  return { reason: status.reason, remaining: status.remaining_seconds };
}

/**
 * Claims the one probe of an interval: of all who ask at once, one gets it.
 *
 * @returns True if this process has it; null if the lock could not be had
 */
export async function claimPriorityProbe(
  guard: Guard,
): Promise<boolean | null> {
  if (guard.folder === null) return false;
  const { host, policy } = guard;
  // Mostly it is taken, and that shows without the lock.
  const seen = await circuitNow(guard);
  if (claimProbe(seen, host.now(), policy.probeInterval) === null) return false;
  const own = namedHost(guard);
  const claimed = await updateState<boolean>(guard.folder, own, (state) => {
    const circuit = claimProbe(
      state.circuit,
      host.now(),
      policy.probeInterval,
    );
    return circuit === null ? { result: false } : { circuit, result: true };
  }, lockWait(guard, LOCK_WAIT));
  if (claimed.done) return claimed.result;
  sayTrouble(guard, `no probe: ${claimed.why}`);
  return null;
}

/** How long to wait for the lock: a signal, also one that comes meanwhile, leaves little time. */
export function lockWait(guard: Guard, seconds: number): () => number {
  return () =>
    guard.signals.code === null ? seconds : Math.min(seconds, SHORT_LOCK_WAIT);
}

/** The real claude; null if there is none. One that is named in vain is said. */
export function realClaude(guard: Guard): string | null {
  const { folder, host, self } = guard;
  const claude = findRealClaude(host.env, [
    ...(folder === null ? [] : [shimPath(folder)]),
    self.script ?? self.interpreter,
  ]);
  const named = host.env(ENV.realClaude);
  if (named && claude !== null && named !== claude) {
    say(
      guard,
      `${ENV.realClaude} names no claude, "${named}"; "${claude}" is taken`,
    );
  }
  return claude;
}
