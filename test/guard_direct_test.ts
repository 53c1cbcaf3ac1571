import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path/join";
import {
  circuit,
  markers,
  openCircuit,
  outcome,
  ownClaude,
  withoutClaude,
} from "./guard_steps.ts";
import { Home, runGuard, type RunOptions } from "./harness.ts";
import { kinds } from "./script.ts";

const words = ["-p", "hi  there", "--model", "opus"];
/** Straight to claude, and by way of a shell that starts the shim. */
const ways: Record<string, (home: Home) => string[]> = {
  claude: () => ["claude", ...words],
  shim: (home) => [join(home.state, "bin", "claude"), ...words],
  shell: () => ["/bin/sh", "-c", 'claude "$@"', "sh", ...words],
};

/** All that is left of a job once it has ended. */
interface Traces {
  code: number;
  stdout: string;
  markers: string[];
  outcome: unknown[];
  open: boolean;
  calls: [string, Record<string, string>][];
  runs: number;
}

async function traces(
  way: string,
  script: string,
  flags: string[] = [],
  options: RunOptions & { open?: boolean } = {},
): Promise<Traces> {
  await using home = new Home();
  home.claude.script(script);
  if (options.open) openCircuit(home);
  const command = ways[way]?.(home) ?? [];
  const job = ["--job", "mail", ...flags, "--", ...command];
  const { code, stdout, stderr } = await runGuard(home, job, options);
  const calls = home.claude.calls().map((call): Traces["calls"][number] => {
    const env = Object.entries(call.env).filter(([name]) =>
      name.startsWith("CLAUDE") || name === "PATH"
    ).map(([name, value]) => [
      name,
      name === "CLAUDE_QUOTA_RUN"
        ? value.replace(/\d+/g, "N").replace(/[0-9a-fN]+$/, "x")
        : value.replaceAll(home.path, "HOME"),
    ]).sort();
    return [call.arguments, Object.fromEntries(env)];
  });
  return {
    code,
    stdout,
    markers: markers(stderr),
    outcome: outcome(home, "mail"),
    open: circuit(home).open_until !== undefined,
    calls,
    runs: [...Deno.readDirSync(join(home.state, "runs"))].length,
  };
}

Deno.test("a job that is only a call leaves the same traces as one that calls from a shell", async () => {
  const reset = Math.floor(Date.now() / 1000) + 5000;
  const cases: [string, string[], RunOptions & { open?: boolean }][] = [
    ["ok", [], {}],
    [`limit-stream ${reset}`, [], {}],
    [`limit-stream ${reset}`, ["--priority"], { open: true }],
    ["ok", ["--priority"], { open: true }],
    ["ok", [], { env: { CLAUDE_REAL_BIN: "/no/such", PATH: "/usr/bin:/bin" } }],
  ];
  for (const [script, flags, options] of cases) {
    const shell = await traces("shell", script, flags, options);
    assertEquals(shell.calls.length, 1);
    for (const way of ["claude", "shim"]) {
      const direct = await traces(way, script, flags, options);
      assertEquals(direct, shell);
    }
  }
});

Deno.test("a job that is only a call needs no second guard", async () => {
  await using home = new Home();
  const own = ownClaude(home, "own", "ps -o args= -p $PPID");
  for (const kind of kinds) {
    const env = { CLAUDE_REAL_BIN: join(own, "claude") };
    const job = ["--job", "mail", "--", "claude", "-p"];
    const { code, stdout } = await runGuard(home, job, { kind, env });
    assertEquals(code, 0);
    assert(stdout.trimEnd().endsWith("--job mail -- claude -p"), stdout);
  }
});

Deno.test("a job that is only a call is stopped by its --timeout", async () => {
  await using home = new Home();
  const own = ownClaude(home, "own", "exec sleep 600");
  const env = { CLAUDE_REAL_BIN: join(own, "claude") };
  const job = ["--job", "mail", "--timeout", "1", "--", "claude", "-p"];
  const { code, stderr } = await runGuard(home, job, { env });
  assertEquals(code, 143);
  assert(stderr.includes("stopped after its --timeout of 1 s"), stderr);
  assertEquals(outcome(home, "mail"), ["ran", 143, null, "killed", 1]);
});

Deno.test(
  "a job that is only a call says when there is no claude",
  withoutClaude,
  async () => {
    await using home = new Home();
    Deno.removeSync(join(home.bin, "claude"));
    const env = { PATH: "/usr/bin:/bin" };
    const job = ["--job", "mail", "--", "claude", "-p"];
    const { code, stderr } = await runGuard(home, job, { env });
    assertEquals(code, 127);
    assert(stderr.includes("no claude found"), stderr);
    assertEquals(markers(stderr), [
      "CLAUDE_QUOTA_JOB_RAN job=mail exit=127 ts=T",
    ]);
  },
);
