import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path/join";
import { parseBatchArguments } from "../lib/batch_arguments.ts";
import { parseCatchupArguments } from "../lib/catchup_arguments.ts";
import { CATCHUP_HELP } from "../lib/catchup_help.ts";
import { parseGuardArguments } from "../lib/guard_arguments.ts";
import { BATCH_HELP, GUARD_HELP } from "../lib/guard_help.ts";
import {
  guardOptions,
  isGuarded,
  parseLaunchAgent,
} from "../lib/launch_agent.ts";
import { CATCHUP_LABEL } from "../lib/setup/catchup_agent.ts";
import { parseSetupArguments } from "../lib/setup/arguments.ts";
import { SETUP_HELP } from "../lib/setup/help.ts";
import { SETUP_MODES, setupMode } from "../lib/setup/setup_mode.ts";
import { shellWords } from "../lib/shell_words.ts";
import { guardCommand } from "../lib/shim.ts";
import { type PlistDict, readPlistXml } from "./plist_xml.ts";
import {
  block,
  blocks,
  plists,
  readme,
  section,
  tableNames,
} from "./readme.ts";
import { root } from "./script.ts";

function sorted(names: Iterable<string>): string[] {
  return [...new Set(names)].sort();
}

function matches(text: string, pattern: RegExp): string[] {
  return sorted([...text.matchAll(pattern)].map(([whole]) => whole));
}

function* sources(folder = join(root, "lib")): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    const path = join(folder, name);
    if (isDirectory) yield* sources(path);
    else yield Deno.readTextFileSync(path);
  }
}

/** The names of its own that the code uses. */
function namesInCode(pattern: RegExp): string[] {
  const entries = ["quota_guard.ts", "quota_catchup.ts"]
    .map((name) => Deno.readTextFileSync(join(root, name)));
  return matches([...sources(), ...entries].join("\n"), pattern);
}

const FLAG = /(?<![\w-])--[a-z][a-z-]*/g;

/** The flags in the first columns of the tables below headings. */
function flagsBelow(...headings: string[]): string[] {
  return matches(headings.flatMap(tableNames).join(" "), FLAG);
}

Deno.test("README lists exactly the flags of quota_guard --help", () => {
  const shown = matches(GUARD_HELP + BATCH_HELP, FLAG);
  assertEquals(
    flagsBelow("### Flags of quota_guard", "### The batch"),
    shown,
  );
});

Deno.test("Every help of the guard fits a screen", () => {
  for (const help of [GUARD_HELP, BATCH_HELP]) {
    const lines = help.split("\n");
    assert(lines.length < 36, `${lines.length} lines`);
    for (const line of lines) assert(line.length <= 88, line);
  }
});

Deno.test("README lists exactly the flags of quota_catchup --help and its modes", () => {
  const setup = Object.values(SETUP_HELP).join("\n")
    .replaceAll(/quota_guard --\w+/g, "");
  assertEquals(
    flagsBelow(
      "### Flags of quota_catchup",
      "### Flags of quota_catchup for setting up",
    ),
    matches(CATCHUP_HELP + setup, FLAG),
  );
  assertEquals(
    flagsBelow("### Flags of quota_catchup for setting up"),
    matches(setup, FLAG),
  );
  const told = matches(CATCHUP_HELP, FLAG);
  for (const mode of SETUP_MODES) assert(told.includes(`--${mode}`), mode);
});

Deno.test("README names every environment variable, and no other", () => {
  // In quotes, or after a dollar sign or in backquotes in a help or message.
  const variable =
    /(?<=["'`$])CLAUDE(?:_[A-Z]+)*(?=["'`,. ;]|$)|\bQUOTA_[A-Z]+\b/gm;
  const ours = namesInCode(variable).filter((name) => !isMarker(name));
  assertEquals(tableNames("### Environment").toSorted(), ours);
  const named = matches(readme, /\b(?:CLAUDE|QUOTA)_[A-Z_]*[A-Z]\b/g)
    .filter((name) => !isMarker(name));
  // Claude Code's own.
  const foreign = ["CLAUDE_CODE_RETRY_WATCHDOG", "CLAUDE_CONFIG_DIR"];
  assertEquals(
    named.filter((n) => !ours.includes(n) && !foreign.includes(n)),
    [],
  );
});

function isMarker(name: string): boolean {
  return markersInCode().includes(name) || name === "CLAUDE_QUOTA" ||
    name === "CLAUDE_QUOTA_JOB_";
}

function markersInCode(): string[] {
  const source = Deno.readTextFileSync(join(root, "lib", "marker.ts"));
  return matches(source, /(?<=`)CLAUDE_QUOTA_[A-Z_]*[A-Z]\b/g);
}

Deno.test("README lists every marker, ending and file", () => {
  const first = (name: string): string => name.split(" ")[0] ?? "";
  const table = tableNames("### Markers").map(first);
  assertEquals(
    sorted(table.filter((name) => name.startsWith("CLAUDE"))),
    markersInCode(),
  );
  const ending = Deno.readTextFileSync(join(root, "lib", "ending.ts"));
  const union = /type EndingName =([^;]+);/.exec(ending)?.[1] ?? "";
  assertEquals(
    sorted(table.filter((name) => !name.startsWith("CLAUDE"))),
    matches(union, /(?<=")[a-z]+(?=")/g),
  );
  const files = namesInCode(/(?<=")[a-z]+(?:\.[a-z]+)+(?=")/g)
    .filter((name) => /\.(json|log|lock)$/.test(name));
  for (const file of files) {
    assert(tableNames("### Files").includes(file), file);
  }
});

Deno.test("README's plists read the same by two readers", async () => {
  const found = plists();
  assertEquals([...found.keys()], [
    "com.me.post",
    "com.me.nightly",
    CATCHUP_LABEL,
  ]);
  for (const [label, text] of found) {
    const path = `${label}.plist`;
    assert(readme.includes(`\`${path}\``), path);
    const bytes = new TextEncoder().encode(text);
    const agent = await parseLaunchAgent(path, bytes);
    const other = readPlistXml(text) as PlistDict;
    assertEquals(agent.label, other.Label);
    assertEquals(agent.arguments, other.ProgramArguments);
    assertEquals(agent.calendar, other.StartCalendarInterval);
    const guarded = label !== CATCHUP_LABEL;
    const log = guarded ? label : "claude-quota-catchup";
    assertEquals(agent.stderrPath, `/Users/me/Library/Logs/${log}.log`);
    assertEquals(agent.stderrPath, agent.stdoutPath);
    assertEquals(isGuarded(agent), guarded);
    if (!guarded) continue;
    const options = guardOptions(agent);
    assertEquals(options.label, label);
    assertEquals(options.priority, label === "com.me.post");
    assertEquals(options.expires, label === "com.me.post" ? 3 * 3600 : null);
  }
});

