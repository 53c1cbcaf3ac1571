import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "@std/path/join";
import { isCatchup, type LaunchAgent } from "../lib/launch_agent.ts";
import { catchupWords } from "../lib/setup/catchup_agent.ts";
import { textOf } from "./files.ts";
import { readPlistXml } from "./plist_xml.ts";
import { Stage } from "./setup_stage.ts";

const NAME = "local.claude-quota.catchup";

Deno.test("--install without launchctl writes the file and says what to run", async () => {
  using stage = new Stage();
  const { code, text } = await stage.run("--install", "--interval", "15m");
  assertEquals(code, 1);
  assertMatch(
    text,
    /no launchctl here; on the Mac run launchctl bootstrap gui/,
  );
  const path = join(stage.agents, `${NAME}.plist`);
  const log = join(stage.home, "Library", "Logs", "claude-quota-catchup.log");
  assertEquals(readPlistXml(textOf(path)), {
    Label: NAME,
    ProgramArguments: [
      stage.deno,
      ...["run", "--no-config", "--no-remote", "--no-npm", "--no-prompt"],
      ...["--quiet", "--allow-read", `--allow-write=${stage.state}`],
      `--allow-run=/bin/launchctl,${stage.deno},/bin/ps,/bin/kill,/usr/bin/plutil`,
      ...["--allow-env", "--allow-sys=uid"],
      join(stage.bin, "quota_catchup.js"),
    ],
    StartInterval: 900,
    StandardOutPath: log,
    StandardErrorPath: log,
    WorkingDirectory: join(stage.home, "Library", "Logs"),
  });
  const uninstalled = await stage.run("--uninstall");
  assertEquals(uninstalled.code, 1);
  assertMatch(uninstalled.text, /^local.*: "~\/.*\.plist" removed\n/);
  assertMatch(uninstalled.text, /on the Mac run launchctl bootout gui/);
  assertEquals([...Deno.readDirSync(stage.agents)], []);
  assertStringIncludes((await stage.run("--uninstall")).text, "not installed");
});

Deno.test("--install --dry-run writes nothing", async () => {
  using stage = new Stage();
  const { code, text } = await stage.run("--install", "--dry-run");
  assertEquals(code, 0);
  assertStringIncludes(text, "<integer>1800</integer>");
  assertEquals([...Deno.readDirSync(stage.agents)], []);
});

Deno.test("--install lets the catch-up write the state folder of each job", async () => {
  using stage = new Stage();
  const second = join(stage.home, "second account");
  stage.agent("a", {
    ProgramArguments: [...stage.guardWords, "--job", "a", "--", "x"],
    EnvironmentVariables: { CLAUDE_QUOTA_DIR: second },
  });
  stage.agent("b", {
    ProgramArguments: ["x"],
    EnvironmentVariables: { CLAUDE_QUOTA_DIR: "/not/guarded" },
  });
  const { text } = await stage.run("--install", "--dry-run");
  assertStringIncludes(
    text,
    "--allow-write=~/.local/state/claude-quota,~/second account<",
  );
});

Deno.test("catchupWords() gives all of a permission where a path has a comma", () => {
  using stage = new Stage();
  const world = stage.world([]);
  const self = { interpreter: "/opt/a,b/deno", script: "/x/quota_catchup.js" };
  assertEquals(
    catchupWords(world, self, []).filter((word) => /allow-run/.test(word)),
    ["--allow-run"],
  );
});

Deno.test("--install refuses while a round is at work, and leaves the file", async () => {
  using stage = new Stage();
  const path = stage.agent(NAME, { ProgramArguments: ["/old"] });
  const before = textOf(path);
  stage.launchctl = {
    domain: "gui/501",
    run: ([verb]) =>
      Promise.resolve({
        code: verb === "print" ? 0 : 1,
        stdout: `gui/501/${NAME} = {\n\tstate = running\n\tpid = 7\n}\n`,
        stderr: "",
        timedOut: false,
      }),
  };
  const { code, text } = await stage.run("--install");
  assertEquals(code, 1);
  assertMatch(text, /a round is at work; try again/);
  assertEquals(textOf(path), before);
});

Deno.test("--install says that launchd has it switched off, whatever bootstrap says", async () => {
  using stage = new Stage();
  stage.launchctl = {
    domain: "gui/501",
    run: ([verb]) =>
      Promise.resolve({
        code: verb === "print-disabled" ? 0 : verb === "print" ? 113 : 5,
        stdout: `\t"${NAME}" => disabled\n`,
        stderr: "",
        timedOut: false,
      }),
  };
  const { code, text } = await stage.run("--install");
  assertEquals(code, 1);
  assertMatch(text, /disabled: run launchctl enable gui\/501\/local/);
});

Deno.test("--install refuses an interpreter that will not last", async () => {
  using stage = new Stage();
  const passing = stage.program(
    join(stage.home, ".npm", "_npx", "1", "deno"),
    "another",
  );
  stage.interpreter = passing;
  const { code, text } = await stage.run("--install");
  assertEquals(code, 1);
  assertMatch(text, /npx's cache and will vanish: run this with \S+deno$/);
  assertEquals([...Deno.readDirSync(stage.agents)], []);
});

Deno.test("isCatchup() knows the catch-up, whoever has written its plist", () => {
  const agent = (args: string[]): LaunchAgent => ({
    path: "",
    label: "l",
    program: null,
    arguments: args,
    stdoutPath: null,
    stderrPath: null,
    environment: {},
    workingDirectory: null,
    calendar: undefined,
    hasStartInterval: false,
    startInterval: null,
    keepAlive: false,
    runAtLoad: false,
    disabled: null,
  });
  assertEquals(isCatchup(agent(["/deno", "run", "/x/quota_catchup.js"])), true);
  assertEquals(isCatchup(agent(["/x/quota-catchup"])), true);
  assertEquals(isCatchup(agent(["/bin/tail", "/x/quota_catchup.log"])), false);
});
