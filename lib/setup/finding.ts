/** What a check found. */
export interface Finding {
  /** Only what is wrong makes the exit code 1. */
  level: "ok" | "note" | "wrong";
  /** The job's label, or what else it is about. */
  about: string;
  /** In words. */
  text: string;
  /** What to do; null if nothing needs doing. */
  remedy: string | null;
}

/** Something that does not work, or will cost a run. */
export function wrong(about: string, text: string, remedy: string): Finding {
  return { level: "wrong", about, text, remedy };
}

/** Something to know; it may be meant. */
export function note(
  about: string,
  text: string,
  remedy: string | null = null,
): Finding {
  return { level: "note", about, text, remedy };
}

/** Something that is as it should be. */
export function ok(about: string, text: string): Finding {
  return { level: "ok", about, text, remedy: null };
}

/** The findings as lines: what is wrong first, what is in order last. */
export function findingLines(
  findings: readonly Finding[],
  colour: boolean,
): string[] {
  const order = ["wrong", "note", "ok"];
  const sorted = [...findings].sort((a, b) =>
    order.indexOf(a.level) - order.indexOf(b.level)
  );
  return sorted.flatMap(({ level, about, text, remedy }) => [
    `${marked(level, colour)}  ${about}: ${text}`,
    ...(remedy === null ? [] : [`       -> ${remedy}`]),
  ]);
}

function marked(level: Finding["level"], colour: boolean): string {
  const word = level === "wrong" ? "WRONG" : level.padEnd(5);
  if (!colour) return word;
  const code = { wrong: 31, note: 33, ok: 32 }[level];
  return `\x1b[${code}m${word}\x1b[0m`;
}
