import type { SetupCommand } from "./arguments.ts";
import type { SetupWorld } from "./setup_world.ts";
export function doctor(
  _world: SetupWorld,
  _command: Extract<SetupCommand, { mode: "doctor" }>,
): Promise<number> {
  return Promise.resolve(1);
}
