import { dirname } from "@std/path/dirname";
import { join } from "@std/path/join";
import { ownFolder, stateFolders } from "../catchup_look.ts";
import { isFile } from "../is_file.ts";
import { findLaunchctl } from "../launchctl.ts";
import type { AgentFile } from "../launch_agent.ts";
import { type Self, startCommand } from "../shim.ts";
import { escapeMarkup } from "./plist_text.ts";
import type { SetupWorld } from "./setup_world.ts";

/** The catch-up's own label. */
export const CATCHUP_LABEL = "local.claude-quota.catchup";

/** Keeps the Mac awake while a round is at work; macOS only. */
const CAFFEINATE = "/usr/bin/caffeinate";

/** For what a stopped job leaves behind, and for plists that only Apple's reader reads. */
const TOOLS = ["/bin/ps", "/bin/kill", "/usr/bin/plutil"];

/** The catch-up's own property list. */
export function catchupAgentPath(world: SetupWorld): string {
  return join(world.agentsFolder, `${CATCHUP_LABEL}.plist`);
}

/** The file that holds what its rounds say. */
export function catchupLogPath(world: SetupWorld): string {
  const home = world.host.env("HOME");
  return home === undefined
    ? join(world.folder, "catchup-launchd.log")
    : join(home, "Library", "Logs", "claude-quota-catchup.log");
}

/**
 * The words that launchd starts the catch-up with. Its permissions are narrow:
 * it reads, writes the state folders of the jobs there are, and starts launchctl,
 * the guard's interpreter, ps and kill, nothing else.
 */
export function catchupWords(
  world: SetupWorld,
  self: Self,
  files: readonly AgentFile[],
): string[] {
  const awake = isFile(CAFFEINATE) ? [CAFFEINATE, "-i"] : [];
  const folders = stateFolders({ ...world, folder: ownFolder(world) }, files);
  const launchctl = findLaunchctl(world.host.env) ?? "/bin/launchctl";
  return [
    ...awake,
    ...startCommand(self, [
      "--allow-read",
      scoped("--allow-write", [...folders]),
      scoped("--allow-run", [launchctl, self.interpreter, ...TOOLS]),
      "--allow-env",
      "--allow-sys=uid",
    ]),
  ];
}

/** A comma always ends a path there. */
function scoped(flag: string, paths: readonly string[]): string {
  return paths.some((path) => path.includes(","))
    ? flag
    : `${flag}=${paths.join(",")}`;
}

/** The catch-up's own property list as XML, launchd.plist(5). */
export function catchupPlist(
  words: readonly string[],
  interval: number,
  log: string,
): string {
  const string = (text: string): string =>
    `<string>${escapeMarkup(text)}</string>`;
  const items = words.map((word) => `\t\t${string(word)}\n`).join("");
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Written by quota_catchup --install, removed by quota_catchup --uninstall -->
<plist version="1.0">
<dict>
\t<key>Label</key>
\t${string(CATCHUP_LABEL)}
\t<key>ProgramArguments</key>
\t<array>
${items}\t</array>
\t<key>StartInterval</key>
\t<integer>${interval}</integer>
\t<key>StandardOutPath</key>
\t${string(log)}
\t<key>StandardErrorPath</key>
\t${string(log)}
\t<key>WorkingDirectory</key>
\t${string(dirname(log))}
</dict>
</plist>
`;
}
