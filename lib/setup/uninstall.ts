import { isGuarded } from "../launch_agent.ts";
import { launchctlStatus } from "../launchctl.ts";
import { reasonOf } from "../reason.ts";
import { CATCHUP_LABEL, catchupAgentPath } from "./catchup_agent.ts";
import { agentFiles } from "./find_agents.ts";
import { typed } from "./guard_path.ts";
import { unload } from "./reload.ts";
import { Refusal, SETUP_EXIT, type SetupWorld } from "./setup_world.ts";

/** Takes the catch-up out of launchd; the exit code. */
export async function uninstall(world: SetupWorld): Promise<number> {
  try {
    await uninstallAgent(world);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    world.tell(`${CATCHUP_LABEL}: ${error.message}`);
    return SETUP_EXIT.wrong;
  }
  const wrapped = (await agentFiles(world)).flatMap((file) =>
    "agent" in file && isGuarded(file.agent) ? [file.agent.label] : []
  );
  if (wrapped.length > 0) {
    world.tell(
      `Still behind the guard: ${wrapped.join(", ")}; ${
        typed(world, "quota_catchup")
      } --unwrap --all takes it out`,
    );
  }
  world.tell(`The state stays in "${world.folder}"`);
  return SETUP_EXIT.done;
}

async function uninstallAgent(world: SetupWorld): Promise<void> {
  const { launchctl } = world;
  const path = catchupAgentPath(world);
  const loaded = launchctl === null
    ? null
    : await launchctlStatus(launchctl, CATCHUP_LABEL);
  if (loaded?.found === "unknown") {
    throw new Refusal(loaded.problem ?? "launchd does not answer");
  }
  if (launchctl !== null && loaded?.found === "yes") {
    await unload(world, launchctl, CATCHUP_LABEL);
  }
  let removed = true;
  try {
    Deno.removeSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) {
      throw new Refusal(`"${path}" cannot be removed: ${reasonOf(error)}`);
    }
    removed = false;
  }
  const out = loaded?.found === "yes" ? ["taken out of launchd"] : [];
  const gone = removed ? [`"${path}" removed`] : [];
  const done = [...out, ...gone].join(", ");
  world.tell(`${CATCHUP_LABEL}: ${done === "" ? "was not installed" : done}`);
  if (launchctl === null && removed) {
    throw new Refusal(
      `there is no launchctl here; on the Mac run launchctl bootout gui/$(id -u)/${CATCHUP_LABEL}`,
    );
  }
}
