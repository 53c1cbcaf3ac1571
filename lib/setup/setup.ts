import type { CatchupWorld } from "../catchup_world.ts";
import type { Host } from "../host.ts";
import { plutilConverter } from "../launch_agent.ts";
import { openLaunchctl } from "../launchctl.ts";
import { policyFrom } from "../settings.ts";
import type { Self } from "../shim.ts";
import { stateFolder } from "../state_folder.ts";
import {
  type CommandOf,
  parseSetupArguments,
  type SetupCommand,
} from "./arguments.ts";
import type { SetupMode } from "./setup_mode.ts";
import type { SetupWorld } from "./setup_world.ts";

/** What the entry knows. */
export interface Entry {
  /** Clock, environment, standard error. */
  host: Host;
  /** How the catch-up was started. */
  self: Self;
  /** The folder of agents, null given for the user's own. */
  agentsFolder(given: string | null): string;
  /** Makes the world of a round over a folder of agents. */
  round(agents: string | null): CatchupWorld;
}

/** Runs a mode of setting up on the real world; the exit code. */
export async function runSetup(
  mode: SetupMode,
  args: readonly string[],
  entry: Entry,
): Promise<number> {
  const command = parseSetupArguments(mode, args);
  if (command.mode === "help") {
    const { SETUP_HELP } = await import("./help.ts");
    console.log(SETUP_HELP[command.of]);
    return 0;
  }
  const { host, self } = entry;
  return await setUp({
    host,
    self,
    launchctl: openLaunchctl(host.env),
    agentsFolder: entry.agentsFolder(command.agents),
    folder: stateFolder(host.env),
    policy: policyFrom(host.env),
    uid: Deno.uid(),
    convert: plutilConverter(),
    round: () => entry.round(command.agents),
    tell: (text) => console.log(text),
    ask: (question) => Deno.stdin.isTerminal() ? confirm(question) : null,
    colour: Deno.stdout.isTerminal() && !Deno.noColor,
  }, command);
}

/** Does what is asked; the exit code. Each mode loads what it alone needs. */
export async function setUp(
  world: SetupWorld,
  command: Exclude<SetupCommand, { mode: "help" }>,
): Promise<number> {
  switch (command.mode) {
    case "wrap":
      return await (await import("./wrap.ts")).wrap(world, command);
    case "unwrap":
      return await (await import("./unwrap.ts")).unwrap(world, command);
    case "install":
      return await (await import("./install.ts")).install(world, command);
    case "uninstall":
      return await (await import("./uninstall.ts")).uninstall(world);
    case "doctor":
      return await (await import("./doctor.ts")).doctor(world, command);
    case "explain":
      return await (await import("./explain.ts")).explain(world, command);
    case "day":
      return await showDay(world, command);
  }
}

/** The day of each job, for `quota_guard --status` to show. */
async function showDay(
  world: SetupWorld,
  command: CommandOf<"day">,
): Promise<number> {
  const { lookAtDay } = await import("../day.ts");
  const { dayLines } = await import("../day_lines.ts");
  const day = await lookAtDay(world.round());
  world.tell(
    command.json
      ? JSON.stringify(day, null, 2)
      : dayLines(day, command).join("\n"),
  );
  return 0;
}
