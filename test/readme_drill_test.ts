/** What the README says to copy and to type, copied and typed. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path/join";
import { parseLaunchAgent } from "../lib/launch_agent.ts";
import { CATCHUP_LABEL } from "../lib/setup/catchup_agent.ts";
import { executable, textOf } from "./files.ts";
import {
  ReadersHome,
  readersPlists,
  unguarded,
  withPath,
  ZSH,
} from "./readers_home.ts";
import { block, blocks, plists, section } from "./readme.ts";

Deno.test("README's plists live through a limit with the permissions they name", async () => {
  await using home = new ReadersHome();
  await home.install();
  await home.load(readersPlists());
  home.claude.script("limit");
  assertMatch(
    await home.slot("com.me.nightly"),
    /^CLAUDE_QUOTA_JOB_SKIPPED job=com\.me\.nightly reason=quota-during-run exit=1 /m,
  );
  assertMatch(
    await home.slot("com.me.post"),
    /^CLAUDE_QUOTA_JOB_SKIPPED job=com\.me\.post reason=priority-probe-quota exit=1 /m,
  );
  assertMatch(await home.slot("com.me.post"), / reason=quota remaining=\d+s /);
  assertEquals(textOf(join(home.path, "jobs", "posted.md")), "");
  await home.typeWell("~/.local/bin/quota_guard.js --close");
  home.claude.script("ok");
  const round = await home.round();
  assertMatch(
    round,
    /probe: claude answers\n.*post: kicked.*\n.*post: ran, exit 0.*\n.*nightly: kicked.*\n.*nightly: ran, exit 0/,
  );
  assertEquals(home.claude.calls().length, 3);
  assertEquals(textOf(join(home.path, "jobs", "posted.md")), "hello\n");
  assertEquals(textOf(join(home.path, "nightly.md")), "hello\n");
  for (const { name } of Deno.readDirSync(home.logs)) {
    const log = textOf(join(home.logs, name));
    assert(!/NotCapable|requires|not watched/i.test(log), log);
  }
  assert(textOf(join(home.ownState, "jobs.json")).includes("com.me.post"));
  const [, , again = ""] = blocks("sh", section("### Load them"));
  for (const line of again.trim().split("\n")) await home.typeWell(line);
  assertEquals(await home.round(), "");
});

Deno.test("README's fire drill shows what it promises", async () => {
  await using home = new ReadersHome();
  await home.install();
  await home.load(readersPlists());
  const [enter = "", ...lines] = block("sh", "## Fire drill").trim()
    .split("\n");
  let seen = "";
  for (const line of lines) {
    seen += await home.typeWell(`${enter} && ${line}`);
    if (line.includes("kickstart")) await home.ended("com.me.nightly");
  }
  const promised = [...section("## Fire drill").matchAll(/^\d\. /gm)];
  assertEquals(promised.length, 5);
  for (
    const words of [
      "the circuit is open until ",
      "CLAUDE_QUOTA_JOB_SKIPPED job=com.me.nightly reason=manual",
      "Circuit OPEN",
      "skipped (manual)",
      "probe: claude answers",
      "com.me.nightly: kicked",
    ]
  ) {
    assert(seen.includes(words), `${words} in ${seen}`);
    const text = section("## Fire drill").replace(/\s+/g, " ");
    assert(text.includes(`\`${words.trim()}`), `README: ${words}`);
  }
  assertMatch(seen, /com\.me\.nightly +daily 03:30 +kick +skipped/);
  assertMatch(seen, /com\.me\.nightly: ran, exit 0/);
});

Deno.test("README's set-up makes its plists, and taking it out leaves no trace", async () => {
  await using home = new ReadersHome();
  await home.install();
  const jobs = new Map(
    ["com.me.post", "com.me.nightly"].map((
      label,
    ) => [label, unguarded(plists().get(label) ?? "")]),
  );
  for (const [label, text] of jobs) {
    home.save(label, text.replaceAll("/Users/me", home.path));
  }
  const before = [...jobs.keys()].map((label) => home.textOfAgent(label));
  for (const label of jobs.keys()) {
    await home.typeWell(
      `launchctl bootstrap gui/$(id -u) ~/Library/LaunchAgents/${label}.plist`,
    );
  }
  const [setUp = "", takeOut = ""] = blocks("sh", section("## Set up"));
  const [enter = "", all = "", ...lines] = setUp.trim().split("\n");
  // Nobody is there to be asked: it names what to say instead.
  const asked = await home.typeWell(`${enter} && ${all}`);
  assertMatch(asked, /--wrap com\.me\.nightly com\.me\.post/);
  for (const line of ["--wrap com.me.nightly --reload", ...lines]) {
    const words = line.startsWith("--") ? `./quota_catchup.js ${line}` : line;
    await home.typeWell(`${enter} && ${words}`);
  }
  for (const label of jobs.keys()) {
    const read = (text: string): Promise<{ arguments: string[] }> =>
      parseLaunchAgent(label, new TextEncoder().encode(text));
    const made = await read(home.textOfAgent(label));
    const shown = await read(
      (plists().get(label) ?? "").replaceAll("/Users/me", home.path),
    );
    assertEquals(made.arguments.slice(1), shown.arguments.slice(1));
  }
  const own = join(home.agents, `${CATCHUP_LABEL}.plist`);
  Deno.writeTextFileSync(
    own,
    withPath(textOf(own)).replaceAll("/Users/me", home.path),
  );
  await home.typeWell(
    `launchctl bootout gui/$(id -u)/${CATCHUP_LABEL}; ` +
      `launchctl bootstrap gui/$(id -u) '${own}'`,
  );
  home.claude.script("limit");
  assertMatch(await home.slot("com.me.nightly"), /_SKIPPED .*quota-during-run/);
  await home.typeWell("~/.local/bin/quota_guard.js --close");
  home.claude.script("ok");
  assertMatch(await home.round(), /com\.me\.nightly: ran, exit 0/);
  const [, ...out] = takeOut.trim().split("\n");
  for (const line of out) await home.typeWell(`${enter} && ${line}`);
  assertEquals(
    [...jobs.keys()].map((label) => home.textOfAgent(label)),
    before,
  );
  assertEquals([...Deno.readDirSync(home.agents)].length, jobs.size);
});

/** The nightly job with another command behind its dashes. */
function nightlyWith(words: string): string {
  const text = plists().get("com.me.nightly") ?? "";
  return text.replace(
    /<string>--<\/string>[\s\S]*?<\/array>/,
    () => `<string>--</string>${words}</array>`,
  );
}

