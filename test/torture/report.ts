/** What the torture counts: cases, and those that went wrong, by how. */

/** Ways to go wrong that have a word of their own. */
type Fault = "lost" | "doubled" | "hung";

/** A promise that was broken. Any other error counts as wrong in another way. */
export class Broken extends Error {
  override name = "Broken";
  readonly fault: Fault;

  constructor(fault: Fault, words: string) {
    super(words);
    this.fault = fault;
  }
}

/** The cases of one section. */
export class Section {
  readonly title: string;
  readonly #unit: string;
  cases = 0;
  /** What a case is made of many of: `50,000 updates`. */
  readonly more: string[] = [];
  readonly counts: Record<Fault | "wrong", number> = {
    lost: 0,
    doubled: 0,
    hung: 0,
    wrong: 0,
  };
  /** What went wrong, in words; also what could not be tried. */
  readonly failures: string[] = [];
  readonly skipped: string[] = [];

  /** @param unit What a case is, in the plural */
  constructor(title: string, unit = "cases") {
    this.title = title;
    this.#unit = unit;
  }

  /** How many cases, in words. */
  get amount(): string {
    const cases = `${this.cases.toLocaleString("en")} ${this.#unit}`;
    return [cases, ...this.more].join(", ");
  }

  /** How many failures, and of which kind: `2 (1 lost, 1 hung)`. */
  get failed(): string {
    const kinds = Object.entries(this.counts).filter(([, n]) => n > 0)
      .map(([kind, n]) => `${n} ${kind}`).join(", ");
    const total = this.failures.length.toLocaleString("en");
    return kinds === "" ? total : `${total} (${kinds})`;
  }

  /** One case. Whatever it throws is written down, and the next one may begin. */
  async case(name: string, work: () => void | Promise<void>): Promise<void> {
    this.cases++;
    await this.guarded(name, work);
  }

  /** Work that is no case: what it throws is written down all the same. */
  async guarded(name: string, work: () => void | Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.counts[error instanceof Broken ? error.fault : "wrong"]++;
      const words = error instanceof Error ? error.message : String(error);
      const failure = `${name}: ${plain(words)}`;
      console.error(`BROKEN ${failure}`);
      this.failures.push(failure);
    }
  }

  /** A case that came to nothing this time is none. */
  miss(what: string): void {
    console.error(`not met: ${what}`);
    this.cases--;
  }

  /** Says loudly what cannot be tried here. */
  skip(what: string): void {
    console.error(`NOT TRIED: ${what}`);
    this.skipped.push(what);
  }
}

/** On one line, without the colours that assertions have. */
function plain(words: string): string {
  // deno-lint-ignore no-control-regex -- colours are what goes
  return words.replace(/\x1b\[[\d;]*m/g, "").replace(/\s+/g, " ");
}

/** The sections as a Markdown table. */
export function table(sections: readonly Section[]): string {
  const rows = sections.map(({ title, amount, failed }) => [
    title,
    amount,
    failed,
  ]);
  const head = ["what", "how many", "failures"];
  const last = head.length - 1;
  const widths = head.map((word, i) =>
    Math.max(word.length, ...rows.map((row) => row[i]?.length ?? 0))
  );
  const line = (cells: readonly string[]): string =>
    `| ${
      cells.map((cell, i) =>
        i < last ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)
      ).join(" | ")
    } |`;
  const rule = widths.map((width, i) =>
    i < last ? "-".repeat(width) : `${"-".repeat(width - 1)}:`
  );
  return [head, rule, ...rows].map(line).join("\n");
}
