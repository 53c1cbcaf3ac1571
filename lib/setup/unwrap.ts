import { isGuarded } from "../launch_agent.ts";
import { reasonOf } from "../reason.ts";
import { openAgent, shownText, targetOf, unwrapFile } from "./agent_file.ts";
import type { CommandOf } from "./arguments.ts";
import { removeBackup } from "./backup.ts";
import { difference } from "./difference.ts";
import { agentFiles, findFile } from "./find_agents.ts";
import { isXml, replaceKeeping } from "./plist_file.ts";
import { loadAnew } from "./reload.ts";
import { Refusal, SETUP_EXIT, type SetupWorld } from "./setup_world.ts";

/** Takes the guard out of property lists again; the exit code. */
export async function unwrap(
  world: SetupWorld,
  command: CommandOf<"unwrap">,
): Promise<number> {
  const files = await agentFiles(world);
  const words = command.all
    ? files.flatMap((file) =>
      "agent" in file && isGuarded(file.agent) ? [file.path] : []
    )
    : command.targets;
  if (words.length === 0) {
    world.tell(`No job in "${world.agentsFolder}" is behind the guard`);
  }
  let refused = 0;
  for (const word of words) {
    try {
      await unwrapOne(world, command, findFile(world, files, word));
    } catch (error) {
      refused++;
      world.tell(`${word}: ${reasonOf(error)}`);
      if (error instanceof Refusal && error.paste !== null) {
        world.tell(error.paste);
      }
    }
  }
  return refused > 0 ? SETUP_EXIT.wrong : SETUP_EXIT.done;
}

async function unwrapOne(
  world: SetupWorld,
  command: CommandOf<"unwrap">,
  path: string,
): Promise<void> {
  const opened = await openAgent(world, path);
  const { agent, bytes, folder, prefix, realPath } = opened;
  if (!isGuarded(agent)) {
    world.tell(`${agent.label}: not behind the guard, nothing to change`);
    return;
  }
  const unwrapped = unwrapFile(opened);
  const target = targetOf(
    world,
    path,
    agent.arguments.slice(prefix?.length ?? 0),
  );
  if (isXml(unwrapped.bytes) && isXml(bytes)) {
    const { colour } = world;
    world.tell(
      difference(shownText(bytes), shownText(unwrapped.bytes), {
        name: path,
        colour,
      }),
    );
  }
  if (command.dryRun) {
    world.tell(`${agent.label}: would be unwrapped`);
    return;
  }
  replaceKeeping(target, unwrapped.bytes);
  await removeBackup(folder, realPath);
  world.tell(
    `${agent.label}: unwrapped, ${
      unwrapped.restored
        ? "byte for byte as it was before"
        : "with the edits made since it was wrapped"
    }`,
  );
  await loadAnew(world, command, agent);
}
