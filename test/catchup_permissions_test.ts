import { assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path/join";
import { CatchupHome } from "./catchup_home.ts";
import { type Finished, runGuard } from "./harness.ts";
import { type Kind, kinds } from "./script.ts";

/** The least that the catch-up works with, as its plist has it. */
function narrow(home: CatchupHome): Record<string, readonly string[]> {
  const launchctl = join(home.bin, "launchctl");
  return {
    // On a Mac launchctl needs no reading: it is where every Mac has it.
    read: [home.agents, home.logs, home.state, launchctl],
    write: [home.state],
    run: [launchctl, Deno.execPath(), "/bin/ps", "/bin/kill"],
    env: [],
    sys: ["uid"],
  };
}

function runNarrow(
  home: CatchupHome,
  kind: Kind,
  allowed: Record<string, readonly string[]>,
  flags: string[] = [],
  env: Record<string, string> = {},
): Promise<Finished> {
  const words = home.words("quota_catchup", { kind })
    .filter((word) => !word.startsWith("--allow-"));
  const permissions = Object.entries(allowed).map(([name, scope]) =>
    `--allow-${name}${scope.length > 0 ? `=${scope.join(",")}` : ""}`
  );
  words.splice(2, 0, ...permissions);
  return home.run([...words, ...flags], { env });
}

async function owed(home: CatchupHome): Promise<void> {
  await home.job("com.me.a", "true", {
    EnvironmentVariables: {
      HOME: home.path,
      PATH: home.env.PATH ?? "",
      CLAUDE_QUOTA_DIR: home.state,
    },
  });
}

for (const kind of kinds) {
  Deno.test(`quota_catchup needs no more than its narrow permissions, from ${kind}`, async () => {
    await using home = new CatchupHome();
    await owed(home);
    const env = { LD_LIBRARY_PATH: "/nowhere", DYLD_LIBRARY_PATH: "/nowhere" };
    const round = await runNarrow(home, kind, narrow(home), [], env);
    assertEquals([round.code, round.stderr], [0, ""], round.stdout);
    assertEquals([home.starts("com.me.a"), home.claude.calls().length], [1, 1]);
    const folder = Deno.statSync(home.state);
    assertEquals((folder.mode ?? 0) & 0o777, 0o700);
  });
}

Deno.test("quota_catchup says which permission is missing, and starts nothing", async () => {
  await using home = new CatchupHome();
  await owed(home);
  await runGuard(home, ["--close"]);
  const all = narrow(home);
  const launchctl = join(home.bin, "launchctl");
  const without = (name: string, ...paths: string[]): string[] =>
    (all[name] ?? []).filter((path) => !paths.includes(path));
  for (
    const [changed, code, words] of [
      [{ read: without("read", home.agents) }, 1, /LaunchAgents.*--allow-read/],
      [
        { read: without("read", home.logs) },
        0,
        /com\.me\.a.*its log.*--allow-read/,
      ],
      [{ read: without("read", home.state) }, 1, /state.*--allow-read/],
      [{ write: ["/nowhere"] }, 1, /catchup\.lock.*--allow-write/],
      [
        { run: without("run", launchctl) },
        0,
        /com\.me\.a: cannot tell: .*--allow-run/,
      ],
      [
        { run: without("run", Deno.execPath()) },
        1,
        /probe: .*--allow-run.*what is owed waits/,
      ],
      [{ env: ["HOME"] }, 1, /--allow-env/],
      [{ sys: ["hostname"] }, 1, /"uid".*--allow-sys/],
    ] as const
  ) {
    const round = await runNarrow(home, "source", { ...all, ...changed }, [
      "--all",
    ]);
    const output = round.stdout + round.stderr;
    assertMatch(output, words, JSON.stringify(changed));
    assertEquals(round.code, code, output);
  }
  assertEquals([home.starts("com.me.a"), home.claude.calls().length], [0, 0]);
});

Deno.test("quota_catchup does not take a second account that it may not read for one without a limit", async () => {
  await using home = new CatchupHome();
  await home.job("com.me.a", "true", {
    EnvironmentVariables: { CLAUDE_QUOTA_DIR: join(home.path, "second") },
  });
  const round = await runNarrow(home, "source", narrow(home), ["--no-probe"]);
  assertMatch(round.stdout + round.stderr, /second.*--allow-(read|write)/);
  assertEquals([home.starts("com.me.a"), round.code], [0, 1]);
});
