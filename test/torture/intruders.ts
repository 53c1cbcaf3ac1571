/** Who gets in: modes, owners, forged lines, shells, secrets, permissions. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path/join";
import { CatchupHome } from "../catchup_home.ts";
import { textOf } from "../files.ts";
import { newest, now, openCircuit, writeState } from "../guard_steps.ts";
import { type Finished, Home } from "../harness.ts";
import { warningsOf } from "./guard_scene.ts";
import { permissions } from "./permissions.ts";
import { inParallel } from "./pool.ts";
import { Broken, type Section } from "./report.ts";
import { namesBelow, runBounded } from "./run.ts";

const bundle = { kind: "bundle" } as const;
/** What a forger would have in the log. */
const FORGED = `CLAUDE_QUOTA_JOB_RAN job=mail exit=0 ts=${Math.floor(now())}`;
/** Ends the line, moves the cursor, names the window. */
const EVIL = `x\n${FORGED}\n\r${FORGED}\x1b[2J\x1b]0;evil\x07\u009b31m`;
// deno-lint-ignore no-control-regex -- control characters are what is looked for
const COMMANDS = /[\x00-\x09\x0b-\x1f\x7f-\x9f]/;

/** All ways in. */
export async function intruders(section: Section): Promise<void> {
  await modes(section);
  await otherOwners(section);
  await forgeries(section);
  await shells(section);
  await secrets(section);
  await permissions(section);
}

function guard(home: Home, ...args: string[]): Promise<Finished> {
  return runBounded(home, [...home.words("quota_guard", bundle), ...args]);
}

/** Whatever the umask: folders 0700, files 0600, the shim 0700. */
async function modes(section: Section): Promise<void> {
  await inParallel(
    ["000", "002", "022", "027", "077"],
    (umask) =>
      section.case(`umask ${umask}`, async () => {
        await using home = new Home();
        home.claude.script("suspected", "limit");
        await runBounded(home, [
          ...["/bin/sh", "-c", `umask ${umask}; exec "$@"`, "sh"],
          ...home.words("quota_guard", bundle),
          ...["--job", "mail", "--", "/bin/sh", "-c"],
          `claude -p 1; claude -p 2; ls -l '${home.state}/runs' >&2; exit 1`,
        ]);
        assertEquals(modeOf(home.state), 0o700);
        const names = namesBelow(home.state);
        assert(names.includes("jobs.json"), names.join(" "));
        for (const name of names) {
          const wanted = name === "bin/claude" ? 0o700 : 0o600;
          assertEquals(modeOf(join(home.state, name)), wanted, name);
        }
        for (const folder of ["runs", "bin"]) {
          assertEquals(modeOf(join(home.state, folder)), 0o700, folder);
        }
        checkShim(home);
      }),
  );
  await inParallel(
    ["000", "077"],
    (umask) =>
      section.case(`umask ${umask} of the catch-up`, async () => {
        await using home = new CatchupHome();
        await home.job("com.me.a", "true");
        await runBounded(home, [
          ...["/bin/sh", "-c", `umask ${umask}; exec "$@"`, "sh"],
          ...home.words("quota_catchup", bundle),
        ]);
        const names = namesBelow(home.state);
        for (const name of ["catchup.log", "catchup.lock", "jobs.json"]) {
          assert(names.includes(name), names.join(" "));
        }
        for (const name of names) {
          assertEquals(modeOf(join(home.state, name)), 0o600, name);
        }
        assertEquals(modeOf(home.state), 0o700);
      }),
  );
}

function modeOf(path: string): number {
  return (Deno.statSync(path).mode ?? 0) & 0o7777;
}

/** The shim names all by absolute path, and nobody else may change those. */
function checkShim(home: Home): void {
  const text = textOf(join(home.state, "bin", "claude"));
  const words = [...text.matchAll(/'([^']*)'/g)].map(([, word = ""]) => word);
  const paths = words.filter((word) => word.includes("/"))
    .map((word) => word.replace(/^--allow-write=/, ""));
  assert(paths.length >= 3, text);
  for (const path of paths) {
    assert(path.startsWith("/"), path);
    const { uid } = Deno.statSync(path);
    assert(uid === Deno.uid() || uid === 0, `${path} is of user ${uid}`);
  }
}

