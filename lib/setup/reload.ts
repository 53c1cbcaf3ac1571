import type { LaunchAgent } from "../launch_agent.ts";
import {
  disabledLabels,
  explainExit,
  type Launchctl,
  launchctlStatus,
} from "../launchctl.ts";
import { reasonOf } from "../reason.ts";
import { isGone } from "../service.ts";
import { Refusal, type SetupWorld } from "./setup_world.ts";

/** launchd gives a job 20 s to end, and some jobs more. */
const GONE_SECONDS = 40;
const LOADED_SECONDS = 10;
const POLL_SECONDS = 0.2;
/** A bootstrap right after the end of the old service may fail, and then not. */
const BOOTSTRAP_TRIES = 5;

/** What a user types to load a file anew. */
function reloadCommands(
  world: SetupWorld,
  label: string,
  path: string,
): string {
  const domain = world.launchctl?.domain ?? `gui/${world.uid ?? "UID"}`;
  return `launchctl bootout ${domain}/${label}; launchctl bootstrap ${domain} '${
    path.replaceAll("'", `'\\''`)
  }'`;
}

/**
 * Loads a changed agent anew if that is asked for, else says how.
 *
 * @throws {Refusal} If it is asked for and not done.
 */
export async function loadAnew(
  world: SetupWorld,
  command: { reload: boolean; now: boolean },
  agent: LaunchAgent,
): Promise<void> {
  if (command.reload) {
    await reload(world, agent, command);
    world.tell(`${agent.label}: loaded`);
    return;
  }
  world.tell(
    `  takes effect when it is loaded anew: with --reload, or by\n  ${
      reloadCommands(world, agent.label, agent.path)
    }`,
  );
}

/**
 * Loads an agent anew, since launchd keeps what it has read. Not while it runs;
 * not if that would start it, unless `now`.
 *
 * @throws {Refusal} If it is not done; the message says what to do.
 */
async function reload(
  world: SetupWorld,
  agent: LaunchAgent,
  options: { now: boolean },
): Promise<void> {
  const { launchctl } = world;
  const { label, path } = agent;
  const later = reloadCommands(world, label, path);
  if (launchctl === null) {
    throw new Refusal(`there is no launchctl here; on the Mac run ${later}`);
  }
  if ((agent.runAtLoad || agent.keepAlive) && !options.now) {
    throw new Refusal(
      `${
        agent.runAtLoad ? "RunAtLoad" : "KeepAlive"
      } would start it at once: add --now if that is fine`,
    );
  }
  const status = await launchctlStatus(launchctl, label);
  if (status.found === "unknown") {
    throw new Refusal(status.problem ?? "launchd does not answer");
  }
  if (status.found === "yes") {
    if (!isGone(status)) {
      throw new Refusal(
        `it is running (${
          status.state ?? "state unknown"
        }) and keeps its old command till it is loaded anew; when it has ended run ${later}`,
      );
    }
    await unload(world, launchctl, label);
  }
  await load(world, launchctl, label, path);
}

/**
 * Takes a job out of launchd and waits until it is gone.
 *
 * @throws {Refusal} If it does not go.
 */
export async function unload(
  world: SetupWorld,
  launchctl: Launchctl,
  label: string,
): Promise<void> {
  const target = `${launchctl.domain}/${label}`;
  const code = await call(launchctl, ["bootout", target]);
  // 3 and 113: it is out already; 36: on its way.
  if (![0, 3, 36, 113].includes(code)) {
    throw new Refusal(explainExit(code, "bootout", target));
  }
  const deadline = world.host.monotonic() + GONE_SECONDS;
  while ((await launchctlStatus(launchctl, label)).found !== "no") {
    if (world.host.monotonic() > deadline) {
      throw new Refusal(
        `launchd has not let go of it in ${GONE_SECONDS} s: look with launchctl print ${target}`,
      );
    }
    await world.host.sleep(POLL_SECONDS);
  }
}

/**
 * Gives a file to launchd and sees that it has it.
 *
 * @throws {Refusal} If it has not.
 */
export async function load(
  world: SetupWorld,
  launchctl: Launchctl,
  label: string,
  path: string,
): Promise<void> {
  const target = `${launchctl.domain}/${label}`;
  const disabled = await disabledLabels(launchctl);
  if (disabled?.get(label) === true) {
    throw new Refusal(`it is disabled: run launchctl enable ${target}`);
  }
  let code = 0;
  for (let tries = 0; tries < BOOTSTRAP_TRIES; tries++) {
    if (tries > 0) await world.host.sleep(tries);
    code = await call(launchctl, ["bootstrap", launchctl.domain, path]);
    if (code !== 5) break;
  }
  const deadline = world.host.monotonic() + LOADED_SECONDS;
  for (;;) {
    const status = await launchctlStatus(launchctl, label);
    if (status.found === "yes") return;
    if (code !== 0 || world.host.monotonic() > deadline) {
      throw new Refusal(
        code === 0
          ? status.problem ?? "launchd has not loaded it"
          : explainExit(code, "bootstrap", target),
      );
    }
    await world.host.sleep(POLL_SECONDS);
  }
}

async function call(launchctl: Launchctl, args: string[]): Promise<number> {
  try {
    const { code, timedOut } = await launchctl.run(args, GONE_SECONDS);
    if (!timedOut) return code;
  } catch (error) {
    throw new Refusal(`launchctl does not start: ${reasonOf(error)}`);
  }
  throw new Refusal(
    `launchctl ${args[0]} gave no answer in ${GONE_SECONDS} s: try again`,
  );
}
