import { isVisibleAscii } from "./ascii.ts";

/** A terminal, as far as it is needed. */
export interface Terminal {
  /** False for a file or a pipe. */
  isTerminal(): boolean;
  /** Returns how many bytes were taken. */
  writeSync(bytes: Uint8Array): number;
}

/** Text from elsewhere without what would command a terminal. */
export function printable(text: string): string {
  if (isVisibleAscii(text, true)) return text;
  // deno-lint-ignore no-control-regex -- control characters are what is replaced
  return text.replace(/[\x00-\x1f\x7f-\x9f]+/g, "\ufffd");
}

const encoder = new TextEncoder();
// The terminal cuts a long line off instead of going on in the next one.
const BEGIN = "\r\x1b[K\x1b[?7l";
const END = "\x1b[?7h";

/** One line of a terminal that tells what goes on now. Elsewhere it is silent. */
export class ProgressLine {
  readonly #terminal: Terminal | null;
  #shown = false;

  /**
   * No line yet.
   *
   * @param terminal Where it is shown, if it is one
   */
  constructor(terminal: Terminal) {
    this.#terminal = terminal.isTerminal() ? terminal : null;
  }

  /** Replaces the line; null takes it away. */
  show(words: string | null): void {
    if (words === null && !this.#shown) return;
    this.#shown = words !== null;
    try {
      this.#terminal?.writeSync(encoder.encode(BEGIN + (words ?? "") + END));
    } catch {
      // A closed terminal loses the line, not the round.
    }
  }
}
