#!/usr/bin/env -S deno run --no-prompt --quiet --allow-read --allow-write --allow-run=launchctl,deno,plutil,/bin/ps,/bin/kill --allow-env --allow-sys=uid
/**
 * Re-runs, one at a time, the jobs that quota_guard has skipped today, once the
 * allowance is back. `quota_catchup.ts --help` tells the rest.
 *
 * @module
 */
import { join } from "@std/path/join";
import { run } from "./lib/catchup.ts";
import {
  type CatchupCommand,
  parseCatchupArguments,
} from "./lib/catchup_arguments.ts";
import { noteKick } from "./lib/catchup_log.ts";
import { probeClaude } from "./lib/catchup_probe.ts";
import {
  type CatchupWorld,
  EXIT,
  type KickNote,
  type RoundResult,
} from "./lib/catchup_world.ts";
import { denoHost, type Host } from "./lib/host.ts";
import {
  JOB_KILL_GRACE_SECONDS,
  JOB_TIMEOUT_SECONDS,
  kickAndWait,
  type Kicker,
  waitUntilGone,
} from "./lib/kick.ts";
import { openLaunchctl } from "./lib/launchctl.ts";
import { groupTools } from "./lib/process_group.ts";
import { reasonOf } from "./lib/reason.ts";
import { policyFrom } from "./lib/settings.ts";
import { setupMode } from "./lib/setup/setup_mode.ts";
import type { Self } from "./lib/shim.ts";
import { lockRound } from "./lib/state.ts";
import { stateFolder } from "./lib/state_folder.ts";
import { stopOnSignals } from "./lib/stop.ts";
import { printable, ProgressLine } from "./lib/terminal.ts";
import { UsageError } from "./lib/usage.ts";

type RunCommand = Extract<CatchupCommand, { mode: "run" }>;

/** For setting up, which looks at what a round would do. */
const LOOK_ONLY: RunCommand = {
  mode: "run",
  dryRun: true,
  all: false,
  json: false,
  agents: null,
  timeout: null,
  grace: null,
  window: null,
  noProbe: true,
};

function agentsFolder(host: Host, given: string | null): string {
  if (given !== null) {
    if (isFolder(given)) return given;
    throw new UsageError(`--agents: "${given}" is no folder`);
  }
  const home = host.env("HOME");
  if (home === undefined) {
    throw new UsageError("HOME is not set; say --agents DIR");
  }
  return join(home, "Library", "LaunchAgents");
}

function isFolder(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch {
    return false; // not there, or not for this script to see
  }
}

function ownSelf(): Self {
  return {
    interpreter: Deno.execPath(),
    script: Deno.build.standalone ? null : import.meta.filename ?? null,
  };
}

function worldOf(host: Host, command: RunCommand): CatchupWorld {
  const launchctl = openLaunchctl(host.env);
  const self = ownSelf();
  // A look may be cut off at any time.
  const stop = command.dryRun ? new AbortController().signal : stopOnSignals();
  const line = new ProgressLine(Deno.stderr);
  const tell = (words: string): void => {
    const stamp = Temporal.Now.plainDateTimeISO().toString({
      smallestUnit: "second",
    });
    line.show(null);
    // With --json standard output holds nothing but the JSON.
    (command.json ? console.error : console.log)(
      `${stamp} ${printable(words)}`,
    );
  };
  const kicker = (): Kicker => {
    if (launchctl === null) throw new Error("There is no launchctl");
    return {
      host,
      launchctl,
      group: groupTools(),
      stop,
      timeout: command.timeout ?? JOB_TIMEOUT_SECONDS,
      grace: command.grace ?? JOB_KILL_GRACE_SECONDS,
    };
  };
  return {
    host,
    launchctl,
    stop,
    agentsFolder: agentsFolder(host, command.agents),
    folder: stateFolder(host.env),
    policy: policyFrom(host.env),
    probe: (folder, environment, holdsProbe) =>
      probeClaude({ host, self, stop }, folder, environment, holdsProbe),
    kick: (label, before, watch) => kickAndWait(kicker(), label, before, watch),
    wait: (label, watch) => waitUntilGone(kicker(), label, () => true, watch),
    tell,
    progress: (words) => line.show(words && printable(words)),
    note: (folder, note) => {
      try {
        noteKick(folder, note);
      } catch (error) {
        tell(`catchup.log cannot be written: ${reasonOf(error)}`);
      }
    },
  };
}