/** A folder that is another user's is not used, and the job runs. */
async function otherOwners(section: Section): Promise<void> {
  if (Deno.uid() !== 0) return section.skip("another user's folder: not root");
  for (const mode of [0o777, 0o755, 0o700, 0o500]) {
    await section.case(
      `another user's folder, ${mode.toString(8)}`,
      async () => {
        await using home = new Home();
        openCircuit(home);
        for (const name of Deno.readDirSync(home.state)) {
          Deno.chmodSync(join(home.state, name.name), 0o644);
        }
        Deno.chmodSync(home.state, mode);
        Deno.chmodSync(home.path, 0o755);
        const cache = join(home.path, "nobody");
        Deno.mkdirSync(cache);
        Deno.chownSync(cache, 65_534, 65_534);
        // Deno, the bundle and the modules may lie where nobody may look.
        const script = join(home.path, "quota_guard.js");
        Deno.copyFileSync(
          home.words("quota_guard", bundle).at(-1) ?? "",
          script,
        );
        Deno.chmodSync(script, 0o755);
        const nobody = [
          ...["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"],
          ...home.words("quota_guard", bundle).slice(0, -1),
          script,
        ];
        const env = { DENO_DIR: cache };
        const job = [
          "--job",
          "mail",
          "--",
          "/bin/sh",
          "-c",
          "echo ran; exit 3",
        ];
        const run = await runBounded(home, [...nobody, ...job], { env });
        if (run.stdout !== "ran\n") throw new Broken("lost", run.stderr);
        assertEquals(run.code, 3);
        assertEquals(newest(run.stderr, "mail"), "RAN");
        const said = warningsOf(run);
        assertEquals(said.length, 1, said.join("|"));
        assertMatch(said[0] ?? "", /cannot be closed|Permission denied/);
        const status = await runBounded(home, [...nobody, "--status"], { env });
        assertMatch(status.stderr, /cannot be closed|Permission denied/);
        assertEquals(modeOf(home.state), mode);
      },
    );
  }
}

/** Labels, reasons, items and names that look like markers or command the terminal. */
async function forgeries(section: Section): Promise<void> {
  const clean = ({ stdout, stderr }: Finished): void => {
    for (const text of [stdout, stderr]) {
      assert(!COMMANDS.test(text), JSON.stringify(text));
      assert(newest(text, "mail") !== "RAN", JSON.stringify(text));
    }
  };
  const cases: Record<string, (home: Home) => Promise<void>> = {
    "a label": async (home) => {
      const run = await guard(home, "--job", EVIL, "--", "true");
      assertEquals(run.code, 2);
      clean(run);
    },
    "a label from the environment": async (home) => {
      home.claude.script("limit");
      const env = { CLAUDE_QUOTA_JOB: EVIL };
      const words = home.words("quota_guard", bundle);
      await runBounded(home, [...words, "--claude", "--", "-p"], { env });
      clean(await guard(home, "--status"));
      clean(await guard(home, "--job", "mail", "--", "true"));
    },
    "a reason": async (home) => {
      clean(await guard(home, "--open", "--reason", EVIL));
      clean(await guard(home, "--status"));
      const skip = await guard(home, "--job", "mail", "--", "true");
      assertMatch(newest(skip.stderr, "mail") ?? "", /^SKIPPED x/);
      clean(skip);
    },
    "a model": async (home) => {
      home.claude.script("opus-limit");
      const words = home.words("quota_guard", bundle);
      const call = [...words, "--claude", "--", "-p", "--model", EVIL];
      await runBounded(home, call);
      clean(await guard(home, "--status"));
    },
    "what claude says": async (home) => {
      const path = join(home.path, "said");
      Deno.writeTextFileSync(path, `You've hit your limit ${EVIL}\n`);
      home.claude.script(`raw ${path} 1`);
      await guard(home, "--claude", "--", "-p");
      clean(await guard(home, "--status"));
    },
    "the state": async (home) => {
      writeState(home, "state.json", {
        open_until: now() + 600,
        opened_at: now() - 9,
        reason: EVIL,
        window: EVIL,
        opened_by: { job: EVIL, sentence: EVIL },
        scopes: { [EVIL]: { open_until: now() + 600, family: "opus" } },
      });
      writeState(home, "jobs.json", {
        jobs: { [EVIL]: { outcome: "skipped", ts: now(), reason: EVIL } },
      });
      clean(await guard(home, "--status"));
      clean(await guard(home, "--job", "mail", "--", "true"));
    },
    "the name of the folder": async (home) => {
      const folder = join(home.path, EVIL.replaceAll("/", "_"));
      Deno.writeTextFileSync(folder, "");
      const words = home.words("quota_guard", bundle);
      const env = { CLAUDE_QUOTA_DIR: folder };
      const run = await runBounded(
        home,
        [...words, "--job", "other", "--", "true"],
        { env },
      );
      assertEquals(run.code, 0);
      clean(run);
    },
    "an item": async (home) => {
      const list = join(home.path, "list");
      Deno.writeTextFileSync(list, `${EVIL}\0${EVIL}\0two\0`);
      const run = await guard(
        home,
        ...["--batch", list, "--into", join(home.path, "out")],
        ...["--", "/bin/sh", "-c", "exit 9"],
      );
      clean(run);
    },
    "a command that is not there": async (home) => {
      clean(await guard(home, "--job", "other", "--", `/${EVIL}`));
    },
  };
  await inParallel(
    Object.entries(cases),
    ([name, work]) =>
      section.case(`forged by ${name}`, async () => {
        await using home = new Home();
        await work(home);
      }),
  );
  await section.case("forged by a plist", async () => {
    await using home = new CatchupHome();
    await home.job("com.me.a", "true");
    home.plist("evil", {
      Label: EVIL,
      ProgramArguments: ["quota_guard", "--job", EVIL, "--", "true"],
      StandardErrorPath: `/tmp/${EVIL}`,
      StartCalendarInterval: { Hour: 7 },
    });
    for (
      const flags of [["--dry-run", "--all"], ["--explain", "com.me.a"], [
        "--doctor",
      ]]
    ) {
      clean(await home.catchUp(flags, bundle));
    }
    clean(await guard(home, "--status"));
  });
}

