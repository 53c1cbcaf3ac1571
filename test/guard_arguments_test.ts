import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import {
  type GuardCommand,
  type Job,
  parseGuardArguments,
} from "../lib/guard_arguments.ts";
import { withSuggestion } from "../lib/suggestion.ts";
import { UsageError } from "../lib/usage.ts";

const pure = { permissions: "none" } as const;

function parse(line: string): GuardCommand {
  return parseGuardArguments(line === "" ? [] : line.split(" "));
}

function job(line: string): Job {
  const command = parse(line);
  if (command.mode !== "job") throw new Error(`${line} is no job`);
  return command.job;
}

/** The words for a mistake. */
function mistake(args: string | string[]): string {
  const words = typeof args === "string" ? args.split(" ") : args;
  return withSuggestion(
    assertThrows(() => parseGuardArguments(words), UsageError),
  );
}

Deno.test("parseGuardArguments() reads a job", pure, () => {
  const { label, command, priority, once, resumable, timeout, skipExit } = job(
    "--job mail -- ./mail.sh --priority -- x",
  );
  assertEquals(
    { label, command, priority, once, resumable, timeout, skipExit },
    {
      label: "mail",
      command: ["./mail.sh", "--priority", "--", "x"],
      priority: false,
      once: false,
      resumable: false,
      timeout: undefined,
      skipExit: 0,
    },
  );
});

Deno.test(
  "parseGuardArguments() reads a job's flags in any order",
  pure,
  () => {
    const given = job(
      "--priority --timeout 15m --skip-exit=75 --expires 2h --once --job=mail -- a",
    );
    assertEquals(
      [given.priority, given.timeout, given.skipExit, given.once, given.label],
      [true, 900, 75, true, "mail"],
    );
    assertEquals(job("--job mail --resumable -- a").resumable, true);
    assertEquals(job("--job mail --expires 0 -- a").label, "mail");
  },
);

Deno.test(
  "parseGuardArguments() keeps labels and words as they are written",
  pure,
  () => {
    for (const label of ["007", "1e3", "0x10", "__proto__", "a=b"]) {
      assertEquals(job(`--job ${label} -- a`).label, label);
    }
    assertEquals(parse("--classify 007"), {
      mode: "classify",
      exit: null,
      at: null,
      zone: null,
      file: "007",
    });
  },
);

Deno.test(
  "parseGuardArguments() gives anything else to claude, as the original",
  pure,
  () => {
    for (
      const line of [
        "-p hi",
        "hi",
        "mcp list",
        "-p -- --status",
      ]
    ) {
      assertEquals(parse(line), { mode: "claude", args: line.split(" ") });
    }
    assertEquals(parse("--model opus -p hi"), {
      mode: "claude",
      args: ["--model", "opus", "-p", "hi"],
      doubtful: "--model",
    });
    assertEquals(parse("--claude --stauts"), {
      mode: "claude",
      args: ["--stauts"],
    });
    assertEquals(parse("--claude -- -p --job x"), {
      mode: "claude",
      args: ["-p", "--job", "x"],
    });
    assertEquals(parse("--claude -- --help"), {
      mode: "claude",
      args: ["--help"],
    });
    assertEquals(parse("--claude --"), { mode: "claude", args: [] });
    assertEquals(parse("--claude -- -p -- x"), {
      mode: "claude",
      args: ["-p", "--", "x"],
    });
  },
);

Deno.test(
  "parseGuardArguments() reads the modes that tell and hold",
  pure,
  () => {
    assertEquals(parse("--status"), { mode: "status", json: false });
    assertEquals(parse("--json --status"), { mode: "status", json: true });
    assertEquals(parse("--close"), { mode: "close" });
    assertEquals(parse("--open"), { mode: "open", until: null, reason: null });
    assertEquals(parse("--open --until +5m --reason=drill"), {
      mode: "open",
      until: "+5m",
      reason: "drill",
    });
    assertEquals(
      parse("--classify --exit 1 --at 1796056215 --tz UTC out.txt"),
      {
        mode: "classify",
        exit: 1,
        at: "1796056215",
        zone: "UTC",
        file: "out.txt",
      },
    );
    for (const line of ["", "--help", "--status --help", "--job x --help"]) {
      assertEquals(parse(line), { mode: "help" });
    }
    assertEquals(parse("--batch --help"), { mode: "batch-help" });
    assertEquals(parse("--version"), { mode: "version" });
  },
);

Deno.test(
  "parseGuardArguments() says what is wrong, and what to do",
  pure,
  () => {
    const cases: [string | string[], string][] = [
      ["--job mail", "requires a command after --"],
      ["--job mail --", "requires a command after --"],
      [["--job", "mail", "--", ""], "requires a command after --"],
      ["--job -- a", "--job needs a value"],
      ["--job --priority -- a", "--job needs a value"],
      ["--job= -- a", "--job needs a value"],
      ["--job mail --priority=no -- a", "--priority takes no value"],
      ["--job mail -p -- a", "-p is no flag of --job"],
      ["--job mail -priority -- a", "-priority is no flag of --job"],
      ["--job mail --priority- -- a", "--priority- is no flag of --job"],
      ["--job --priority -- a", "--job needs a value"],
      [["--job", "a b", "--", "x"], "white space"],
      [["--job", "a\n", "--", "x"], "white space"],
      ["--job mail a -- b", '"a" stands before the --'],
      ["--job mail --prioritty -- a", "did you mean --priority?"],
      ["--job mail --jobb x -- a", "--jobb is no flag of --job"],
      ["--job mail --expires tomorrow -- a", '"tomorrow"'],
      ["--job mail --timeout 0 -- a", "above zero"],
      ["--job mail --timeout 25d -- a", "at most 24d"],
      ["--job mail --skip-exit 256 -- a", "from 0 to 255"],
      ["--job mail --skip-exit=-1 -- a", '"-1"'],
      ["--job mail --skip-exit 1.5 -- a", '"1.5"'],
      ["--job mail --once --resumable -- a", "exclude each other"],
      ["--status now", "one word too many"],
      ["--close --until +5m", "--until is no flag of --close"],
      ["--classify a b", "one word too many"],
      ["--classify --exit x", '"x"'],
    ];
    for (const [args, words] of cases) {
      assertStringIncludes(mistake(args), words, String(args));
    }
    assertEquals(mistake("--status --state"), "--state is no flag of --status");
  },
);
