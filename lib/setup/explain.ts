import type { SetupCommand } from "./arguments.ts";
import type { SetupWorld } from "./setup_world.ts";
export function explain(
  _world: SetupWorld,
  _command: Extract<SetupCommand, { mode: "explain" }>,
): Promise<number> {
  return Promise.resolve(1);
}
