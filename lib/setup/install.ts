import { dirname } from "@std/path/dirname";
import { ensureDirSync } from "@std/fs/ensure-dir";
import { replaceFile } from "../atomic_file.ts";
import { formatDuration } from "../duration.ts";
import { launchctlStatus } from "../launchctl.ts";
import { reasonOf } from "../reason.ts";
import { isGone } from "../service.ts";
import type { CommandOf } from "./arguments.ts";
import {
  CATCHUP_LABEL,
  catchupAgentPath,
  catchupLogPath,
  catchupPlist,
  catchupWords,
} from "./catchup_agent.ts";
import { agentFiles } from "./find_agents.ts";
import { installedScript, typed } from "./guard_path.ts";
import { load, unload } from "./reload.ts";
import { Refusal, SETUP_EXIT, type SetupWorld } from "./setup_world.ts";

/** Makes launchd start the catch-up every half hour; the exit code. */
export async function install(
  world: SetupWorld,
  command: CommandOf<"install">,
): Promise<number> {
  try {
    await installAgent(world, command);
    return SETUP_EXIT.done;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    world.tell(`${CATCHUP_LABEL}: ${error.message}`);
    return SETUP_EXIT.wrong;
  }
}

async function installAgent(
  world: SetupWorld,
  command: CommandOf<"install">,
): Promise<void> {
  const self = installedScript(world, "quota_catchup");
  const words = catchupWords(world, self, await agentFiles(world));
  const log = catchupLogPath(world);
  const path = catchupAgentPath(world);
  const text = catchupPlist(words, command.interval, log);
  if (command.dryRun) {
    world.tell(`${path} would be:\n${text.trimEnd()}`);
    return;
  }
  const { launchctl } = world;
  await out(world, path);
  write(path, text, log);
  world.tell(`${CATCHUP_LABEL}: written, "${path}"`);
  if (launchctl === null) {
    throw new Refusal(
      `there is no launchctl here; on the Mac run launchctl bootstrap gui/$(id -u) '${path}'`,
    );
  }
  await load(world, launchctl, CATCHUP_LABEL, path);
  world.tell(
    `${CATCHUP_LABEL}: loaded, a round every ${
      formatDuration(command.interval)
    }; what it does: "${log}"\n  what it would do now: ${
      typed(world, "quota_catchup")
    } --dry-run`,
  );
}

/** An older one goes first; not in the middle of its work. */
async function out(world: SetupWorld, path: string): Promise<void> {
  const { launchctl } = world;
  if (launchctl === null) return;
  const status = await launchctlStatus(launchctl, CATCHUP_LABEL);
  if (status.found === "unknown") {
    throw new Refusal(status.problem ?? "launchd does not answer");
  }
  if (status.found === "no") return;
  if (!isGone(status)) {
    throw new Refusal(
      `a round is at work; try again when it has ended ("${path}" is as it was)`,
    );
  }
  await unload(world, launchctl, CATCHUP_LABEL);
}

function write(path: string, text: string, log: string): void {
  try {
    ensureDirSync(dirname(path));
    ensureDirSync(dirname(log));
    // launchd refuses one that others may write.
    replaceFile(path, text, { mode: 0o644, sync: true });
  } catch (error) {
    throw new Refusal(`"${path}" cannot be written: ${reasonOf(error)}`);
  }
}
