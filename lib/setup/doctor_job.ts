// What a property list behind the guard tells by itself.

import { dirname } from "@std/path/dirname";
import type { JobEntry } from "../books.ts";
import { type GuardCommand, parseGuardArguments } from "../guard_arguments.ts";
import { isFile } from "../is_file.ts";
import { logPaths } from "../launch_agent.ts";
import { LAUNCHD_PATH } from "../real_claude.ts";
import { reasonOf } from "../reason.ts";
import { ENV } from "../settings.ts";
import { withSuggestion } from "../suggestion.ts";
import { UsageError } from "../usage.ts";
import { callTrap } from "./claude_jobs.ts";
import { guardPrefix, PYTHON_GUARD } from "./command_text.ts";
import { type Finding, note, wrong } from "./finding.ts";
import type { Guarded } from "./guarded.ts";
import { typed } from "./guard_path.ts";
import { passingPlace } from "./interpreter.ts";
import type { Dictionary } from "./plist_file.ts";
import { privacyAdvice, privateParts } from "./privacy.ts";
import type { SetupWorld } from "./setup_world.ts";

/**
 * Checks one job.
 *
 * @param plist Its whole dictionary
 * @param entry Its newest outcome on the books
 */
export function checkJob(
  world: SetupWorld,
  job: Guarded,
  plist: Dictionary,
  entry: JobEntry | undefined,
): Finding[] {
  return [
    ...checkStart(world, job),
    ...checkOptions(job, plist),
    ...checkLogs(world, job),
    ...checkCalls(job, entry),
    ...checkEnvironment(world, job),
  ];
}

/** Interpreter and guard are there, and will be. */
function checkStart(world: SetupWorld, job: Guarded): Finding[] {
  const { label, path: file } = job.agent;
  const rewrap = guardPrefix(job.agent.arguments) === null
    ? `put the words of "${file}" right by hand: README, two plists to copy`
    : `${typed(world, "quota_catchup")} --wrap ${label} --reload`;
  const script = job.start.at(-1);
  const findings: Finding[] = [];
  // In a shell line ~ and folders count from elsewhere: there it is believed.
  if (
    script !== undefined && PYTHON_GUARD.test(script) &&
    (!script.startsWith("/") || isFile(script))
  ) {
    findings.push(
      wrong(
        label,
        `it still starts "${script}", which shares no circuit with quota_guard`,
        rewrap,
      ),
    );
  }
  for (const path of new Set([job.start[0], script])) {
    if (path === undefined) continue;
    if (!path.startsWith("/")) {
      findings.push(
        note(
          label,
          `"${path}" is looked for in /usr/bin:/bin:/usr/sbin:/sbin alone`,
          "name it by its whole path",
        ),
      );
      continue;
    }
    const place = passingPlace(path, world.host.env);
    if (!isFile(path)) {
      findings.push(wrong(label, `"${path}" is not there`, rewrap));
    } else if (place !== null) {
      findings.push(
        wrong(label, `"${path}" lies in ${place} and will vanish`, rewrap),
      );
    }
  }
  const write = job.start.filter((word) => word.startsWith("--allow-write="))
    .flatMap((word) => word.slice("--allow-write=".length).split(","));
  if (write.length > 0 && !write.some((path) => within(job.folder, path))) {
    findings.push(
      wrong(
        label,
        `it may not write its state folder "${job.folder}" (--allow-write)`,
        rewrap,
      ),
    );
  }
  return findings;
}

