import type { CatchupWorld } from "../catchup_world.ts";
import { plutilConverter } from "../launch_agent.ts";
import type { Self } from "../shim.ts";
import { parseSetupArguments, type SetupCommand } from "./arguments.ts";
import type { SetupMode } from "./setup_mode.ts";
import type { SetupWorld } from "./setup_world.ts";

/**
 * Runs a mode of setting up on the real world; the exit code.
 *
 * @param catchupWorld Makes the world of a round over a folder of agents, null
 * for the user's own
 */
export async function runSetup(
  mode: SetupMode,
  args: readonly string[],
  self: Self,
  catchupWorld: (agents: string | null) => CatchupWorld,
): Promise<number> {
  const command = parseSetupArguments(mode, args);
  if (command.mode === "help") {
    const { SETUP_HELP } = await import("./help.ts");
    console.log(SETUP_HELP[command.of]);
    return 0;
  }
  const catchup = catchupWorld(command.agents);
  const { host, launchctl, agentsFolder, folder, policy } = catchup;
  return await setUp({
    host,
    launchctl,
    agentsFolder,
    folder,
    policy,
    self,
    uid: Deno.uid(),
    convert: plutilConverter(),
    catchup,
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
  }
}
