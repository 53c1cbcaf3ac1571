import { assertEquals, assertThrows } from "@std/assert";
import { parseSetupArguments } from "../lib/setup/arguments.ts";
import { SETUP_HELP } from "../lib/setup/help.ts";
import { setupMode } from "../lib/setup/setup_mode.ts";
import { UsageError } from "../lib/usage.ts";

const pure = { permissions: "none" } as const;

Deno.test("setupMode() sees a mode wherever it stands", pure, () => {
  assertEquals(setupMode(["--agents", "d", "--doctor"]), "doctor");
  assertEquals(setupMode(["--dry-run", "--all"]), null);
  // Never a round instead.
  assertEquals(setupMode(["--wrap=com.me.post"]), "wrap");
});

Deno.test("parseSetupArguments() reads what is to be done", pure, () => {
  assertEquals(
    parseSetupArguments("wrap", [
      ...["--wrap", "a", "--expires=2h", "b", "--once", "--reload", "--now"],
      ...["--agents", "d"],
    ]),
    {
      mode: "wrap",
      targets: ["a", "b"],
      all: false,
      guardFlags: ["--once", "--expires", "2h"],
      dryRun: false,
      reload: true,
      now: true,
      agents: "d",
    },
  );
  assertEquals(
    parseSetupArguments("unwrap", ["--unwrap", "--all", "--dry-run"]),
    {
      mode: "unwrap",
      targets: [],
      all: true,
      dryRun: true,
      reload: false,
      now: false,
      agents: null,
    },
  );
  assertEquals(
    parseSetupArguments("install", ["--install", "--interval", "15m"]),
    {
      mode: "install",
      interval: 900,
      dryRun: false,
      agents: null,
    },
  );
  assertEquals(parseSetupArguments("install", ["--install"]), {
    mode: "install",
    interval: 1800,
    dryRun: false,
    agents: null,
  });
  assertEquals(
    parseSetupArguments("explain", ["--explain", "007", "--window", "24"]),
    { mode: "explain", label: "007", window: 86_400, agents: null },
  );
  assertEquals(parseSetupArguments("doctor", ["--doctor", "--json"]), {
    mode: "doctor",
    json: true,
    agents: null,
  });
  assertEquals(parseSetupArguments("wrap", ["--wrap", "--help"]), {
    mode: "help",
    of: "wrap",
  });
});

Deno.test("parseSetupArguments() refuses what it cannot read", pure, () => {
  const refused: [string[], string][] = [
    [["--wrap=a"], "--wrap takes no value"],
    [["--wrap"], "--wrap needs a label or a file, or --all"],
    [["--unwrap"], "--unwrap needs a label"],
    [["--wrap", "a", "--all"], "--all takes no names"],
    [["--wrap", "a", "--now"], "--now goes with --reload"],
    [["--wrap", "a", "--once", "--resumable"], "exclude each other"],
    [["--wrap", "a", "--expires", "soon"], "--expires takes a length of time"],
    [["--wrap", "a", "--prio"], "--prio is no flag of --wrap"],
    [["--install", "--interval", "59"], "--interval must be from 1m to 1d"],
    [["--install", "--interval", "2d"], "--interval must be from 1m to 1d"],
    [["--install", "a"], "one word too many"],
    [["--uninstall", "a"], "one word too many"],
    [["--explain"], "--explain needs the label"],
    [["--explain", "a", "b"], "one word too many"],
    [["--explain", "a", "--window", "1000"], "--window takes"],
  ];
  for (const [args, words] of refused) {
    const mode = setupMode(args);
    assertThrows(
      () => mode && parseSetupArguments(mode, args),
      UsageError,
      words,
    );
  }
});

Deno.test("the help of each mode fits a screen", pure, () => {
  for (const [mode, text] of Object.entries(SETUP_HELP)) {
    const lines = text.split("\n");
    assertEquals(lines.length <= 24, true, mode);
    assertEquals(lines.filter((line) => line.length > 90), [], mode);
  }
});
