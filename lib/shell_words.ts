// Words of a shell command line, as far as they can be known without a shell. Pure.

/** A word of a command line, or an operator between commands (`;`, `&&`, `|`, newline). */
export interface ShellWord {
  /** The word without its quotes; an operator without blanks, "" for newlines. */
  text: string;
  /** Whether it stands between two commands. */
  operator: boolean;
}

/** What a line is made of; quotes and plain parts that touch make one word. */
const TOKEN = new RegExp(
  [
    /(?<continuation>\\\n)/,
    /(?<operator>[;&|()\n]+)/,
    /(?<blank>[^\S\n]+|(?<=^|[\s;&|()])#[^\n]*)/,
    /'(?<single>[^']*)'/,
    /"(?<double>(?:[^"\\]|\\[\s\S])*)"/,
    /\\(?<escaped>[\s\S])/,
    /(?<plain>[^\s;&|()'"\\]+|[\s\S])/,
  ].map((part) => part.source).join("|"),
  "gy",
);

/**
 * Splits a command line as sh(1) would: quotes, backslashes, comments and
 * operators. `$NAME` and `${NAME}` are replaced where `variable` knows them and
 * stay as written elsewhere; nothing else is expanded.
 *
 * @param line What would follow `sh -c`
 * @param variable The value of an environment variable, if it is known
 */
export function shellWords(
  line: string,
  variable: (name: string) => string | undefined,
): ShellWord[] {
  const words: ShellWord[] = [];
  let word: string | null = null;
  const finish = (): void => {
    if (word !== null) words.push({ text: word, operator: false });
    word = null;
  };
  const expand = (text: string): string =>
    text.replace(
      /\\(?:\n|(["\\`$]))|\$(?:(\w+)|\{(\w+)\})/g,
      (
        whole: string,
        escaped?: string,
        bare?: string,
        braced?: string,
      ): string => {
        const name = bare ?? braced;
        return name === undefined ? escaped ?? "" : variable(name) ?? whole;
      },
    );
  for (const { groups = {} } of line.matchAll(TOKEN)) {
    if (groups.continuation !== undefined) continue;
    if (groups.blank !== undefined) {
      finish();
    } else if (groups.operator !== undefined) {
      finish();
      words.push({ text: groups.operator.trim(), operator: true });
    } else {
      word = (word ?? "") +
        (groups.single ?? groups.escaped ??
          expand(groups.double ?? groups.plain ?? ""));
    }
  }
  finish();
  return words;
}
