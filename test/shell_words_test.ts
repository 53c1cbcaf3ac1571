import { assertEquals } from "@std/assert";
import { shellWords } from "../lib/shell_words.ts";

/** Words as they are, operators in angle brackets. */
function split(line: string): string[] {
  const variables = new Map([["A", "value"], ["B", "two words"]]);
  return shellWords(line, (name) => variables.get(name))
    .map(({ text, operator }) => operator ? `<${text}>` : text);
}

function pure(name: string, test: () => void): void {
  Deno.test(name, { permissions: "none" }, test);
}

pure("shellWords() takes quotes and backslashes off", () => {
  assertEquals(split(`a 'b c' "d e" f\\ g h"i"'j'`), [
    "a",
    "b c",
    "d e",
    "f g",
    "hij",
  ]);
  assertEquals(split(`"" ''`), ["", ""]);
  assertEquals(split(`"say \\"hi\\" \\\\ \\n"`), ['say "hi" \\ \\n']);
  assertEquals(split("a\\\nb \\\n c"), ["ab", "c"]);
});

pure("shellWords() tells operators and comments from words", () => {
  assertEquals(split("a; b && c | d # e; f\ng"), [
    "a",
    "<;>",
    "b",
    "<&&>",
    "c",
    "<|>",
    "d",
    "<>",
    "g",
  ]);
  assertEquals(split("a#b '# c'"), ["a#b", "# c"]);
});

pure("shellWords() expands the variables that are known", () => {
  assertEquals(split(`$A "\${B}" x-$A.y`), ["value", "two words", "x-value.y"]);
  assertEquals(split(`'$A' "\\$A" \\$A $C`), ["$A", "$A", "$A", "$C"]);
});

pure("shellWords() keeps a quote that is never closed", () => {
  assertEquals(split("it's"), ["it's"]);
});
