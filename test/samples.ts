/** Endings, calls and a source of random numbers for the tests. */
import type { Ending, EndingName } from "../lib/ending.ts";
import type { CallRecord } from "../lib/tally.ts";

/** How a call ended; what is not given says nothing. */
export function anEnding(
  ending: EndingName,
  fields: Partial<Ending> = {},
): Ending {
  return {
    ending,
    scope: "account",
    window: null,
    reset_at: null,
    evidence: "",
    shown: false,
    text: "",
    cost_usd: null,
    ...fields,
  };
}

/** A call of a run. */
export function aCall(
  met: CallRecord["met"],
  fields: Partial<CallRecord> = {},
): CallRecord {
  return { met, owedFrom: null, cost: null, ...fields };
}

/** Random numbers that are the same in each run (mulberry32). */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** A number from 0 to below `n`, whole. */
  below(n: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % n;
  }

  /** One of the items. */
  pick<T>(items: readonly [T, ...T[]]): T {
    return items[this.below(items.length)] ?? items[0];
  }
}
