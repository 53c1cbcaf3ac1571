/** Setting up from an empty home to an empty home, as processes. */
import {
  assertEquals,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
} from "@std/assert";
import { join } from "@std/path/join";
import { executable, textOf } from "./files.ts";
import { InstalledHome } from "./setup_home.ts";

const CATCHUP = "local.claude-quota.catchup";

Deno.test("a new user wraps, installs, lives through a limit, and leaves no trace", async () => {
  await using home = new InstalledHome();
  const paths = {
    "com.me.digest": home.job("com.me.digest"),
    "com.me.post": home.job("com.me.post", { Program: "/bin/sh" }),
    "com.me.reply": home.job("com.me.reply"),
  };
  const before = Object.values(paths).map((path) =>
    Deno.readTextFileSync(path)
  );
  for (const path of Object.values(paths)) await home.load(path);

  const asked = await home.catchup(["--wrap", "--all"]);
  assertStringIncludes(
    asked,
    "quota_catchup.js --wrap com.me.digest com.me.post com.me.reply",
  );
  await home.catchup([
    ...["--wrap", "com.me.post", "--priority", "--expires", "6h", "--reload"],
  ]);
  await home.catchup(["--wrap", "com.me.digest", "com.me.reply", "--reload"]);
  assertStringIncludes(
    await home.catchup(["--install"]),
    "loaded, a round every 30 min",
  );
  assertMatch(await home.catchup(["--doctor"]), /3 jobs.*nothing wrong/);

  home.claude.script("limit");
  assertMatch(await home.slot("com.me.digest"), /reason=quota-during-run/);
  assertMatch(await home.slot("com.me.reply"), /reason=quota remaining/);
  assertMatch(await home.slot("com.me.post"), /reason=priority-probe-quota/);
  assertMatch(await home.guard(["--status"]), /OPEN until/);
  assertMatch(
    await home.catchup(["--explain", "com.me.reply"]),
    /next round +waits until the circuit closes/,
  );

  home.claude.script("ok");
  await home.guard(["--close"]);
  // As launchd would, with the narrow permissions of the installed agent.
  const told = join(home.path, "told");
  const notifier = executable(
    join(home.path, "tell"),
    `echo "$1" >> '${told}'`,
  );
  const round = await home.type(home.wordsOf(CATCHUP), 0, {
    CLAUDE_QUOTA_NOTIFY: `'${notifier}'`,
  });
  assertEquals(
    textOf(told),
    "claude: caught up com.me.post, com.me.digest, com.me.reply\n",
  );
  assertMatch(round, /com\.me\.post: ran, exit 0[\s\S]*com\.me\.digest: ran/);
  assertMatch(
    await home.catchup(["--explain", "com.me.reply"]),
    /next round +nothing: ran/,
  );
  assertMatch(await home.catchup(["--doctor"]), /3 jobs.*nothing wrong/);

  const uninstalled = await home.catchup(["--uninstall"]);
  assertMatch(
    uninstalled,
    /taken out of launchd, ".*" removed[\s\S]*Still behind the guard: com\.me\.digest/,
  );
  await home.catchup(["--unwrap", "--all", "--reload"]);
  assertEquals(
    Object.values(paths).map((path) => Deno.readTextFileSync(path)),
    before,
  );
  assertEquals([...Deno.readDirSync(home.agents)].length, 3);
  for (const label of Object.keys(paths)) {
    assertNotMatch(await home.launchctl("print", home.target(label)), /guard/);
  }
  assertNotMatch(await home.launchctl("list"), /catchup/);
});

Deno.test("--reload waits for no running job, and starts none without --now", async () => {
  await using home = new InstalledHome();
  const running = home.job("com.me.long", {
    ProgramArguments: ["/bin/sh", "-c", "sleep 600"],
  });
  home.job("com.me.load", { RunAtLoad: true });
  await home.load(running);
  await home.launchctl("kickstart", home.target("com.me.long"));
  const refused = await home.catchup(
    ["--wrap", "com.me.long", "com.me.load", "--reload"],
    1,
  );
  assertMatch(
    refused,
    /long: it is running \(running\).* when it has ended run launchctl bootout/,
  );
  assertMatch(refused, /load: RunAtLoad would start it at once: add --now/);
  assertMatch(
    await home.catchup(["--doctor"], 1),
    /long: it is loaded with other arguments than its file has\n.*bootout/,
  );
  await home.catchup(["--wrap", "com.me.load", "--reload", "--now"]);
  assertMatch(
    await home.launchctl("print", home.target("com.me.load")),
    /runs = 1/,
  );
  await home.launchctl("kill", "SIGKILL", home.target("com.me.long"));
  await home.ended("com.me.long");
  await home.catchup(["--wrap", "com.me.long", "--reload"]);
  assertMatch(
    await home.launchctl("print", home.target("com.me.long")),
    /quota_guard\.js/,
  );
  const [interpreter = ""] = home.wordsOf("com.me.load");
  assertEquals(Deno.realPathSync(interpreter), Deno.realPathSync(home.deno));
});

Deno.test("--install again takes over a new interval", async () => {
  await using home = new InstalledHome();
  await home.catchup(["--install"]);
  const text = await home.catchup(["--install", "--interval", "10m"]);
  assertStringIncludes(text, "a round every 10 min");
  const path = join(home.agents, `${CATCHUP}.plist`);
  assertMatch(Deno.readTextFileSync(path), /<integer>600<\/integer>/);
  assertEquals((Deno.statSync(path).mode ?? 0) & 0o777, 0o644);
  const loaded = textOf(join(home.launchd.folder, CATCHUP, "service.json"));
  assertMatch(loaded, /"StartInterval":600/);
  await home.launchctl("disable", home.target(CATCHUP));
  assertMatch(
    await home.catchup(["--install"], 1),
    /disabled: run launchctl enable/,
  );
  await home.launchctl("enable", home.target(CATCHUP));
  await home.catchup(["--install"]);
  assertMatch(await home.catchup(["--uninstall"]), /removed/);
  assertMatch(await home.catchup(["--uninstall"]), /was not installed/);
});

Deno.test("mistyped flags and modes say what was meant", async () => {
  await using home = new InstalledHome();
  assertMatch(
    await home.catchup(["--wrap", "x", "--prioritty"], 2),
    /--prioritty is no flag of --wrap; did you mean --priority\?/,
  );
  assertMatch(
    await home.catchup(["--doctr"], 2),
    /did you mean --doctor\?/,
  );
  assertMatch(
    await home.catchup(["--doctor", "--help"]),
    /^quota_catchup --doctor/,
  );
});
