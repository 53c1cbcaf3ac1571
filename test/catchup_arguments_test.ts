import { assertEquals, assertMatch, assertThrows } from "@std/assert";
import { parseCatchupArguments } from "../lib/catchup_arguments.ts";
import { UsageError } from "../lib/usage.ts";

const DEFAULTS = {
  mode: "run" as const,
  dryRun: false,
  all: false,
  json: false,
  agents: null,
  timeout: null,
  grace: null,
  window: null,
  noProbe: false,
};

Deno.test("parseCatchupArguments() reads every flag", () => {
  assertEquals(parseCatchupArguments([]), DEFAULTS);
  assertEquals(
    parseCatchupArguments([
      ...["--dry-run", "--all", "--json", "--no-probe"],
      ...["--agents", "/a b", "--timeout", "20m", "--grace=5"],
      ...["--window", "36"],
    ]),
    {
      mode: "run",
      dryRun: true,
      all: true,
      json: true,
      agents: "/a b",
      timeout: 1200,
      grace: 5,
      window: 36 * 3600,
      noProbe: true,
    },
  );
  assertEquals(parseCatchupArguments(["--help", "--dry-run"]).mode, "help");
  assertEquals(parseCatchupArguments(["--version"]).mode, "version");
});

Deno.test("parseCatchupArguments() allows no grace and no window", () => {
  const command = parseCatchupArguments(["--grace", "0", "--window", "0"]);
  assertEquals(command, { ...DEFAULTS, grace: 0, window: 0 });
});

Deno.test("parseCatchupArguments() refuses what it cannot read, and says why", () => {
  for (
    const [args, words] of [
      [["--dryrun"], /--dryrun/],
      [["now"], /"now" is one word too many/],
      [["--timeout", "0"], /above zero/],
      [["--timeout", "soon"], /such as 90, 15m/],
      [["--grace=-1"], /--grace/],
      [["--window", "169"], /0 to 168/],
      [["--window", "1.5"], /whole number/],
      [["--agents"], /needs a value/],
    ] as const
  ) {
    const error = assertThrows(() => parseCatchupArguments(args), UsageError);
    assertMatch(error.message, words);
  }
});
