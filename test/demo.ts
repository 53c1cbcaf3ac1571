/**
 * `deno task demo`: the two scripts live through a usage limit, on stand-ins
 * for claude and launchd, in a temporary folder. Costs nothing.
 *
 * @module
 */
import { join } from "@std/path/join";
import { noonZone } from "./daytime.ts";
import { textOf } from "./files.ts";
import {
  Home,
  runCatchup,
  runGuard,
  type RunOptions,
  until,
} from "./harness.ts";

/** A real limit lasts for hours; this one has no reset, so its cooldown counts. */
const COOLDOWN = 9;

const started = performance.now();
await using home = new Home();
const options: RunOptions = {
  env: {
    TZ: noonZone(Date.now() / 1000),
    CLAUDE_QUOTA_COOLDOWN: String(COOLDOWN),
  },
};

function tell(text: string): void {
  console.log(`\n== ${text}`);
}

function show(text: string): void {
  for (const line of text.trimEnd().split("\n")) console.log(`   ${line}`);
}

/** A job as its plist says: the guard, its flags, and a script that calls claude. */
function job(label: string, flags: string[], script: string): string {
  const log = join(home.logs, `${label}.log`);
  home.plist(label, {
    ProgramArguments: [
      ...home.words("quota_guard"),
      "--job",
      label,
      ...flags,
      "--",
      "/bin/sh",
      "-c",
      script,
    ],
    EnvironmentVariables: {
      HOME: home.path,
      PATH: `${home.bin}:/usr/bin:/bin`,
      CLAUDE_QUOTA_DIR: home.state,
      ...options.env,
    } as Record<string, string>,
    StartCalendarInterval: { Hour: 7, Minute: 0 },
    StandardOutPath: log,
    StandardErrorPath: log,
  });
  return log;
}

async function launchctl(...words: string[]): Promise<void> {
  const done = await home.run([join(home.bin, "launchctl"), ...words], options);
  if (done.code !== 0) throw new Error(`launchctl ${words[0]}: ${done.stderr}`);
}

/** launchd starts the job at its slot; waits for the marker in its log. */
async function atItsSlot(label: string, log: string): Promise<void> {
  const before = textOf(log).length;
  await launchctl("kickstart", `gui/${Deno.uid()}/${label}`);
  await until(
    () => /_(SKIPPED|RAN) .*\n$/.test(textOf(log).slice(before)),
    `${label} has left its marker`,
  );
  show(textOf(log).slice(before));
}

const status = async (): Promise<void> =>
  show((await runGuard(home, ["--status"], options)).stdout);

const logs: Record<string, string> = {
  "com.me.digest": job("com.me.digest", [], "claude -p 'Digest of the day'"),
  "com.me.reply": job("com.me.reply", [], "claude -p 'Answer the comments'"),
  "com.me.post": job(
    "com.me.post",
    ["--priority", "--expires", "6h"],
    "claude -p 'The post of the day'",
  ),
};
console.log(
  "This demo takes a time zone in which it is noon now",
);
tell("Three jobs as LaunchAgents, each behind the guard");
for (const label of Object.keys(logs)) {
  await launchctl(
    "bootstrap",
    `gui/${Deno.uid()}`,
    join(home.agents, `${label}.plist`),
  );
  show(label);
}

home.claude.script("limit");
tell("com.me.digest starts and meets the usage limit: the circuit opens");
await atItsSlot("com.me.digest", logs["com.me.digest"] ?? "");

tell("com.me.reply starts: skipped at once, claude is not asked");
await atItsSlot("com.me.reply", logs["com.me.reply"] ?? "");

tell("com.me.post has --priority: one real request goes through, in vain");
await atItsSlot("com.me.post", logs["com.me.post"] ?? "");

tell("quota_guard --status");
await status();

tell("The catch-up comes by: the circuit is open, so it spends nothing");
show((await runCatchup(home, [], options)).stdout);

tell(`The reset comes (here after ${COOLDOWN} s)`);
home.claude.script("ok");
await until(
  async () => {
    const { stdout } = await runGuard(home, ["--status", "--json"], options);
    return JSON.parse(stdout).is_open === false;
  },
  "the circuit has closed",
  3 * COOLDOWN,
);
show("the circuit has closed");

tell("quota_catchup --dry-run: what is owed, priority first");
show((await runCatchup(home, ["--dry-run"], options)).stdout);

tell("quota_catchup: one cheap probe, then one job after another");
const round = await runCatchup(home, [], options);
show(round.stdout);

tell("quota_guard --status");
await status();

const requests = home.claude.calls().length;
tell(
  `Requests since the reset: ${requests} (1 probe, 3 jobs); ${
    ((performance.now() - started) / 1000).toFixed(1)
  } s in all`,
);
const caughtUp = Object.entries(logs).every(([label, log]) =>
  textOf(log).trimEnd().split("\n").at(-1)?.startsWith(
    `CLAUDE_QUOTA_JOB_RAN job=${label} exit=0`,
  )
);
if (round.code !== 0 || requests !== 4 || !caughtUp) {
  console.error("\nThis is not how the story goes; see above");
  Deno.exitCode = 1;
}
