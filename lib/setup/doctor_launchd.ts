// What launchd holds, against the property lists on disk.

import { calendarProblem } from "../calendar.ts";
import { sameFile } from "../catchup_look.ts";
import type { LaunchAgent } from "../launch_agent.ts";
import {
  disabledLabels,
  type Launchctl,
  launchctlStatus,
} from "../launchctl.ts";
import { type Finding, note, wrong } from "./finding.ts";
import type { SetupWorld } from "./setup_world.ts";

const PRINT_SECONDS = 10;

/** Checks that agents are loaded as their files say. */
export async function checkLoaded(
  world: SetupWorld,
  agents: readonly LaunchAgent[],
): Promise<Finding[]> {
  const { launchctl } = world;
  if (launchctl === null) {
    return [
      note(
        "launchd",
        "there is no launchctl here: what is loaded was not looked at",
      ),
    ];
  }
  const disabled = await disabledLabels(launchctl);
  const findings: Finding[] = [];
  for (const agent of agents) {
    findings.push(
      ...await checkOne(launchctl, agent, disabled?.get(agent.label) ?? null),
    );
  }
  return findings;
}

async function checkOne(
  launchctl: Launchctl,
  agent: LaunchAgent,
  disabled: boolean | null,
): Promise<Finding[]> {
  const { label, path } = agent;
  const target = `${launchctl.domain}/${label}`;
  const load = `launchctl bootstrap ${launchctl.domain} '${path}'`;
  if (disabled ?? agent.disabled ?? false) {
    return [
      wrong(
        label,
        "it is disabled",
        `launchctl enable ${target}; then ${load}`,
      ),
    ];
  }
  const status = await launchctlStatus(launchctl, label);
  if (status.found === "unknown") {
    return [note(label, status.problem ?? "launchd does not answer")];
  }
  if (status.found === "no") {
    return [
      wrong(
        label,
        "it is not loaded",
        `${load} (if it does not stay, switch it on in Login Items)`,
      ),
    ];
  }
  const again = `launchctl bootout ${target}; ${load}`;
  if (status.path !== null && !sameFile(status.path, path)) {
    return [
      wrong(label, `launchd has loaded it from "${status.path}"`, again),
    ];
  }
  const stale = await holdsOtherArguments(launchctl, agent)
    ? "other arguments"
    : otherCalendar(agent, status.calendar)
    ? "another calendar"
    : null;
  return stale === null
    ? []
    : [wrong(label, `it is loaded with ${stale} than its file has`, again)];
}

/** `print` shows the arguments raw, one or more lines each. */
async function holdsOtherArguments(
  launchctl: Launchctl,
  agent: LaunchAgent,
): Promise<boolean> {
  const target = `${launchctl.domain}/${agent.label}`;
  const { code, stdout, timedOut } = await launchctl.run(
    ["print", target],
    PRINT_SECONDS,
  );
  if (timedOut || code !== 0 || agent.arguments.length === 0) return false;
  const flat = (text: string): string => text.replace(/^[ \t]+/gm, "");
  const shown = flat(stdout);
  return shown.includes("\narguments = {\n") &&
    !shown.includes(
      `\narguments = {\n${flat(agent.arguments.join("\n"))}\n}\n`,
    );
}

/** Compares only what is in order and shown. */
function otherCalendar(
  { calendar }: LaunchAgent,
  held: readonly Record<string, number>[],
): boolean {
  if (calendar === undefined || calendarProblem(calendar) !== null) {
    return false;
  }
  if (held.length === 0) return false;
  const written = new Set([calendar].flat().map(entryKey));
  const inForce = new Set(held.map(entryKey));
  return written.symmetricDifference(inForce).size > 0;
}

function entryKey(entry: unknown): string {
  return Object.entries(entry ?? {}).sort(([a], [b]) => a < b ? -1 : 1)
    .join(";");
}
