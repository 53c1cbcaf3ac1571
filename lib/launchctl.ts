// The door to launchd, launchctl(1): looking at jobs, starting and stopping them.
// Every call is bounded in time, and nothing of what `print` shows is passed on
// as text: it contains the job's environment.

import { join } from "@std/path/join";
import { isFile } from "./is_file.ts";
import { reasonOf } from "./reason.ts";
import {
  parsePrint,
  parsePrintDisabled,
  type ServiceStatus,
  unknownService,
} from "./service.ts";
import { type RunTool, type ToolResult, toolRunner } from "./tool.ts";

/** launchctl and the domain of this user's agents. */
export interface Launchctl {
  /** `gui/UID`, in front of every label. */
  domain: string;
  /** Runs launchctl. */
  run: RunTool;
}

/** What came of asking launchd to start or stop a job. */
export interface Attempt {
  /**
   * Nothing happened: launchd has said no, or was not reached. If false, it is
   * open whether anything happened, also without a problem: look at the job.
   */
  refused: boolean;
  /** What is the matter, and the remedy; null if launchd did not complain. */
  problem: string | null;
}

/** A start can block for minutes on a job that launchd holds back. */
const KICKSTART_SECONDS = 15;
const OTHER_SECONDS = 10;

/**
 * Finds launchctl: the first one on PATH, so that a stand-in can take its place,
 * else on a Mac the one that every Mac has.
 *
 * @returns An absolute path, or null if this is no Mac and there is no stand-in
 */
export function findLaunchctl(
  env: (name: string) => string | undefined,
): string | null {
  for (const folder of (env("PATH") ?? "").split(":")) {
    if (folder.startsWith("/") && isFile(join(folder, "launchctl"))) {
      return join(folder, "launchctl");
    }
  }
  return Deno.build.os === "darwin" ? "/bin/launchctl" : null;
}

/** The door for this user, or null where there is no launchctl. */
export function openLaunchctl(
  env: (name: string) => string | undefined,
): Launchctl | null {
  const program = findLaunchctl(env);
  return program === null
    ? null
    : { domain: `gui/${Deno.uid()}`, run: toolRunner(program) };
}

/** Looks at a job. */
export async function launchctlStatus(
  launchctl: Launchctl,
  label: string,
): Promise<ServiceStatus> {
  const { problem, code, stdout } = await ask(
    launchctl,
    ["print"],
    label,
    OTHER_SECONDS,
  );
  if (problem === null) return parsePrint(stdout);
  // 113 is what `print` gives for a job that is not loaded; 3 was seen as well.
  return unknownService(problem, code === 113 || code === 3 ? "no" : "unknown");
}

/** Asks launchd to start a job now. A job that runs already goes on as it is. */
export async function kickstart(
  launchctl: Launchctl,
  label: string,
): Promise<Attempt> {
  const { refused, problem } = await ask(
    launchctl,
    ["kickstart"],
    label,
    KICKSTART_SECONDS,
  );
  return { refused, problem };
}

/** Sends a signal to the main process of a job. */
export async function signalJob(
  launchctl: Launchctl,
  signal: "SIGTERM" | "SIGKILL",
  label: string,
): Promise<Attempt> {
  const { refused, problem } = await ask(
    launchctl,
    ["kill", signal],
    label,
    OTHER_SECONDS,
  );
  return { refused, problem };
}

/**
 * For each label that was switched by hand whether it is disabled; see
 * `parsePrintDisabled`. Null if launchd could not be asked.
 */
export async function disabledLabels(
  launchctl: Launchctl,
): Promise<Map<string, boolean> | null> {
  try {
    const args = ["print-disabled", launchctl.domain];
    const { code, stdout, timedOut } = await launchctl.run(args, OTHER_SECONDS);
    return timedOut || code !== 0 ? null : parsePrintDisabled(stdout);
  } catch {
    return null;
  }
}

interface Answer extends Attempt {
  /** Exit code; null if the call did not come to one. */
  code: number | null;
  stdout: string;
}

/** Exit codes after which the job may yet have been started: see `explainExit`. */
const UNDECIDED = new Set([0, 5, 36, 37]);

/** One call about one job. */
async function ask(
  launchctl: Launchctl,
  command: [verb: string, ...options: string[]],
  label: string,
  seconds: number,
): Promise<Answer> {
  const [verb] = command;
  const target = `${launchctl.domain}/${label}`;
  const failed = (refused: boolean, problem: string): Answer => ({
    refused,
    problem,
    code: null,
    stdout: "",
  });
  // launchctl would cut such a label and mean another job.
  if (label.includes("/")) {
    return failed(true, "cannot tell: the label contains a slash");
  }
  let result: ToolResult;
  try {
    result = await launchctl.run([...command, target], seconds);
  } catch (error) {
    const why = reasonOf(error);
    return failed(true, `cannot tell: launchctl does not start: ${why}`);
  }
  const { code, stdout, timedOut } = result;
  if (timedOut) {
    return failed(false, `launchctl ${verb} gave no answer in ${seconds} s`);
  }
  const problem = code === 0 ? null : explainExit(code, verb, target);
  return { refused: !UNDECIDED.has(code), problem, code, stdout };
}

/**
 * What an exit code of launchctl means for the user, and the remedy.
 *
 * @param code As `launchctl error CODE` knows it
 * @param verb The subcommand: `print`, `kickstart`, `kill`
 * @param target What it was about: `gui/UID/LABEL`
 */
export function explainExit(
  code: number,
  verb: string,
  target: string,
): string {
  const domain = target.split("/").slice(0, 2).join("/");
  switch (code) {
    case 3:
      if (verb === "kill") return "it is not running";
      // Some versions say so of a job that is not loaded.
      /* falls through */
    case 113:
      return `not loaded: run launchctl bootstrap ${domain} PLIST, or switch it on in Login Items`;
    case 5:
      return "launchd reports an input/output error: it may pass, else bootout and bootstrap the job";
    case 36:
    case 37:
      return "it is starting, running or being stopped already";
    case 78:
      return "launchd could not start the program or open its log files: check the paths in the plist";
    case 112:
    case 125:
      return `cannot tell: no graphical session (${domain}), log in at the screen`;
    case 119:
      return `disabled: run launchctl enable ${target}`;
    case 124:
      return "cannot tell: the session is ending, log in again";
    default:
      return `launchctl ${verb} failed with exit code ${code}: run launchctl error ${code}`;
  }
}
