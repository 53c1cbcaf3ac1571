import { basename } from "@std/path/basename";
import { resolve } from "@std/path/resolve";
import { type AgentFile, readLaunchAgents } from "../launch_agent.ts";
import { reasonOf } from "../reason.ts";
import { nearest } from "../suggestion.ts";
import { Refusal, type SetupWorld } from "./setup_world.ts";

/** Every `*.plist` in the folder of agents. */
export function agentFiles(world: SetupWorld): Promise<AgentFile[]> {
  return readLaunchAgents(world.agentsFolder, world.convert);
}

/**
 * The file that a user means: a path (with a slash, or ending in `.plist`), the
 * label of an agent, or the name of its file.
 *
 * @throws {Refusal} If there is none, or more than one.
 */
export function findFile(
  world: SetupWorld,
  files: readonly AgentFile[],
  word: string,
): string {
  if (word.includes("/") || word.endsWith(".plist")) {
    const path = resolve(word);
    try {
      if (Deno.statSync(path).isFile) return path;
    } catch (error) {
      throw new Refusal(`"${path}" cannot be read: ${reasonOf(error)}`);
    }
    throw new Refusal(`"${path}" is no file`);
  }
  const found = files.filter((file) => nameOf(file) === word);
  const [file, second] = found;
  if (second !== undefined) {
    throw new Refusal(
      `more than one plist has the label ${word}: name the file, ${
        found.map(({ path }) => `"${path}"`).join(" or ")
      }`,
    );
  }
  if (file !== undefined) return file.path;
  const name = nearest(word, files.map(nameOf));
  const near = name === null
    ? "; --agents DIR names another folder"
    : `; did you mean ${name}?`;
  throw new Refusal(
    `no LaunchAgent in "${world.agentsFolder}" is ${word}${near}`,
  );
}

/** The label of an agent; the name of a file that cannot be read. */
export function nameOf(file: AgentFile): string {
  return "agent" in file
    ? file.agent.label
    : basename(file.path).replace(/\.plist$/, "");
}
