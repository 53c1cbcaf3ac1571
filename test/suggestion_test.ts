import { assertEquals, assertThrows } from "@std/assert";
import { MODES } from "../lib/guard_arguments.ts";
import { nearest, refuseMistyped, withSuggestion } from "../lib/suggestion.ts";
import { UnknownFlagError, UsageError } from "../lib/usage.ts";

const pure = { permissions: "none" } as const;

Deno.test(
  "nearest() takes a beginning first, then few mistakes, else nothing",
  pure,
  () => {
    const known = ["--once", "--priority", "--progress", "--dry-run", "--all"];
    const cases: [string, string | null][] = [
      ["--prio", "--priority"],
      ["--prog", "--progress"],
      ["--dry", "--dry-run"],
      ["--prioritty", "--priority"],
      ["-priority", "--priority"],
      ["--onec", "--once"],
      ["-5m", null],
      ["-p", null],
      ["--", null],
      ["--xyz", null],
      ["--verbose", null],
    ];
    for (const [word, meant] of cases) {
      assertEquals(nearest(word, known), meant, word);
    }
    assertEquals(nearest("x", []), null);
  },
);

Deno.test("withSuggestion() suggests what is near, or nothing", pure, () => {
  const words = (flag: string): string =>
    withSuggestion(new UnknownFlagError(flag, "--job", ["--once"]));
  assertEquals(
    words("--onse"),
    "--onse is no flag of --job; did you mean --once?",
  );
  assertEquals(words("-5m"), "-5m is no flag of --job");
  assertEquals(withSuggestion(new UsageError("so")), "so");
});

Deno.test(
  "refuseMistyped() keeps modes of the guard's from claude, and no flag of claude's",
  pure,
  () => {
    const mistyped: [string, string][] = [
      ["--stauts", "--status"],
      ["--stat", "--status"],
      ["--stats=x", "--status"],
      ["--jobs", "--job"],
      ["--clsoe", "--close"],
      ["--classfy", "--classify"],
      ["--clau", "--claude"],
    ];
    for (const [flag, mode] of mistyped) {
      const error = assertThrows(
        () => refuseMistyped(flag, MODES),
        UnknownFlagError,
      );
      assertEquals(error.known, [mode], flag);
    }
    const passing =
      "--continue --resume --model --print --settings --verbose " +
      "--version --cloud --name --betas --bg --brief --chrome --tmux --ide " +
      "--max-turns --agent --debug --sta --new-of-claude";
    for (const flag of passing.split(" ")) refuseMistyped(flag, MODES);
  },
);