Deno.test({
  name: "README's recipe for login shells leads through the guard",
  ignore: ZSH === undefined,
  fn: async () => {
    await using home = new ReadersHome();
    await home.install();
    const other = join(home.path, "other bin");
    Deno.mkdirSync(other);
    executable(join(other, "claude"), "echo other");
    Deno.writeTextFileSync(
      join(home.path, ".zprofile"),
      `PATH='${other}':$PATH\n`,
    );
    const recipe = block("xml", "### Login shells");
    const words = /<string>--<\/string>([\s\S]*?)<\/array>/.exec(recipe)?.[1] ??
      "";
    assert(words.includes("$CLAUDE"));
    const cases = [
      { text: words, through: true },
      { text: words.replace('"$CLAUDE"', "claude"), through: false },
    ];
    for (const { text, through } of cases) {
      home.save("com.me.nightly", nightlyWith(text));
      await home.typeWell(
        "perl -pi -e 's|/Users/me/|$ENV{HOME}/|g' ~/Library/LaunchAgents/*.plist; " +
          "launchctl bootstrap gui/$(id -u) ~/Library/LaunchAgents/com.me.nightly.plist",
      );
      assertMatch(await home.slot("com.me.nightly"), /_RAN .* exit=0 /);
      assertEquals(home.claude.calls().length, 1);
      const status = await home.typeWell(
        "~/.local/bin/quota_guard.js --status",
      );
      assertEquals(status.includes("no call seen"), !through);
      await home.typeWell("launchctl bootout gui/$(id -u)/com.me.nightly");
    }
  },
});

