import { assertEquals, assertMatch } from "@std/assert";
import { verdictTable } from "../lib/catchup_table.ts";
import { Stage } from "./catchup_stage.ts";

async function tableOf(
  stage: Stage,
  options: { all: boolean; colour: boolean },
): Promise<string[]> {
  return verdictTable(await stage.run({ dryRun: true }), options);
}

Deno.test("verdictTable() shows what is owed first, then the rest, and counts", async () => {
  using stage = new Stage();
  stage.job("a-done", { log: [stage.ran("a-done")] });
  stage.job("b-waits", { unloaded: true });
  stage.job("c-owed");
  stage.job("d-post", { flags: ["--priority"] });
  const all = await tableOf(stage, { all: true, colour: false });
  assertEquals(
    all.map((line) => line.split("  ")[0]),
    [
      "JOB",
      "d-post",
      "c-owed",
      "b-waits",
      "a-done",
      "2 owed and ready, 1 owed and waiting, 4 LaunchAgents in all",
    ],
  );
  assertMatch(all[1] ?? "", /daily 08:00 +kick +skipped 08:04 \(quota\)$/);
  assertMatch(all[3] ?? "", /wait +skipped 08:04 \(quota\); not loaded: run/);
  assertMatch(all[4] ?? "", / - +ran 12:04, exit 0$/);
  const owed = await tableOf(stage, { all: false, colour: false });
  assertEquals(owed.length, 5);
  assertMatch(owed.at(-1) ?? "", /4 LaunchAgents in all \(--all shows them\)$/);
});

Deno.test("verdictTable() aligns wide characters by what a terminal gives them", async () => {
  using stage = new Stage();
  stage.job("毎朝の日報を投稿");
  stage.job("daily-brief");
  const lines = await tableOf(stage, { all: true, colour: false });
  const columns = lines.slice(0, 3).map((line) => {
    const before = line.slice(0, line.search(/SCHEDULE|daily 08/));
    // Eight characters of two columns each.
    return before.length + (before.includes("日") ? 8 : 0);
  });
  assertEquals(new Set(columns).size, 1, lines.join("\n"));
});

Deno.test("verdictTable() colours lines only where it may, and lets nothing else command the terminal", async () => {
  using stage = new Stage();
  stage.job("owed");
  stage.plist("\x1b[2Jevil", [], { ProgramArguments: ["/bin/true"] });
  const plain = await tableOf(stage, { all: true, colour: false });
  assertEquals(plain.some((line) => line.includes("\x1b")), false);
  const coloured = await tableOf(stage, { all: true, colour: true });
  assertEquals(coloured[1]?.startsWith("\x1b[32mowed "), true);
  assertEquals(coloured[1]?.endsWith("\x1b[0m"), true);
  assertEquals(coloured.join("").includes("\x1b[2J"), false);
});

Deno.test("verdictTable() of nothing is one line", async () => {
  using stage = new Stage();
  stage.job("done", { log: [stage.ran("done")] });
  assertEquals(await tableOf(stage, { all: false, colour: false }), [
    "0 owed and ready, 0 owed and waiting, 1 LaunchAgent in all (--all shows them)",
  ]);
});
