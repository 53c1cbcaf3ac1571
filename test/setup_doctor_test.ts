import {
  assertEquals,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
} from "@std/assert";
import { join } from "@std/path/join";
import { openByHand } from "../lib/circuit.ts";
import type { Launchctl } from "../lib/launchctl.ts";
import { findingLines, ok, wrong } from "../lib/setup/finding.ts";
import { type Change, type State, updateState } from "../lib/state.ts";
import type { PlistDict } from "./plist_xml.ts";
import { Stage } from "./setup_stage.ts";

const CALENDAR = { StartCalendarInterval: { Hour: 7, Minute: 0 } };

/** A stage on which nothing is wrong: one wrapped job, and the catch-up. */
function healthy(keys: PlistDict = {}, flags: string[] = []): Stage {
  const stage = new Stage();
  job(stage, "good", keys, flags);
  stage.agent("local.claude-quota.catchup", {
    ProgramArguments: [stage.deno, "run", join(stage.bin, "quota_catchup.js")],
    StartInterval: 1800,
  });
  Deno.mkdirSync(join(stage.home, "Library", "Logs"));
  return stage;
}

function job(
  stage: Stage,
  label: string,
  keys: PlistDict = {},
  flags: string[] = [],
): void {
  const log = join(stage.home, "Library", "Logs", `${label}.log`);
  stage.agent(label, {
    ProgramArguments: [
      ...stage.guardWords,
      ...["--job", label, ...flags, "--", "/bin/sh", "-c", "claude -p hi"],
    ],
    ...CALENDAR,
    StandardOutPath: log,
    StandardErrorPath: log,
    ...keys,
  });
}

async function write(
  stage: Stage,
  change: (state: State) => Change<null>,
): Promise<void> {
  await updateState(stage.state, stage.host, change);
}

/** A run of `good` on the books. */
function ran(stage: Stage, exit: number, calls: number): Promise<void> {
  return write(stage, ({ books }) => ({
    books: {
      ...books,
      jobs: new Map(books.jobs).set("good", {
        outcome: "ran",
        ts: Math.floor(stage.host.now()) - 60,
        exit,
        reason: null,
        ending: null,
        calls,
        seconds: 1,
        owed_from: null,
      }),
    },
    result: null,
  }));
}

async function finds(stage: Stage, pattern: RegExp, code = 1): Promise<void> {
  const { code: found, text } = await stage.run("--doctor");
  assertMatch(text, pattern);
  assertEquals(found, code, text);
}

Deno.test("--doctor finds nothing wrong where nothing is, without a Mac", async () => {
  using stage = healthy();
  const { code, text } = await stage.run("--doctor");
  assertEquals(code, 0, text);
  assertNotMatch(text, /WRONG/);
  assertStringIncludes(text, 'claude: the real one is "~/.local/bin/claude"');
  assertStringIncludes(text, "no launchctl here");
  assertMatch(text, /1 jobs behind the guard; nothing wrong, 2 to know$/);
  const json = JSON.parse((await stage.run("--doctor", "--json")).text);
  assertEquals(json.wrong, 0);
  assertEquals(
    json.findings.every(({ level }: { level: string }) => level !== "wrong"),
    true,
  );
});

