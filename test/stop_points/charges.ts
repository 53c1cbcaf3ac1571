/** What an item costs, step by step, and what happens when it is too much. */

/** The items of the experiment. */
export const ITEMS = ["alpha", "bravo", "charlie", "delta"];

/** What each step of an item costs, in units. */
export const CHARGES = {
  planned: 1.0,
  generated: 2.0,
  /** With half of the file written. */
  halfWritten: 0.5,
  written: 0.5,
  committed: 0.5,
};

/** What an item costs in all. */
export const ITEM_COST = Object.values(CHARGES).reduce((sum, n) => sum + n);

/** The result of an item. */
export function bodyOf(name: string, length = 200_000): string {
  return `# ${name}\n${"x".repeat(length)}\nEND\n`;
}

/** Units spent according to a log of charges; 0 without a log. */
export function spentIn(log: string): number {
  try {
    return Deno.readTextFileSync(log).split("\n").slice(0, -1)
      .reduce((sum, line) => sum + Number(line), 0);
  } catch {
    return 0;
  }
}

/** Adds up charges in a log, which the processes of a run may share. */
export class Meter {
  readonly #log: string;
  readonly #cap: number;
  readonly #stop: () => void;

  /** @param stop Ends the process at once, without any cleaning up. */
  constructor(log: string, cap: number, stop: () => void) {
    this.#log = log;
    this.#cap = cap;
    this.#stop = stop;
    // A run that spends nothing is a run, too.
    Deno.writeTextFileSync(log, "", { append: true });
  }

  /** Something was spent before in this run. */
  get used(): boolean {
    return spentIn(this.#log) > 0;
  }

  /** Charges first, then looks: the cap is passed by what passes it. */
  charge(units: number): void {
    Deno.writeTextFileSync(this.#log, `${units}\n`, { append: true });
    if (spentIn(this.#log) > this.#cap) this.#stop();
  }
}

function writeAll(file: Deno.FsFile, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length;) {
    done += file.writeSync(bytes.subarray(done));
  }
  file.syncSync();
}

/** Writes text in two halves, each flushed, with something between them. */
export function writeInHalves(
  path: string,
  text: string,
  between: () => void,
): void {
  using file = Deno.createSync(path);
  const bytes = new TextEncoder().encode(text);
  const half = bytes.length >> 1;
  writeAll(file, bytes.subarray(0, half));
  between();
  writeAll(file, bytes.subarray(half));
}
