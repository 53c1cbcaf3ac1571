/** Each permission that the README grants, taken away in turn; and no network. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path/join";
import { CatchupHome } from "../catchup_home.ts";
import { executable, textOf } from "../files.ts";
import { newest } from "../guard_steps.ts";
import { Home } from "../harness.ts";
import { plists } from "../readme.ts";
import { root, type Script } from "../script.ts";
import { InstalledHome } from "../setup_home.ts";
import { warningsOf } from "./guard_scene.ts";
import { inParallel } from "./pool.ts";
import type { Section } from "./report.ts";
import { killHome, runBounded } from "./run.ts";
import { canTrace } from "./strace.ts";

const bundle = { kind: "bundle" } as const;

/** All that the README's plists grant, and what is granted anywhere. */
export async function permissions(section: Section): Promise<void> {
  await ofTheGuard(section);
  await ofTheCatchup(section);
  await granted(section);
  await network(section);
}

/** The permissions in a plist of the README, with the paths of this home. */
function grantedTo(label: string, home: Home): string[] {
  const text = plists().get(label) ?? "";
  const here: Record<string, string> = {
    "/Users/me/.local/state/claude-quota": home.state,
    "/bin/launchctl": join(home.bin, "launchctl"),
    "/opt/homebrew/bin/deno": Deno.execPath(),
  };
  return [...text.matchAll(/<string>(--allow-[^<]*)<\/string>/g)]
    .map(([, flag = ""]) => {
      const [name = "", paths] = flag.split("=");
      return paths === undefined
        ? name
        : `${name}=${
          paths.split(",").map((path) => here[path] ?? path).join(",")
        }`;
    });
}

/** The words of a script with these permissions and no others. */
function wordsWith(
  home: Home,
  script: Script,
  flags: readonly string[],
): string[] {
  const words: string[] = home.words(script, bundle)
    .filter((word) => !word.startsWith("--allow-"));
  words.splice(2, 0, ...flags);
  return words;
}

function nameOf(flag: string): string {
  return flag.replace(/=.*/s, "");
}

/** Each of the guard's, and what that must lead to. */
async function ofTheGuard(section: Section): Promise<void> {
  const effects: Record<string, { ran: boolean; says: RegExp | null }> = {
    "nothing": { ran: true, says: null },
    "--allow-read": { ran: true, says: /requires read|Requires read/ },
    "--allow-write": { ran: true, says: /Requires write access/ },
    "--allow-run": { ran: false, says: /Requires run access/ },
    "--allow-env": { ran: true, says: /nothing is guarded: Cannot tell/ },
  };
  const tried = Object.keys(effects);
  await section.case("the guard's permissions are all tried", async () => {
    await using home = new Home();
    for (const label of ["com.me.post", "com.me.nightly"]) {
      const names = grantedTo(label, home).map(nameOf);
      assertEquals(["nothing", ...names].sort(), tried.sort());
    }
  });
  await inParallel(
    Object.entries(effects),
    ([taken, { ran, says }]) =>
      section.case(`${taken} taken from the guard`, async () => {
        await using home = new Home();
        const flags = grantedTo("com.me.post", home)
          .filter((flag) => nameOf(flag) !== taken);
        const run = await runBounded(home, [
          ...wordsWith(home, "quota_guard", flags),
          ...["--job", "mail", "--", "/bin/sh", "-c", "claude -p hi; exit 3"],
        ]);
        if (ran) {
          assertEquals([run.code, run.stdout], [3, "hello\n"], run.stderr);
        } else assertEquals([run.code, run.stdout], [126, ""], run.stderr);
        assertEquals(newest(run.stderr, "mail"), "RAN");
        const said = warningsOf(run);
        assertEquals(said.length, says === null ? 0 : 1, said.join("\n"));
        if (says !== null) assertMatch(said[0] ?? "", says);
      }),
  );
}

/** What becomes of a round that is to stop one job and to start another. */
interface Effect {
  /** The exit code: 1 anyway, since a job is stopped. */
  code: number;
  /** How many of the two jobs are started. */
  starts: number;
  says: RegExp;
}