Deno.test("--doctor: the guard and its interpreter are there, and will be", async () => {
  {
    using stage = healthy();
    Deno.removeSync(stage.guard);
    await finds(
      stage,
      /good: "~\/.*quota_guard.js" is not there\n +-> .*--wrap good/,
    );
  }
  {
    using stage = healthy();
    const words = [...stage.guardWords];
    words[0] = stage.program(join(stage.home, ".npm/_npx/1/deno"));
    job(stage, "npx", {
      ProgramArguments: [...words, "--job", "npx", "--", "claude"],
    });
    await finds(stage, /npx: "~\/.npm\/_npx\/1\/deno" lies in npx's cache/);
  }
  {
    using stage = healthy();
    job(stage, "other", {
      EnvironmentVariables: { CLAUDE_QUOTA_DIR: "/elsewhere/state" },
    });
    await finds(
      stage,
      /other: it may not write its state folder "\/elsewhere\/state"/,
    );
  }
});

Deno.test("--doctor: what is not by --wrap gets a remedy that works", async () => {
  using stage = healthy();
  const python = stage.program(join(stage.home, "claude-quota-guard.py"));
  const words = ["--job", "old", "--", "/bin/sh", "-c", "claude -p hi"];
  job(stage, "old", { ProgramArguments: ["/bin/sh", python, ...words] });
  await finds(
    stage,
    /WRONG +old: it still starts "~\/claude-quota-guard.py", .*\n +-> .*--wrap old --reload/,
  );
  assertEquals((await stage.run("--wrap", "old")).code, 0);
  assertEquals((await stage.run("--doctor")).code, 0);
  job(stage, "line", {
    ProgramArguments: [
      ...["/bin/sh", "-c"],
      "python3 ~/bin/claude-quota-guard.py --job line -- ~/a",
    ],
  });
  await finds(
    stage,
    /WRONG +line: it still starts "~\/bin\/claude-quota-guard.py", .*\n +-> put the words of/,
  );
  job(stage, "shell", {
    ProgramArguments: ["/bin/sh", "-c", "/gone/quota_guard.js --job x -- y"],
  });
  await finds(
    stage,
    /shell: "\/gone\/.*" is not there\n +-> put the words of "~\/.*\/shell.plist" right/,
  );
});

Deno.test("--doctor: the guard understands its arguments", async () => {
  {
    using stage = healthy({}, ["--prio"]);
    await finds(
      stage,
      /good: cannot start, exit code 2: --prio is no flag of --job; did you mean --priority\?/,
    );
  }
  {
    using stage = healthy();
    const line = `exec ${stage.guard} --job shell --expires soon -- /bin/x`;
    job(stage, "shell", { ProgramArguments: ["/bin/zsh", "-c", line] });
    await finds(stage, /shell: cannot start, exit code 2: --expires takes/);
  }
  {
    using stage = healthy();
    job(stage, "bare", {
      ProgramArguments: [...stage.guardWords, "-p", "hi"],
    });
    await finds(stage, /bare: the guard is there without --job/);
  }
  {
    using stage = healthy();
    job(stage, "name", {
      ProgramArguments: [...stage.guardWords, "--job", "nickname", "--", "x"],
    });
    await finds(
      stage,
      /note +name: its markers and the books call it nickname/,
      0,
    );
    job(stage, "twin", {
      ProgramArguments: [...stage.guardWords, "--job", "nickname", "--", "x"],
    });
    await finds(stage, /name, twin: they share the job label nickname/);
  }
});

Deno.test("--doctor: what launchd would start again and again", async () => {
  {
    using stage = healthy({ KeepAlive: true });
    await finds(stage, /good: KeepAlive: launchd starts it again every 10 s/);
  }
  const onFailure = { KeepAlive: { SuccessfulExit: false } };
  {
    using stage = healthy(onFailure, ["--skip-exit", "75"]);
    await finds(stage, /good: KeepAlive and --skip-exit 75: .*\n.*leave out/);
  }
  {
    using stage = healthy(onFailure);
    assertEquals((await stage.run("--doctor")).code, 0);
  }
});

Deno.test("--doctor: logs that are lost or cannot be opened", async () => {
  const cases: [PlistDict, RegExp, number?][] = [
    [{ StandardErrorPath: "" }, /note +good: it has no StandardErrorPath/, 0],
    [
      { StandardErrorPath: "~/Library/Logs/x.log" },
      /WRONG +good: launchd expands neither ~ nor \$HOME/,
    ],
    [
      { StandardErrorPath: "/nowhere/at/all.log" },
      /the folder of its log "\/nowhere\/at\/all.log" is not there/,
    ],
    [{ StandardOutPath: "/" }, /its log "\/" is a folder/],
  ];
  for (const [keys, pattern, code] of cases) {
    using stage = healthy(keys);
    await finds(stage, pattern, code);
  }
  {
    using stage = healthy();
    const log = join(stage.home, "Library", "Logs", "good.log");
    Deno.writeTextFileSync(log, "", { mode: 0o444 });
    await finds(stage, /its log "~\/Library\/Logs\/good.log" is read-only/);
  }
  {
    using stage = healthy();
    Deno.mkdirSync(join(stage.home, "Desktop"));
    job(stage, "desk", {
      StandardErrorPath: join(stage.home, "Desktop", "x.log"),
      WorkingDirectory: "/Volumes/work/x",
    });
    await finds(stage, /desk: its logs lie in ~\/Desktop.*exit code 78/);
    await finds(stage, /note +desk: it works in \/Volumes\/work: give Full/);
  }
});

Deno.test("--doctor: calls that lead past the guard", async () => {
  const cases: [string[], RegExp | null][] = [
    [["/bin/zsh", "-lc", "claude -p hi"], /a login shell sets PATH anew/],
    [["/bin/bash", "-l", "-c", "x; claude -p"], /a login shell/],
    [["/bin/zsh", "-lc", '"$CLAUDE" -p hi'], null],
    [["/bin/zsh", "-c", "claude -p hi"], null],
    [
      ["/bin/sh", "-c", "/opt/homebrew/bin/claude -p hi"],
      /it calls \/opt\/homebrew\/bin\/claude by its path/,
    ],
    [
      ["/bin/sh", "-c", "CLAUDE_REAL_BIN=/opt/homebrew/bin/claude claude -p"],
      null,
    ],
    [["/bin/sh", "-c", "cd ~/claude && claude -p"], null],
    [
      ["/usr/bin/env", "/opt/homebrew/bin/claude", "-p"],
      /-> write claude in place of \/opt\/homebrew\/bin\/claude/,
    ],
    [["/bin/zsh", "-lc", "cd ~/jobs; ./a"], /in its script ~\/jobs\/a$/m],
    [["/bin/zsh", "-lc", "python3 -u ~/jobs/a"], /in its script ~\/jobs\/a$/m],
    [["/bin/zsh", "-lc", "bash ~/x > ~/jobs/a 2>>~/jobs/a"], null],
    [["/bin/zsh", "-lc", '"$CLAUDE" -p <~/jobs/a | tee ~/jobs/a'], null],
  ];
  for (const [command, pattern] of cases) {
    using stage = healthy();
    stage.program(join(stage.home, "jobs", "a"), "claude -p hi\n");
    job(stage, "good", {
      ProgramArguments: [
        ...stage.guardWords,
        ...["--job", "good", "--", ...command],
      ],
    });
    const { code, text } = await stage.run("--doctor");
    assertEquals(code, pattern === null ? 0 : 1, command.join(" ") + text);
    if (pattern !== null) assertMatch(text, pattern);
    // What was seen goes before what is suspected.
    await ran(stage, 0, 1);
    assertEquals((await stage.run("--doctor")).code, 0, command.join(" "));
  }
  using stage = healthy();
  const guard = stage.program(stage.guard, "#!/x\n'/usr/local/bin/claude'\n");
  const line = `'${guard}' --job shell -- '${guard}' --batch x -- claude -p x`;
  job(stage, "shell", { ProgramArguments: ["/bin/zsh", "-lc", line] });
  assertEquals((await stage.run("--doctor")).code, 0);
});

Deno.test("--doctor reads the scripts that a job names", async () => {
  using stage = healthy();
  const script = stage.program(
    join(stage.home, "my jobs", "a.sh"),
    "#!/bin/zsh -l\n# claude\nset -e\nclaude -p hi\n",
  );
  job(stage, "good", {
    ProgramArguments: [...stage.guardWords, "--job", "good", "--", script],
  });
  await finds(
    stage,
    /login shell[\s\S]*"\$CLAUDE" -p in its script ~\/my jobs\/a.sh/,
  );
});

Deno.test("--doctor: runs without a call, and those that could not start", async () => {
  using stage = healthy();
  await ran(stage, 0, 0);
  await finds(
    stage,
    /note +good: no call of claude was seen in its newest run/,
    0,
  );
  await ran(stage, 127, 0);
  await finds(stage, /good: its newest run ended with exit code 127/);
});

Deno.test("--doctor: the environment of jobs", async () => {
  using stage = healthy({
    EnvironmentVariables: {
      TZ: "Asia/Tokyo",
      CLAUDE_CODE_RETRY_WATCHDOG: "1",
    },
  });
  await finds(stage, /note +good: it runs with TZ=Asia\/Tokyo.* by UTC/, 0);
  await finds(stage, /note +good: CLAUDE_CODE_RETRY_WATCHDOG is set/, 0);
  job(stage, "home", { EnvironmentVariables: { HOME: "__HOME__" } });
  await finds(
    stage,
    /WRONG +home: HOME in its .* is "__HOME__", no whole path/,
  );
});

Deno.test("--doctor: claude is there, and is not the shim", async () => {
  using stage = healthy({ EnvironmentVariables: { PATH: "/nowhere" } });
  Deno.removeSync(join(stage.bin, "claude"));
  const shim = stage.program(
    join(stage.state, "bin", "claude"),
    "#!/bin/sh\nexec quota_guard.js\n",
  );
  Deno.symlinkSync(shim, join(stage.bin, "claude"));
  const { text } = await stage.run("--doctor");
  // Whatever this machine has in /usr/local/bin, the shim is not it.
  assertNotMatch(text, /the real one is "~/);
});

Deno.test("--doctor: a CLAUDE_REAL_BIN that is passed over", async () => {
  using stage = healthy({
    EnvironmentVariables: { CLAUDE_REAL_BIN: "/nonexist", PATH: "/nowhere" },
  });
  await finds(stage, /note +good: CLAUDE_REAL_BIN names "\/nonexist"/, 0);
});

Deno.test("--doctor: state folders", async () => {
  {
    using stage = healthy();
    stage.env.CLAUDE_QUOTA_DIR = "/elsewhere";
    stage.folder = "/elsewhere";
    await finds(stage, /in this terminal is "\/elsewhere", and no job uses/);
  }
  {
    using stage = healthy();
    const second = join(stage.home, "second");
    job(stage, "two", {
      EnvironmentVariables: { CLAUDE_QUOTA_DIR: second },
      ProgramArguments: [
        ...stage.guardWords.map((word) => word.replace(stage.state, second)),
        ...["--job", "two", "--", "claude"],
      ],
    });
    await finds(stage, /note +state: 2 state folders.* by good; .* by two/, 0);
  }
  {
    using stage = healthy();
    Deno.mkdirSync(stage.state, { recursive: true });
    Deno.chmodSync(stage.state, 0o755);
    await finds(stage, /is open to others\n +-> chmod 700/, 0);
    Deno.writeTextFileSync(join(stage.state, "jobs.json"), "[]");
    await finds(stage, /jobs.json" is no JSON object: the next job moves/);
    stage.uid = (Deno.uid() ?? 0) + 1;
    await finds(stage, /belongs to user \d+\n +-> sudo chown/);
  }
});

Deno.test("--doctor: what is in the state", async () => {
  using stage = healthy();
  const now = stage.host.now();
  await write(stage, ({ circuit, books }) => ({
    circuit: openByHand(circuit, now + 3600, "manual", now),
    books: {
      ...books,
      jobs: new Map([["gone", {
        outcome: "ran",
        ts: now,
        exit: 0,
        reason: null,
        ending: null,
        calls: 1,
        seconds: 1,
        owed_from: null,
      }]]),
      heartbeats: new Map([["catchup", now - 4 * 1800]]),
    },
    result: null,
  }));
  await finds(stage, /ok +state: .*circuit open until 13:00/, 0);
  await finds(stage, /held open by hand\n +-> quota_guard.js --close/, 0);
  await finds(stage, /without a plist: gone/, 0);
  await write(stage, ({ circuit }) => ({
    circuit: { ...circuit, hold: now - 60, reason: "quota" },
    result: null,
  }));
  const { text } = await stage.run("--doctor");
  assertMatch(text, /circuit open until/);
  assertNotMatch(text, /by hand/);
  const path = stage.agent("gone", { ProgramArguments: ["/bin/x"] });
  await finds(
    stage,
    /note +state: no longer behind the guard: gone\n +-> .*--wrap gone/,
    0,
  );
  Deno.removeSync(path);
  await finds(stage, /note +catch-up: .* was here last 2 h ago/, 0);
  await write(stage, ({ books }) => ({
    books: { ...books, heartbeats: new Map([["catchup", now - 60]]) },
    result: null,
  }));
  await finds(stage, /ok +catch-up: .*was here 1 min ago/, 0);
});

Deno.test("--doctor: nothing catches up, or two do", async () => {
  using stage = healthy();
  stage.agent("second", { ProgramArguments: ["/x/quota_catchup.js"] });
  await finds(stage, /note +catch-up: started by more than one agent/, 0);
  Deno.removeSync(join(stage.agents, "second.plist"));
  Deno.removeSync(join(stage.agents, "local.claude-quota.catchup.plist"));
  await finds(stage, /WRONG +catch-up: .*\n +-> quota_catchup.js --install/);
});

Deno.test("--doctor: files that cannot be read, and jobs without the guard", async () => {
  using stage = healthy();
  stage.agent("broken", "<plist>");
  stage.agent("bare", { ProgramArguments: ["claude", "-p"], ...CALENDAR });
  await finds(stage, /note +~\/.*broken.plist: cannot be read/, 0);
  await finds(
    stage,
    /without the guard by bare\n +-> quota_catchup.js --wrap bare/,
    0,
  );
});

/** A launchctl that knows what `print` shows of each label. */
function launchctlWith(
  prints: Record<string, string>,
  disabled = "",
): Launchctl {
  return {
    domain: "gui/501",
    run: ([verb, target = ""]) => {
      const label = target.split("/")[2] ?? "";
      const stdout = verb === "print" ? prints[label] : disabled;
      return Promise.resolve({
        code: stdout === undefined ? 113 : 0,
        stdout: stdout ?? "",
        stderr: "",
        timedOut: false,
      });
    },
  };
}

function print(label: string, path: string, args: string[], rest = ""): string {
  return `gui/501/${label} = {\n\tpath = ${path}\n\tstate = not running\n\n` +
    `\targuments = {\n${args.map((arg) => `\t\t${arg}\n`).join("")}\t}\n` +
    `\n\tdomain = gui/501\n\truns = 1\n${rest}}\n`;
}

Deno.test("--doctor: what launchd holds", async () => {
  using stage = healthy();
  const label = "local.claude-quota.catchup";
  const script = join(stage.bin, "quota_catchup.js");
  const path = (label: string): string => join(stage.agents, `${label}.plist`);
  const catchup = print(label, path(label), [stage.deno, "run", script]);
  const args = [
    ...stage.guardWords,
    ...["--job", "good", "--", "/bin/sh", "-c", "claude -p hi"],
  ];
  const calendar = (hour: number): string =>
    "\tevent triggers = {\n\t\tgood.1 => {\n" +
    "\t\t\tstream = com.apple.launchd.calendarinterval\n\t\t\tdescriptor = {\n" +
    `\t\t\t\t"Minute" => 0\n\t\t\t\t"Hour" => ${hour}\n\t\t\t}\n\t\t}\n\t}\n`;
  const sees = async (
    good: string | undefined,
    pattern: RegExp,
    code = 1,
    disabled = "",
  ): Promise<void> => {
    const prints = { [label]: catchup, ...(good && { good }) };
    stage.launchctl = launchctlWith(prints, disabled);
    await finds(stage, pattern, code);
  };
  await sees(
    print("good", path("good"), args, calendar(7)),
    /nothing wrong/,
    0,
  );
  await sees(
    undefined,
    /good: it is not loaded\n.*launchctl bootstrap gui\/501/,
  );
  await sees(
    print("good", path("good"), args.slice(-3)),
    /good: it is loaded with other arguments than its file has/,
  );
  await sees(
    print("good", path("good"), args, calendar(8)),
    /good: it is loaded with another calendar/,
  );
  await sees(
    print("good", "/old/good.plist", args),
    /launchd has loaded it from "\/old\/good.plist"/,
  );
  await sees(
    print("good", path("good"), args),
    /good: it is disabled\n.*launchctl enable gui\/501\/good/,
    1,
    '\t"good" => disabled\n',
  );
});

Deno.test(
  "findingLines() puts what is wrong first",
  { permissions: "none" },
  () => {
    assertEquals(
      findingLines([ok("a", "fine"), wrong("b", "bad", "mend it")], false),
      ["WRONG  b: bad", "       -> mend it", "ok     a: fine"],
    );
    assertEquals(findingLines([ok("a", "fine")], true), [
      "\x1b[32mok   \x1b[0m  a: fine",
    ]);
  },
);