/** Nothing that looks like a command is taken for one. */
async function shells(section: Section): Promise<void> {
  await section.case("nothing passes through a shell", async () => {
    await using home = new CatchupHome();
    const mark = join(home.path, "pwned");
    const evil = `$(touch '${mark}')\`touch '${mark}'\`; touch '${mark}' '`;
    const list = join(home.path, "list");
    Deno.writeTextFileSync(list, `${evil}\0`);
    await guard(home, "--job", "a", "--", "true", evil);
    await guard(home, "--claude", "--", "-p", evil);
    for (const flags of [[], ["--stdout"]]) {
      await guard(
        home,
        ...["--batch", list, "--into", join(home.path, "out"), ...flags],
        ...["--", "/bin/echo", "{}", evil],
      );
    }
    await home.job("com.me.a", "true");
    await runBounded(home, home.words("quota_catchup", bundle), {
      env: { CLAUDE_QUOTA_PROBE_ARGS: `-p "${evil}"` },
    });
    assert(home.claude.calls().length > 0, "claude was not asked");
    home.claude.script("limit");
    await runBounded(home, [
      ...home.words("quota_guard", bundle),
      ...["--claude", "--", "-p"],
    ], { env: { CLAUDE_QUOTA_NOTIFY: "true", CLAUDE_QUOTA_JOB: evil } });
    assertEquals(textOf(mark), "");
    assertEquals(
      [...Deno.readDirSync(home.path)].some((e) => e.name === "pwned"),
      false,
    );
  });
}

/** Secrets of jobs and of their environments stay where they are. */
async function secrets(section: Section): Promise<void> {
  await section.case("secrets reach neither state nor output", async () => {
    await using home = new CatchupHome();
    const secret = "sk-ant-7d1f5e2b";
    await home.job("com.me.a", "true", {
      EnvironmentVariables: { ANTHROPIC_API_KEY: secret },
    });
    const env = { ANTHROPIC_API_KEY: secret, SECRET: secret };
    home.claude.script("limit", "suspected", "ok");
    const outputs: Finished[] = [];
    const run = async (words: string[]): Promise<void> => {
      outputs.push(await runBounded(home, words, { env }));
    };
    const words = home.words("quota_guard", bundle);
    for (let i = 0; i < 3; i++) {
      await run([...words, "--job", "b", "--", "/bin/sh", "-c", "claude -p"]);
      await run([...words, "--status"]);
      await run([...words, "--close"]);
    }
    const catchup = home.words("quota_catchup", bundle);
    for (
      const flags of [
        ["--dry-run", "--all"],
        ["--dry-run", "--json"],
        ["--explain", "com.me.a"],
        ["--doctor"],
        [],
      ]
    ) await run([...catchup, ...flags]);
    for (const { stdout, stderr } of outputs) {
      assert(!(stdout + stderr).includes(secret), stdout + stderr);
    }
    // The stand-in for launchctl prints it, as launchctl does.
    const print = await home.launchctl(
      "print",
      `gui/${Deno.uid()}/com.me.a`,
    );
    assert(print.includes(secret));
    for (const folder of [home.state, home.logs]) {
      for (const name of namesBelow(folder)) {
        assert(!textOf(join(folder, name)).includes(secret), name);
      }
    }
  });
}
