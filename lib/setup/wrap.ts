import {
  type AgentFile,
  isGuarded,
  type LaunchAgent,
} from "../launch_agent.ts";
import { labelProblem } from "../marker.ts";
import { reasonOf } from "../reason.ts";
import { guardCommand } from "../shim.ts";
import { ENV } from "../settings.ts";
import {
  openAgent,
  type OpenedAgent,
  shownText,
  targetOf,
  unwrapFile,
  wrapFile,
} from "./agent_file.ts";
import type { CommandOf } from "./arguments.ts";
import { sha256, writeBackup } from "./backup.ts";
import { callsClaude, callTrap } from "./claude_jobs.ts";
import { PYTHON_GUARD } from "./command_text.ts";
import { agentFiles, findFile } from "./find_agents.ts";
import { installedScript, typed } from "./guard_path.ts";
import { difference } from "./difference.ts";
import { isXml, replaceKeeping, sameBytes } from "./plist_file.ts";
import { privacyAdvice, privateParts } from "./privacy.ts";
import { loadAnew } from "./reload.ts";
import { Refusal, SETUP_EXIT, type SetupWorld } from "./setup_world.ts";

/** Puts the guard in front of jobs in their property lists; the exit code. */
export async function wrap(
  world: SetupWorld,
  command: CommandOf<"wrap">,
): Promise<number> {
  const files = await agentFiles(world);
  const words = command.all ? chosen(world, command, files) : command.targets;
  let refused = 0;
  for (const word of words) {
    try {
      await wrapOne(world, command, findFile(world, files, word));
    } catch (error) {
      refused++;
      world.tell(`${word}: ${reasonOf(error)}`);
      if (error instanceof Refusal && error.paste !== null) {
        world.tell(error.paste);
      }
    }
  }
  if (words.length > 0 && world.host.env(ENV.folder) !== undefined) {
    world.tell(
      `${ENV.folder} is set in this terminal; launchd's jobs see only what their plists say`,
    );
  }
  return refused > 0 ? SETUP_EXIT.wrong : SETUP_EXIT.done;
}

/** Lists every calendar job that calls claude, and asks about each. */
function chosen(
  world: SetupWorld,
  command: CommandOf<"wrap">,
  files: readonly AgentFile[],
): string[] {
  const agents = files.flatMap((file) => "agent" in file ? [file.agent] : [])
    .filter((agent) =>
      agent.calendar !== undefined && !isGuarded(agent) &&
      callsClaude(agent, world.host.env("HOME"))
    );
  if (agents.length === 0) {
    world.tell(
      `No calendar job in "${world.agentsFolder}" calls claude without the guard`,
    );
    return [];
  }
  world.tell("Calendar jobs that call claude without the guard:");
  const yes: string[] = [];
  let nobody = false;
  for (const { label, path } of agents) {
    const answer = command.dryRun ? true : world.ask(`Wrap ${label}?`);
    if (answer === null) {
      nobody = true;
      world.tell(`  ${label}`);
    } else if (answer) yes.push(path);
  }
  if (nobody) {
    world.tell(
      `Say which: ${typed(world, "quota_catchup")} --wrap ${
        agents.map(({ label }) => label).join(" ")
      }`,
    );
  }
  return yes;
}

async function wrapOne(
  world: SetupWorld,
  command: CommandOf<"wrap">,
  path: string,
): Promise<void> {
  const opened = await openAgent(world, path);
  const { agent, backup, bytes, folder, prefix, realPath } = opened;
  const { label } = agent;
  // One that somebody has put there, or the Python guard, keeps its markers' label.
  const job = backup === null ? prefix?.job ?? label : label;
  const problem = labelProblem(job);
  if (problem !== null) throw new Refusal(`${problem}: give it another Label`);
  const home = agent.environment.HOME ?? "/";
  if (!home.startsWith("/")) {
    throw new Refusal(
      `HOME in its EnvironmentVariables is "${home}", no whole path: correct that first`,
    );
  }
  const original = withoutGuard(world, command, opened);
  if (original === null) return;
  const guard = installedScript(world, "quota_guard");
  const words = [
    ...guardCommand(guard, folder),
    ...["--job", job],
    ...command.guardFlags ?? prefix?.options ?? [],
    "--",
  ];
  const wrapped = await wrapFile(world, path, original, words);
  if (sameBytes(wrapped.bytes, bytes)) {
    world.tell(`${label}: behind the guard already, nothing to change`);
    if (command.reload) await loadAnew(world, command, agent);
    return;
  }
  const target = targetOf(world, path, wrapped.command);
  const before = isXml(bytes) ? shownText(bytes) : wrapped.before;
  const after = shownText(wrapped.bytes);
  const { colour } = world;
  world.tell(difference(before, after, { name: path, colour }));
  const advice = [
    ...privacyAdvice(
      privateParts(agent, world.host.env("HOME") ?? "/"),
      guard.interpreter,
    ),
    ...repeatingAdvice(agent),
    ...callAdvice(
      callTrap({
        words: wrapped.command.slice(words.length).map(String),
        folder: agent.workingDirectory ?? "/",
        home: world.host.env("HOME"),
      }),
    ),
  ];
  if (command.dryRun) {
    world.tell(`${label}: would be wrapped`);
  } else {
    const kept = await writeBackup(folder, realPath, {
      original,
      sha256: await sha256(wrapped.bytes),
      replacements: wrapped.replacements,
    }, world.host);
    replaceKeeping(target, wrapped.bytes);
    world.tell(
      isGuarded(agent)
        ? `${label}: wrapped anew; without the guard: "${kept}"`
        : `${label}: wrapped; as it was before: "${kept}"`,
    );
  }
  for (const line of advice) world.tell(`  ${line}`);
  if (!command.dryRun) await loadAnew(world, command, agent);
}

/**
 * The file without the guard, to begin from. Null if it is to stay as it is:
 * somebody has put the guard there in a way of their own.
 */
function withoutGuard(
  world: SetupWorld,
  command: CommandOf<"wrap">,
  opened: OpenedAgent,
): Uint8Array | null {
  const { agent, backup, bytes, path, prefix } = opened;
  if (!isGuarded(agent)) return bytes;
  if (backup !== null || prefix !== null) return unwrapFile(opened).bytes;
  const byHand = "behind the guard already, in a way of your own";
  if (
    command.guardFlags !== null || PYTHON_GUARD.test(agent.arguments.join(" "))
  ) {
    throw new Refusal(
      `${byHand}: edit ProgramArguments in "${path}", or take the guard out there and run this again`,
    );
  }
  world.tell(`${agent.label}: ${byHand}; left as it is`);
  return null;
}

/** What the guard cannot do for jobs that repeat by themselves. */
function repeatingAdvice(agent: LaunchAgent): string[] {
  if (agent.keepAlive) {
    return [
      "KeepAlive: while the circuit is open launchd starts it, and the guard skips it, every 10 s; give it a calendar instead",
    ];
  }
  return agent.calendar === undefined || agent.hasStartInterval
    ? [
      "it has no calendar alone: it is skipped while the circuit is open, and not caught up",
    ]
    : [];
}

/** What the job's own command needs besides. */
function callAdvice(trap: ReturnType<typeof callTrap>): string[] {
  return trap === null ? [] : [`${trap.text}: ${trap.remedy}`];
}
