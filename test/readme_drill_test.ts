/** What the README says to copy and to type, copied and typed. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { dirname } from "@std/path/dirname";
import { join } from "@std/path/join";
import { noonZone } from "./daytime.ts";
import { executable, textOf } from "./files.ts";
import { type Finished, Home, until } from "./harness.ts";
import { block, blocks, plists, section } from "./readme.ts";
import { root } from "./script.ts";

const ZSH = ["/bin/zsh", "/usr/bin/zsh"].find((path) => textOf(path) !== "");

/** A home that has followed the README's section "Install". */
class ReadersHome extends Home {
  readonly zone = noonZone(Date.now() / 1000);
  /** Where the state is when nothing says otherwise. */
  readonly ownState = join(this.path, ".local", "state", "claude-quota");
  /** Where the official installer puts it. */
  readonly deno = join(this.path, ".deno", "bin", "deno");

  constructor() {
    super();
    Deno.mkdirSync(dirname(this.deno), { recursive: true });
    Deno.symlinkSync(Deno.execPath(), this.deno);
    executable(
      join(this.bin, "caffeinate"),
      '[ "$1" = -i ] && shift && exec "$@"',
    );
    // launchd knows its user's home and zone, whoever asks it to start a job.
    const launchctl = join(this.bin, "launchctl");
    executable(
      launchctl,
      `export HOME='${this.path}' TZ='${this.zone}'\n${textOf(launchctl)}`,
    );
    Deno.mkdirSync(join(this.path, "jobs"));
    const [script = ""] = blocks("sh", section("## Two plists to copy"));
    Deno.writeTextFileSync(join(this.path, "jobs", "post.sh"), script, {
      mode: 0o755,
    });
  }

  /** Types a line into a terminal. */
  type(line: string, env: Record<string, string> = {}): Promise<Finished> {
    return this.run(["/bin/sh", "-c", line], {
      env: {
        CLAUDE_QUOTA_DIR: null,
        PATH: `${this.bin}:${dirname(this.deno)}:/usr/bin:/bin`,
        TZ: this.zone,
        ...env,
      },
    });
  }

  async typeWell(line: string): Promise<string> {
    const { code, stdout, stderr } = await this.type(line);
    assertEquals(code, 0, `${line}: ${stdout}${stderr}`);
    return stdout + stderr;
  }

  /** What `deno task install` does once the bundles are made. */
  async install(): Promise<void> {
    this.words("quota_guard", { kind: "bundle" });
    this.words("quota_catchup", { kind: "bundle" });
    const done = await this.run(
      [Deno.execPath(), "run", "-A", "--quiet", "tools/install.ts"],
      { cwd: root, env: { CLAUDE_QUOTA_DIR: null } },
    );
    assertEquals(done.code, 0, done.stderr);
    assertMatch(done.stdout, /quota_guard\.js[\s\S]*quota_catchup\.js/);
  }

  /** Saves a plist of the README, with the programs of this home in it. */
  save(label: string, text: string): void {
    const here = text
      .replaceAll("/opt/homebrew/bin/deno", "/Users/me/.deno/bin/deno")
      .replaceAll("/usr/bin/caffeinate", "/Users/me/.local/bin/caffeinate")
      .replaceAll("/bin/launchctl", "/Users/me/.local/bin/launchctl")
      .replaceAll("/bin/zsh", ZSH ?? "/bin/zsh");
    Deno.writeTextFileSync(join(this.agents, `${label}.plist`), here);
  }

  /** Saves and loads the plists as the README says. */
  async load(texts: Map<string, string>): Promise<void> {
    for (const [label, text] of texts) this.save(label, text);
    const [paths = "", load = ""] = blocks("sh", section("## Load them"));
    await this.typeWell(paths.trim());
    for (const line of load.trim().split("\n")) await this.typeWell(line);
  }

  logOf(label: string): string {
    return textOf(join(this.logs, `${label}.log`));
  }

  /** Starts a job as launchd does at its slot; what it leaves in its log. */
  async slot(label: string): Promise<string> {
    const before = this.logOf(label).length;
    await this.typeWell(`launchctl kickstart gui/$(id -u)/${label}`);
    const marker = new RegExp(`^CLAUDE_QUOTA_JOB_(?:SKIPPED|RAN) .*\\n`, "m");
    return await until(() => {
      const log = this.logOf(label).slice(before);
      return marker.test(log) && log;
    }, `${label} has left its marker`);
  }

  /** Lets the catch-up's own agent make its round. */
  async round(): Promise<string> {
    const label = "com.me.quota-catchup";
    const before = this.logOf(label).length;
    await this.typeWell(`launchctl kickstart gui/$(id -u)/${label}`);
    await until(async () => {
      const print = `launchctl print gui/$(id -u)/${label}`;
      return /^\tlast exit code = \d/m.test(await this.typeWell(print));
    }, "the catch-up has ended");
    return this.logOf(label).slice(before);
  }
}

/** The catch-up's agent finds the stand-in for launchctl by its PATH. */
function withPath(text: string): string {
  return text.replace(
    /<\/dict>\n<\/plist>/,
    "<key>EnvironmentVariables</key><dict><key>PATH</key>" +
      "<string>/Users/me/.local/bin:/usr/bin:/bin</string></dict>$&",
  );
}

function readersPlists(): Map<string, string> {
  return new Map([...plists()].map(([label, text]) => [
    label,
    label === "com.me.quota-catchup" ? withPath(text) : text,
  ]));
}

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
  for (const label of plists().keys()) {
    assert(!/NotCapable|requires|not watched/i.test(home.logOf(label)), label);
  }
  assert(textOf(join(home.ownState, "jobs.json")).includes("com.me.post"));
  const [, , again = ""] = blocks("sh", section("## Load them"));
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
    if (line.includes("kickstart")) {
      await until(
        () => home.logOf("com.me.nightly").includes("_SKIPPED"),
        "the skip is in the log",
      );
    }
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
        "perl -pi -e 's|/Users/me|$ENV{HOME}|g' ~/Library/LaunchAgents/*.plist; " +
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
  const catchup = agents.get("com.me.quota-catchup") ?? "";
  agents.set(
    "com.me.quota-catchup",
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
  const { ending, window, reset_at } = JSON.parse(await home.typeWell(line));
  assertEquals([ending, window], ["limit", "five_hour"]);
  assert(reset_at > Date.now() / 1000);
});
