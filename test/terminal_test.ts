import { assertEquals } from "@std/assert";
import { printable, ProgressLine } from "../lib/terminal.ts";

/** Keeps what was written. */
function terminal(isTerminal: boolean): {
  text: string;
  isTerminal(): boolean;
  writeSync(bytes: Uint8Array): number;
} {
  return {
    text: "",
    isTerminal: () => isTerminal,
    writeSync(bytes): number {
      this.text += new TextDecoder().decode(bytes);
      return bytes.length;
    },
  };
}

Deno.test("ProgressLine replaces one line of a terminal and takes it away", () => {
  const tty = terminal(true);
  const line = new ProgressLine(tty);
  line.show(null);
  assertEquals(tty.text, "");
  line.show("1 of 2 a, 3 s");
  line.show(null);
  line.show(null);
  assertEquals(
    tty.text,
    "\r\x1b[K\x1b[?7l1 of 2 a, 3 s\x1b[?7h\r\x1b[K\x1b[?7l\x1b[?7h",
  );
});

Deno.test("ProgressLine is silent in a log", () => {
  const log = terminal(false);
  new ProgressLine(log).show("1 of 2 a, 3 s");
  assertEquals(log.text, "");
});

Deno.test("printable() takes control characters out", () => {
  assertEquals(printable("a\x1b[2J\r\nb ü日"), "a\ufffd[2J\ufffdb ü日");
});
