/** What the torture counts: cases, and those that went wrong, by how. */

/** Ways to go wrong that have a column of their own. */
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
  cases = 0;
  readonly counts: Record<Fault | "wrong", number> = {
    lost: 0,
    doubled: 0,
    hung: 0,
    wrong: 0,
  };
  /** What went wrong, in words; also what could not be tried. */
  readonly failures: string[] = [];
  readonly skipped: string[] = [];

  constructor(title: string) {
    this.title = title;
  }

  /** One case. Whatever it throws is written down, and the next one may begin. */
  async case(name: string, work: () => void | Promise<void>): Promise<void> {
    this.cases++;
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
  const rows = sections.map(({ title, cases, counts }) => [
    title,
    ...[cases, counts.lost, counts.doubled, counts.hung, counts.wrong]
      .map((n) => n.toLocaleString("en")),
  ]);
  const head = ["what", "cases", "lost", "doubled", "hung", "wrong else"];
  const widths = head.map((word, i) =>
    Math.max(word.length, ...rows.map((row) => row[i]?.length ?? 0))
  );
  const line = (cells: readonly string[]): string =>
    `| ${
      cells.map((cell, i) =>
        i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)
      ).join(" | ")
    } |`;
  const rule = widths.map((width, i) =>
    i === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`
  );
  return [head, rule, ...rows].map(line).join("\n");
}