Deno.test("README starts the guard with the flags that the guard gives its shim", async () => {
  const self = {
    interpreter: "/opt/homebrew/bin/deno",
    script: "/Users/me/.local/bin/quota_guard.js",
  };
  const expected = guardCommand(self, "/Users/me/.local/state/claude-quota");
  for (const [label, text] of plists()) {
    const bytes = new TextEncoder().encode(text);
    const { arguments: words } = await parseLaunchAgent(label, bytes);
    if (!words.includes("--job")) continue;
    assertEquals(words.slice(0, words.indexOf("--job")), expected);
  }
});

Deno.test("README's shell lines call the scripts in a way they take", () => {
  const lines = blocks("sh").join("\n").replaceAll("\\\n", " ").split("\n");
  let seen = 0;
  for (const line of lines) {
    const words = shellWords(line, () => undefined).map((word) => word.text);
    const at = words.findIndex((word) =>
      /(?:^|\/)quota_(?:guard|catchup)\.js$/.test(word)
    );
    if (at < 0) continue;
    seen++;
    const args = words.slice(at + 1);
    if (words[at]?.endsWith("guard.js")) {
      const command = parseGuardArguments(args);
      assert(command.mode !== "claude", line);
      if (command.mode === "batch") {
        parseBatchArguments(command.own, command.command);
      }
      continue;
    }
    const mode = setupMode(args);
    if (mode === null) parseCatchupArguments(args);
    else parseSetupArguments(mode, args);
  }
  assert(seen >= 7, `${seen} lines seen`);
});

Deno.test("README's links lead somewhere", () => {
  const anchors = readme.replace(/```[\s\S]*?```/g, "").split("\n")
    .filter((line) => /^#+ /.test(line))
    .map((line) =>
      line.replace(/^#+ /, "").toLowerCase().replace(/[^\w\s-]/g, "")
        .replaceAll(" ", "-")
    );
  const links = [...readme.matchAll(/\]\(([^)]+)\)/g)].map(([, to = ""]) => to);
  for (const link of links) {
    if (link.startsWith("#")) assert(anchors.includes(link.slice(1)), link);
    else if (!link.startsWith("https://")) Deno.statSync(join(root, link));
  }
  const contents = /Contents: ([\s\S]*?)\n\n/.exec(readme)?.[1] ?? "";
  for (const [, title = ""] of readme.matchAll(/^## (.+)$/gm)) {
    assert(contents.replaceAll("\n", " ").includes(`[${title}]`), title);
  }
});

Deno.test("README, deno.json and the checks agree on tasks, modules and version", () => {
  const config = JSON.parse(Deno.readTextFileSync(join(root, "deno.json")));
  const tasks = tableNames("## Development").map((name) =>
    name.replace("deno task ", "")
  );
  for (const task of tasks) assert(task in config.tasks, task);
  for (const task of Object.keys(config.tasks)) {
    assert(readme.includes(` task ${task}`), task);
  }
  const std = sorted(
    Object.keys(config.imports).filter((name) => name.startsWith("@std/"))
      .map((name) => name.split("/").slice(0, 2).join("/")),
  );
  const shown = JSON.parse(block("json", "## Development"));
  assertEquals(sorted(Object.keys(shown)), std);
  for (const name of std) assert(shown[name].startsWith(`jsr:${name}@`), name);
  const ci = Deno.readTextFileSync(join(root, ".ci", "run"));
  const [, version = ""] = /^deno=(\S+)$/m.exec(ci) ?? [];
  assertEquals(matches(readme, /(?<=deno@)[\d.]+\d/g), [version]);
  assert(section("## Install").includes(`tested with ${version}`));
});