function within(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder.replace(/\/$/, "")}/`);
}

/** The guard understands its arguments, and launchd what it does. */
function checkOptions(job: Guarded, plist: Dictionary): Finding[] {
  const { agent, options } = job;
  const { label } = agent;
  let command: GuardCommand;
  try {
    command = parseGuardArguments(job.args);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return [
      wrong(
        label,
        `cannot start, exit code 2: ${withSuggestion(error)}`,
        `correct it in "${agent.path}"`,
      ),
    ];
  }
  if (command.mode === "batch") return [];
  if (command.mode !== "job") {
    return [
      wrong(
        label,
        "the guard is there without --job: it is neither skipped nor caught up",
        `put --job ${label} and -- before its command`,
      ),
    ];
  }
  const findings: Finding[] = [];
  if (options.label !== label) {
    findings.push(
      note(label, `its markers and the books call it ${options.label}`),
    );
  }
  const { KeepAlive } = plist;
  const always = KeepAlive === true;
  if (always || agent.keepAlive && command.job.skipExit !== 0) {
    findings.push(
      wrong(
        label,
        `KeepAlive${
          always ? "" : ` and --skip-exit ${command.job.skipExit}`
        }: launchd starts it again every 10 s while it is skipped`,
        always
          ? "give it a StartCalendarInterval instead of KeepAlive"
          : "leave out --skip-exit",
      ),
    );
  }
  return findings;
}

/** The markers land somewhere. */
function checkLogs(world: SetupWorld, { agent }: Guarded): Finding[] {
  const { label } = agent;
  const findings: Finding[] = [];
  if (agent.stderrPath === null) {
    findings.push(
      note(
        label,
        "it has no StandardErrorPath: its markers are lost, the books alone know what became of it",
        "give it one, such as a file in ~/Library/Logs, by its whole path",
      ),
    );
  }
  for (const path of logPaths(agent)) {
    const problem = logProblem(path);
    if (problem === null) continue;
    findings.push(
      wrong(label, problem, "name a file in ~/Library/Logs, by its whole path"),
    );
  }
  const { logs, work } = privateParts(agent, world.host.env("HOME") ?? "/");
  findings.push(
    ...privacyAdvice({ work: [], logs }, "").map((text) =>
      wrong(label, text, "change StandardOutPath and StandardErrorPath")
    ),
    ...privacyAdvice({ work, logs: [] }, agent.arguments[0] ?? "deno").map(
      (text) => note(label, text),
    ),
  );
  return findings;
}

function logProblem(path: string): string | null {
  if (/\/~|\$(?:HOME|\{HOME\})/.test(path)) {
    return `launchd expands neither ~ nor $HOME: its log would be "${path}"`;
  }
  try {
    const { isFile, isDirectory, mode } = Deno.statSync(path);
    if (isDirectory) return `its log "${path}" is a folder`;
    if (isFile && mode !== null && (mode & 0o222) === 0) {
      return `its log "${path}" is read-only`;
    }
    return null;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) {
      return `its log "${path}" cannot be seen: ${reasonOf(error)}`;
    }
  }
  try {
    return Deno.statSync(dirname(path)).isDirectory
      ? null
      : `"${dirname(path)}" is no folder, so that its log cannot be made`;
  } catch {
    return `the folder of its log "${path}" is not there`;
  }
}

/** Its calls of claude lead through the guard. */
function checkCalls(
  { agent, command }: Guarded,
  entry: JobEntry | undefined,
): Finding[] {
  if (entry !== undefined && entry.calls > 0) return [];
  if (entry?.exit === 126 || entry?.exit === 127) {
    return [
      wrong(
        agent.label,
        `its newest run ended with exit code ${entry.exit}: a command was not found or could not be started`,
        `see its log; launchd's PATH is ${LAUNCHD_PATH}`,
      ),
    ];
  }
  const trap = callTrap(command);
  if (trap !== null) {
    return [wrong(agent.label, trap.text, trap.remedy)];
  }
  return entry?.outcome !== "ran" ? [] : [
    note(
      agent.label,
      "no call of claude was seen in its newest run",
      'if it calls claude by another name, write "$CLAUDE" -p in its script',
    ),
  ];
}

function checkEnvironment(
  world: SetupWorld,
  { agent }: Guarded,
): Finding[] {
  const { label, environment } = agent;
  const findings: Finding[] = [];
  const zone = world.host.timeZone();
  const { HOME = "/", TZ } = environment;
  if (!HOME.startsWith("/")) {
    findings.push(
      wrong(
        label,
        `HOME in its EnvironmentVariables is "${HOME}", no whole path`,
        "write it in full, or take it out",
      ),
    );
  }
  if (TZ && TZ !== zone) {
    findings.push(
      note(
        label,
        `it runs with TZ=${TZ}; launchd's calendar and the catch-up go by ${zone}`,
      ),
    );
  }
  if (environment[ENV.watchdog] && !environment[ENV.keepWatchdog]) {
    findings.push(
      note(
        label,
        `${ENV.watchdog} is set: the guard takes it away from its calls, which would else wait for hours`,
        `take it out, or set ${ENV.keepWatchdog}=1 to keep it`,
      ),
    );
  }
  return findings;
}
