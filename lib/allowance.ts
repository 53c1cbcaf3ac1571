import type { CatchupOptions, CatchupWorld } from "./catchup_world.ts";
import {
  type Circuit,
  circuitStatus,
  claimProbe,
  lastClosed,
  probeTime,
} from "./circuit.ts";
import { formatInstant } from "./instant.ts";
import { readBooks, readCircuit, updateState } from "./state.ts";

/** A circuit without a probe for so many intervals gets one from the catch-up. */
const INTERVALS_WITHOUT_PROBE = 2;

/** Whether jobs may be started, and if not, whether the circuit is the reason. */
export type Allowance =
  | { back: true }
  | { back: false; why: string; open: boolean };

/** What to do about an answer that is none, by its ending. */
const REMEDIES: Record<string, string> = {
  limit: "the limit still holds",
  auth: "claude is not logged in: log in once more",
  throttle: "the API asks for a pause",
  overloaded: "the API is overloaded",
};

/** Whether the circuit in a folder is open now. */
export async function isOpen(
  { host }: CatchupWorld,
  folder: string,
): Promise<boolean> {
  return circuitStatus(await readCircuit(folder, host), host.now()).is_open;
}

/**
 * Makes sure that the allowance is back: by a call that was answered since the
 * circuit closed, else by one cheap probe. On an open circuit nothing is spent,
 * unless nobody has probed for long.
 *
 * @param environment Of the job that is owed
 */
export async function askForAllowance(
  world: CatchupWorld,
  options: CatchupOptions,
  folder: string,
  environment: Record<string, string>,
): Promise<Allowance> {
  const { host } = world;
  const circuit = await readCircuit(folder, host);
  const now = host.now();
  const open = circuitStatus(circuit, now).is_open;
  const probeIsDue = open && !options.noProbe &&
    await claimOverdueProbe(world, folder);
  if (open && !probeIsDue) {
    return { back: false, why: openWords(circuit, world), open };
  }
  if (options.noProbe) return { back: true };
  const { last_ok: lastOk } = await readBooks(folder, host);
  if (!open && lastOk > 0 && lastOk >= lastClosed(circuit, now)) {
    return { back: true };
  }
  const probe = await world.probe(folder, environment, open);
  const stillOpen = await isOpen(world, folder);
  if (probe.ok && !stillOpen) {
    world.tell("probe: claude answers");
    return { back: true };
  }
  const why = `probe: ${REMEDIES[probe.words] ?? probe.words}`;
  return { back: false, why, open: stillOpen };
}

function openWords(circuit: Circuit, { host }: CatchupWorld): string {
  const now = host.now();
  const until = formatInstant(circuit.open_until, now, host.timeZone());
  // A limit may last beyond the hold.
  return circuit.hold >= circuit.open_until
    ? `the circuit is held open by hand until ${until}`
    : `the circuit is open until ${until}`;
}

/**
 * Nobody has asked for long, and something is owed: then the catch-up asks. Not
 * during a hold by hand, which no answer closes.
 */
async function claimOverdueProbe(
  { host, policy }: CatchupWorld,
  folder: string,
): Promise<boolean> {
  const interval = policy.probeInterval;
  if (!(interval > 0)) return false;
  const span = INTERVALS_WITHOUT_PROBE * interval;
  const claimed = await updateState(folder, host, ({ circuit }) => {
    const now = host.now();
    const overdue = circuit.hold <= now && now - circuit.opened_at >= span &&
      now - probeTime(circuit, now, interval) >= span;
    const next = overdue ? claimProbe(circuit, now, interval) : null;
    return next === null ? { result: false } : { circuit: next, result: true };
  });
  return claimed.done && claimed.result;
}
