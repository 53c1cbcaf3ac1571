#!/usr/bin/env -S deno run --no-prompt --quiet --allow-read --allow-write --allow-run --allow-env
/**
 * A circuit breaker for unattended `claude -p`: stands between launchd and the
 * job, and between the job and claude. `quota_guard.ts --help` tells the rest.
 *
 * @module
 */
import { runInherited, SignalRelay } from "./lib/child.ts";
import {
  EXIT_OWN_TROUBLE,
  type Guard,
  namedHost,
  say,
  sayTrouble,
} from "./lib/guard.ts";
import {
  type GuardCommand,
  type Job,
  MODES,
  parseGuardArguments,
} from "./lib/guard_arguments.ts";
import { denoHost, hideDenosNode } from "./lib/host.ts";
import { reasonOf } from "./lib/reason.ts";
import { runJob } from "./lib/run_job.ts";
import { policyFrom } from "./lib/settings.ts";
import { closeFolder, stateFolder } from "./lib/state_folder.ts";
import { UsageError } from "./lib/usage.ts";

const EXIT_USAGE = 2;

function newGuard(): Guard {
  hideDenosNode();
  const host = denoHost();
  const guard: Guard = {
    host,
    signals: new SignalRelay(),
    // A skip needs neither, and both take time.
    get self() {
      return {
        interpreter: Deno.execPath(),
        script: Deno.build.standalone ? null : import.meta.filename ?? null,
      };
    },
    policy: policyFrom(host.env),
    folder: null,
    troubled: false,
  };
  try {
    const folder = stateFolder(host.env);
    closeFolder(folder, namedHost(guard));
    guard.folder = folder;
  } catch (error) {
    sayTrouble(guard, `nothing is guarded: ${reasonOf(error)}`);
  }
  return guard;
}

function print(text: string): void {
  console.log(text);
}

/** Whatever happens to the guard, the job gets its run. */
async function jobOrBare(guard: Guard, job: Job): Promise<number> {
  try {
    return await runJob(guard, job);
  } catch (error) {
    say(guard, `trouble of its own in job ${job.label}: ${reasonOf(error)}`);
    if (guard.signals.attached) return EXIT_OWN_TROUBLE;
    const end = await runInherited(job.command, guard.signals, { env: {} });
    return end.code;
  }
}

async function run(guard: Guard, command: GuardCommand): Promise<number> {
  switch (command.mode) {
    case "job":
      return await jobOrBare(guard, command.job);
    case "batch": {
      const { parseBatchArguments } = await import("./lib/batch_arguments.ts");
      const { runBatch } = await import("./lib/batch.ts");
      const batch = parseBatchArguments(command.own, command.command);
      return await runBatch(guard, batch);
    }
    case "claude": {
      if (command.doubtful !== undefined) {
        const { refuseMistyped } = await import("./lib/suggestion.ts");
        refuseMistyped(command.doubtful, MODES);
      }
      const { runClaude } = await import("./lib/run_claude.ts");
      return (await runClaude(guard, command.args)).code;
    }
    case "help":
    case "batch-help": {
      const { BATCH_HELP, GUARD_HELP } = await import("./lib/guard_help.ts");
      print(command.mode === "help" ? GUARD_HELP : BATCH_HELP);
      return 0;
    }
    case "version": {
      const { VERSION } = await import("./lib/version.ts");
      print(`quota_guard ${VERSION}`);
      return 0;
    }
  }
  const modes = await import("./lib/report_modes.ts");
  switch (command.mode) {
    case "status":
      print(await modes.showStatus(guard, command));
      return 0;
    case "open":
      return await modes.openCircuit(guard, command);
    case "close":
      return await modes.closeCircuit(guard);
    case "notify":
      return await modes.notify(guard, command.text);
    case "classify":
      print(
        modes.classifyText(
          guard,
          command,
          await modes.classifyInput(command),
        ),
      );
      return 0;
  }
}

async function usageLine(error: UsageError): Promise<string> {
  const { withSuggestion } = await import("./lib/suggestion.ts");
  return `${withSuggestion(error)}; see --help`;
}

async function main(args: readonly string[]): Promise<number> {
  const guard = newGuard();
  try {
    return await run(guard, parseGuardArguments(args));
  } catch (error) {
    if (error instanceof UsageError) {
      say(guard, await usageLine(error));
      return EXIT_USAGE;
    }
    say(guard, reasonOf(error));
    return EXIT_OWN_TROUBLE;
  }
}

// Deno.exit, since to take V8 apart takes longer than a skip does. Whatever ran
// a command has had the time to leave its compiled code in Deno's cache.
// Not from the top level: an error caught below it would have V8 parse the whole
// file once more, for a stack trace that nobody reads.
if (import.meta.main) {
  queueMicrotask(async () => Deno.exit(await main(Deno.args)));
}
