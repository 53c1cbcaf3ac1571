import { dirname } from "@std/path/dirname";
import { join } from "@std/path/join";
import { isFile } from "../is_file.ts";
import { pathEntries } from "../real_claude.ts";
import type { Self } from "../shim.ts";
import { passingPlace, stableInterpreter } from "./interpreter.ts";
import { Refusal, type SetupWorld } from "./setup_world.ts";

const INSTALL = "run deno task install in the repository";

/** A script of the product, as property lists are to name it. */
export type ScriptName = "quota_guard" | "quota_catchup";

/**
 * The installed script, and an interpreter that survives upgrades. From source
 * the installed one is meant all the same: a checkout changes under its jobs.
 *
 * @throws {Refusal} If one of them is not there or will not last.
 */
export function installedScript(world: SetupWorld, name: ScriptName): Self {
  const { self, host } = world;
  if (self.script === null) {
    const compiled = join(dirname(self.interpreter), name);
    return { interpreter: lasting(world, compiled), script: null };
  }
  const stable = stableInterpreter(self.interpreter, host.env);
  if ("problem" in stable) throw new Refusal(stable.problem);
  const folder = self.script.endsWith(".ts")
    ? join(host.env("HOME") ?? "/", ".local", "bin")
    : dirname(self.script);
  const script = lasting(world, join(folder, `${name}.js`));
  return { interpreter: stable.path, script };
}

/** What a user types to start a script of the product. */
export function typed(world: SetupWorld, name: ScriptName): string {
  const { self, host } = world;
  const folder = dirname(self.script ?? self.interpreter);
  const file = self.script === null
    ? name
    : name + self.script.slice(self.script.lastIndexOf("."));
  if (pathEntries(host.env).includes(folder)) return file;
  const home = host.env("HOME");
  const path = join(folder, file);
  return home !== undefined && path.startsWith(`${home}/`)
    ? `~${path.slice(home.length)}`
    : path;
}

function lasting(world: SetupWorld, path: string): string {
  const place = passingPlace(path, world.host.env);
  if (place !== null) {
    throw new Refusal(`"${path}" lies in ${place}: ${INSTALL}`);
  }
  if (isFile(path)) return path;
  throw new Refusal(`"${path}" is not there: ${INSTALL}`);
}