Deno.test("README's second account has a circuit of its own, and one catch-up serves both", async () => {
  await using home = new ReadersHome();
  await home.install();
  const recipe = section("### Two accounts");
  const environment = block("xml", "### Two accounts");
  const look = block("sh", "### Two accounts");
  const folder = "/Users/me/.local/state/claude-quota";
  assert(recipe.includes(`--allow-write=${folder}-work`));
  const agents = readersPlists();
  const nightly = agents.get("com.me.nightly") ?? "";
  agents.set(
    "com.me.nightly",
    nightly.replace(folder, `${folder}-work`)
      .replace(/<\/dict>\n<\/plist>/, `${environment}$&`),
  );
  const catchup = agents.get(CATCHUP_LABEL) ?? "";
  agents.set(
    CATCHUP_LABEL,
    catchup.replace(folder, `${folder},${folder}-work`),
  );
  await home.load(agents);
  home.claude.script("limit", "ok");
  assertMatch(await home.slot("com.me.nightly"), /_SKIPPED .*quota-during-run/);
  assertEquals(
    home.claude.calls()[0]?.env.CLAUDE_CONFIG_DIR,
    `${home.path}/.claude-work`,
  );
  assertMatch(await home.slot("com.me.post"), /_RAN .* exit=0 /);
  assertMatch(await home.typeWell(look.trim()), /^Circuit OPEN/);
  await home.typeWell(look.trim().replace("--status", "--close"));
  assertMatch(await home.round(), /com\.me\.nightly: ran, exit 0/);
});

Deno.test("README's recipe for a wording names the rule that decided", async () => {
  await using home = new ReadersHome();
  await home.install();
  const line = block("sh", "### When a limit is not recognised");
  const start = Date.now() / 1000;
  const { ending, window, reset_at } = JSON.parse(await home.typeWell(line));
  assertEquals([ending, window], ["limit", "five_hour"]);
  // Within the minute that is shown it is the one that has just come.
  assert(reset_at > start - 60);
});

Deno.test("README's progress gate and batch do what it says", async () => {
  await using home = new ReadersHome();
  await home.install();
  Deno.mkdirSync(join(home.path, "bin"));
  executable(
    join(home.path, "bin", "posts.sh"),
    "mkdir -p ~/posts/done; echo 1 > ~/posts/done/one.json; exit 9",
  );
  const gate = await home.type(block("sh", "### The progress gate"));
  assertEquals(gate.code, 9);
  const [promised = ""] = blocks("console", section("### The progress gate"));
  assert(gate.stderr.includes(promised.trim()), gate.stderr);

  Deno.removeSync(join(home.path, "posts"), { recursive: true });
  Deno.writeTextFileSync(join(home.path, "topics.txt"), "tea\n\ncakes\n");
  home.claude.script("ok END");
  const batch = await home.typeWell(block("sh", "### The batch"));
  assertMatch(batch, /^done=2\/2 failed=0 left=0/m);
  assertEquals(textOf(join(home.path, "posts", "tea.md")), "END\n");
  const asked = home.claude.calls().map((call) => call.arguments);
  assert(asked[0]?.includes("Write about tea"), asked[0]);
  const verify = "quota_guard.js --batch topics.txt --into ~/posts " +
    "--name '{}.md' --ends-with END --verify";
  assertMatch(await home.typeWell(verify), /^OK$/m);
  Deno.writeTextFileSync(join(home.path, "posts", "cakes.md"), "cut off");
  const faults = await home.type(verify);
  assertEquals(faults.code, 1);
  const [fault = ""] = /[a-z0-9]+(?:-[a-z0-9]+)+/.exec(faults.stdout) ?? [];
  assert(
    section("## Budget stops and batches").includes(`\`${fault}\``),
    fault,
  );
});
