import {
  type AgentFile,
  GUARD_NAME,
  guardCommands,
  type GuardOptions,
  guardOptions,
  isGuarded,
  type LaunchAgent,
} from "../launch_agent.ts";
import type { JobCommand } from "./claude_jobs.ts";
import { folderOfJob, type SetupWorld } from "./setup_world.ts";

/** A job behind the guard, with what can be told from its property list. */
export interface Guarded {
  /** Its property list. */
  agent: LaunchAgent;
  /** What it tells the guard. */
  options: GuardOptions;
  /** Its state folder. */
  folder: string;
  /** From the interpreter on: how the guard is started; empty if that cannot be told. */
  start: string[];
  /** The guard's arguments, those of the job's command included. */
  args: string[];
  /** The job's own command; empty if that cannot be told. */
  command: JobCommand;
}

/** The jobs behind the guard. */
export function guardedJobs(
  world: SetupWorld,
  files: readonly AgentFile[],
): Guarded[] {
  return files.flatMap((file) =>
    "agent" in file && isGuarded(file.agent) ? [guarded(world, file.agent)] : []
  );
}

function guarded(world: SetupWorld, agent: LaunchAgent): Guarded {
  const words = guardCommands(agent)
    .find((command) => command.some((word) => GUARD_NAME.test(word))) ?? [];
  const at = words.findIndex((word) => GUARD_NAME.test(word));
  const run = words.lastIndexOf("run", at);
  const from = run > 0 ? run - 1 : at;
  const args = words.slice(at + 1);
  const dashes = args.indexOf("--");
  return {
    agent,
    options: guardOptions(agent),
    folder: folderOfJob(world, agent),
    start: words.slice(from, at + 1),
    args,
    command: {
      words: dashes < 0 ? [] : args.slice(dashes + 1),
      folder: agent.workingDirectory ?? "/",
      home: world.host.env("HOME"),
    },
  };
}
