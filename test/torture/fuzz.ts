/** Random input: mutated, thrown at what reads it, and shrunk if that breaks. */
import { seeded } from "../message_generator.ts";
import { Broken, type Section } from "./report.ts";

/** A source of chance that a seed repeats. */
export class Chance {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = seeded(seed);
  }

  /** A whole number from 0 to below `end`. */
  below(end: number): number {
    return Math.floor(this.#random() * end);
  }

  /** One of them. */
  of<T>(items: readonly [T, ...T[]]): T {
    return items[this.below(items.length)] ?? items[0];
  }

  /** True so often. */
  yes(share: number): boolean {
    return this.#random() < share;
  }
}

/** Something that reads what others write. */
export interface Target {
  name: string;
  /** Good inputs to start from. */
  corpus: readonly [Uint8Array, ...Uint8Array[]];
  /** Words that matter to it. */
  words: readonly [string, ...string[]];
  /** Throws if it does not stand the input. */
  check(input: Uint8Array): void | Promise<void>;
}

const LONGEST = 200_000;
const encoder = new TextEncoder();

/** Text as a corpus has it. */
export function bytes(text: string): Uint8Array {
  return encoder.encode(text);
}

/** A text with whatever bytes it had. */
export function textFrom(input: Uint8Array): string {
  return new TextDecoder().decode(input);
}

function joined(...parts: Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((n, part) => n + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** A good input after a few accidents. */
export function mutated(target: Target, chance: Chance): Uint8Array {
  let input = chance.of(target.corpus);
  for (let left = chance.below(8); left > 0; left--) {
    const at = chance.below(input.length + 1);
    const end = Math.min(
      input.length,
      at + chance.below(chance.of([4, 40, 400])),
    );
    const [head, part, tail] = [
      input.subarray(0, at),
      input.subarray(at, end),
      input.subarray(end),
    ];
    switch (chance.below(7)) {
      case 0:
        input = joined(head, tail);
        break;
      case 1:
        input = joined(head, part, part, tail);
        break;
      case 2:
        input = joined(head, bytes(chance.of(target.words)), tail);
        break;
      case 3:
        input = joined(
          head,
          Uint8Array.from(
            { length: 1 + chance.below(4) },
            () => chance.below(256),
          ),
          tail,
        );
        break;
      case 4: {
        const other = chance.of(target.corpus);
        input = joined(head, other.subarray(chance.below(other.length + 1)));
        break;
      }
      case 5:
        input = head;
        break;
      case 6: {
        const word = bytes(chance.of(target.words));
        const times = chance.of([2, 30, 3000]);
        const many = Array.from({ length: times }, () => word);
        input = joined(head, ...many, tail);
        break;
      }
    }
    if (input.length > LONGEST) input = input.slice(0, LONGEST);
  }
  return input;
}

/** How long one input may take, in seconds; a busy machine included. */
const SLOW = 10;

async function failure(
  target: Target,
  input: Uint8Array,
): Promise<Error | null> {
  const started = performance.now();
  try {
    await target.check(input);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
  const seconds = (performance.now() - started) / 1000;
  return seconds > SLOW
    ? new Broken("hung", `took ${seconds.toFixed(1)} s`)
    : null;
}

/** The same failure from less input. */
export async function shrunk(
  target: Target,
  input: Uint8Array,
): Promise<Uint8Array> {
  const { message } = await failure(target, input) ?? {};
  const fails = async (smaller: Uint8Array): Promise<boolean> =>
    (await failure(target, smaller))?.message === message;
  let small = input;
  for (let size = input.length >> 1; size > 0;) {
    let shorter = false;
    for (let at = 0; at < small.length; at += size) {
      const less = joined(small.subarray(0, at), small.subarray(at + size));
      if (!await fails(less)) continue;
      small = less;
      shorter = true;
      at -= size;
    }
    if (!shorter) size >>= 1;
  }
  return small;
}

/** Throws so many inputs at each target; the first failure of each is shrunk and shown. */
export async function fuzz(
  section: Section,
  targets: readonly Target[],
  times: number,
  seed: number,
): Promise<void> {
  for (const [i, target] of targets.entries()) {
    const chance = new Chance(seed + i);
    for (let n = 0; n < times; n++) {
      const input = n < target.corpus.length
        ? target.corpus[n] ?? target.corpus[0]
        : mutated(target, chance);
      const found = await failure(target, input);
      await section.case(
        `${target.name}, seed ${seed}, input ${n}`,
        async () => {
          if (found === null) return;
          const small = await shrunk(target, input);
          console.error(
            `${target.name} breaks at ${JSON.stringify(textFrom(small))}`,
          );
          throw found;
        },
      );
      if (found !== null) break;
    }
  }
}