/** Each of the catch-up's, each of its programs, and what that must lead to. */
async function ofTheCatchup(section: Section): Promise<void> {
  const label = "local.claude-quota.catchup";
  const effects: Record<string, Effect> = {
    "nothing": { code: 1, starts: 2, says: /killed \d+ of its children/ },
    "--allow-read": { code: 1, starts: 0, says: /--allow-read/ },
    "--allow-write": { code: 1, starts: 0, says: /--allow-write/ },
    "--allow-run": { code: 0, starts: 0, says: /--allow-run/ },
    "--allow-env": { code: 1, starts: 0, says: /--allow-env/ },
    "--allow-sys": { code: 1, starts: 0, says: /"uid".*--allow-sys/ },
    "launchctl": { code: 0, starts: 0, says: /cannot tell: .*--allow-run/ },
    "deno": { code: 1, starts: 0, says: /probe: .*--allow-run/ },
    "ps": { code: 1, starts: 2, says: /not looked for: .*--allow-run/ },
    "kill": { code: 1, starts: 2, says: /not looked for: .*--allow-run/ },
    // It is asked about plists that nobody else can read, and not there.
    "plutil": { code: 1, starts: 2, says: /killed \d+ of its children/ },
  };
  await section.case("the catch-up's permissions are all tried", async () => {
    await using home = new Home();
    const flags = grantedTo(label, home);
    const programs = flags.flatMap((flag) =>
      /^--allow-run=(.*)/s.exec(flag)?.[1]?.split(",") ?? []
    ).map((path) => path.replace(/.*\//s, ""));
    const names = ["nothing", ...flags.map(nameOf), ...programs];
    assertEquals(names.sort(), Object.keys(effects).sort());
  });
  await inParallel(
    Object.entries(effects),
    ([taken, { code, starts, says }]) =>
      section.case(`${taken} taken from the catch-up`, async () => {
        await using home = new CatchupHome();
        const env = {
          EnvironmentVariables: {
            HOME: home.path,
            PATH: home.env.PATH ?? "",
            CLAUDE_QUOTA_DIR: home.state,
          },
        };
        const up = join(home.path, "up");
        const stubborn =
          `sh -c 'trap "" TERM; echo > "${up}"; while :; do sleep 1; done' & sleep 600`;
        await home.job("com.me.a", stubborn, env);
        await home.job("com.me.b", "true", env);
        home.kickstartWaitsFor(up);
        const flags = grantedTo(label, home)
          .filter((flag) => nameOf(flag) !== taken)
          .map((flag) =>
            flag.replace(
              new RegExp(`(?<=[=,])[^,]*/${taken}(?:,|$)`),
              "",
            ).replace(/,$/, "")
          );
        const run = await runBounded(home, [
          ...wordsWith(home, "quota_catchup", flags),
          ...["--all", "--timeout", "1", "--grace", "3"],
        ]);
        // What is not looked for is left.
        killHome(home);
        const said = run.stdout + run.stderr;
        assertMatch(said, says);
        const started = ["com.me.a", "com.me.b"]
          .map((name) => home.starts(name));
        assertEquals([run.code, started.reduce((a, b) => a + b)], [
          code,
          starts,
        ], said);
      }),
  );
}

/** Whatever the project writes down or starts, these permissions and no others. */
async function granted(section: Section): Promise<void> {
  const allowed = /^--allow-(?:read|write|run|env|sys)$/;
  /** Words of claude's own that look like one. */
  const others = /--allow-dangerously-skip-permissions/g;
  const flagsOf = (text: string): string[] =>
    text.replace(others, "").match(/--allow-[a-z]+|--deny-[a-z]+/g) ?? [];
  await section.case("permissions as they are granted", () => {
    const files = [
      ...["quota_guard.ts", "quota_catchup.ts", "README.md"],
      ...sourcesBelow("lib"),
      ...sourcesBelow("tools"),
    ];
    assert(files.length > 50);
    for (const name of files) {
      const text = textOf(join(root, name));
      for (const flag of flagsOf(text)) assertMatch(flag, allowed, name);
      const [first = ""] = text.split("\n", 1);
      assert(!/ -A\b|allow-all/.test(first), name);
    }
  });
  await section.case("permissions as they are written", async () => {
    await using home = new InstalledHome();
    await home.load(home.job("com.me.plain"));
    await home.catchup(["--wrap", "com.me.plain", "--reload"]);
    await home.catchup(["--install"]);
    await home.slot("com.me.plain");
    const texts = [
      textOf(join(home.folder, "bin", "claude")),
      ...[...Deno.readDirSync(home.agents)].map(({ name }) =>
        textOf(join(home.agents, name))
      ),
    ];
    assertEquals(texts.length, 3);
    for (const text of texts) {
      const flags = flagsOf(text);
      assert(flags.length >= 4, `"${text}"`);
      for (const flag of flags) assertMatch(flag, allowed);
      assert(!/>-A</.test(text) && !/'-A'/.test(text), text);
      assert(text.includes("--no-remote"), text);
    }
  });
}

/** The TypeScript below a folder of the project. */
function sourcesBelow(folder: string): string[] {
  return [...Deno.readDirSync(join(root, folder))].flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory ? sourcesBelow(path) : [path];
  });
}

/** No way leads to the network. */
async function network(section: Section): Promise<void> {
  if (!canTrace()) return section.skip("network: no strace");
  await section.case("no socket to the network", async () => {
    await using home = new CatchupHome();
    await home.job("com.me.a", "true");
    // Deno itself asks for a newer one now and then, unless told not to; so would
    // that of the stand-in for launchctl, which gets no environment.
    home.env.DENO_NO_UPDATE_CHECK = "1";
    const launchctl = join(home.bin, "launchctl");
    executable(
      launchctl,
      `export DENO_NO_UPDATE_CHECK=1\n${textOf(launchctl)}`,
    );
    const trace = join(home.path, "sockets");
    const strace = ["strace", "-f", "-qq", "-e", "trace=socket", "-o", trace];
    const runs = [
      [
        ...home.words("quota_guard", bundle),
        ...["--job", "a", "--", "/bin/sh", "-c", "claude -p hi"],
      ],
      [...home.words("quota_guard", bundle), "--status"],
      home.words("quota_catchup", bundle),
    ];
    for (const words of runs) {
      await runBounded(home, [...strace, ...words]);
      const sockets = textOf(trace).split("\n")
        .filter((line) => line.includes("AF_INET"));
      assertEquals(sockets, []);
    }
    assertEquals(home.starts("com.me.a"), 1);
  });
}