async function show(command: RunCommand, result: RoundResult): Promise<void> {
  if (command.json) {
    const { candidates, kicked, failed, agents } = result;
    console.log(
      JSON.stringify({ candidates, kicked, failed, agents }, null, 2),
    );
  } else if (command.dryRun || command.all) {
    const { verdictTable } = await import("./lib/catchup_table.ts");
    const colour = Deno.stdout.isTerminal() && !Deno.noColor;
    const lines = verdictTable(result, { all: command.all, colour });
    console.log(lines.join("\n"));
  } else if (result.candidates.length === 0 && Deno.stdout.isTerminal()) {
    console.log("Nothing is owed");
  }
}

async function catchUp(host: Host, command: RunCommand): Promise<number> {
  if (Deno.permissions.querySync({ name: "env" }).state !== "granted") {
    throw new Error("Requires the environment, run again with --allow-env");
  }
  const base = worldOf(host, command);
  const kicks: KickNote[] = [];
  const world: CatchupWorld = {
    ...base,
    note: (folder, note) => {
      kicks.push(note);
      base.note(folder, note);
    },
  };
  const { noProbe, window } = command;
  using lock = command.dryRun ? null : lockRound(world.folder, host);
  const busy = lock?.taken === false;
  if (busy) world.tell("another catch-up is at work");
  if (busy && !command.json) return EXIT.done;
  const dryRun = command.dryRun || busy;
  const result = await run(world, { dryRun, noProbe, window });
  await show(command, result);
  if (kicks.length > 0) {
    const { sendRoundNotice } = await import("./lib/round_notice.ts");
    const { folder } = world;
    const problem = await sendRoundNotice(
      { host, self: ownSelf(), folder },
      kicks,
    );
    if (problem !== null) world.tell(problem);
  }
  return dryRun ? EXIT.done : result.exit;
}

async function main(args: readonly string[]): Promise<number> {
  const host = denoHost();
  try {
    const setup = setupMode(args);
    if (setup !== null) {
      const { runSetup } = await import("./lib/setup/setup.ts");
      return await runSetup(setup, args, {
        host,
        self: ownSelf(),
        agentsFolder: (given) => agentsFolder(host, given),
        round: (agents) => worldOf(host, { ...LOOK_ONLY, agents }),
      });
    }
    const command = parseCatchupArguments(args);
    switch (command.mode) {
      case "help":
        console.log((await import("./lib/catchup_help.ts")).CATCHUP_HELP);
        return EXIT.done;
      case "version":
        console.log(
          `quota_catchup ${(await import("./lib/version.ts")).VERSION}`,
        );
        return EXIT.done;
      case "run":
        return await catchUp(host, command);
    }
  } catch (error) {
    if (error instanceof UsageError) {
      const { withSuggestion } = await import("./lib/suggestion.ts");
      host.say(`quota_catchup: ${withSuggestion(error)}; see --help`);
      return EXIT.usage;
    }
    host.say(`quota_catchup: ${reasonOf(error)}`);
    return EXIT.failed;
  }
}

// No Deno.exit: a round that finds nothing to do would end before Deno has
// written the compiled code to its cache, each time anew.
// And not from the top level: an error caught below it would have V8 parse the
// whole file once more, for a stack trace that nobody reads.
if (import.meta.main) {
  queueMicrotask(async () => {
    Deno.exitCode = await main(Deno.args);
  });
}
