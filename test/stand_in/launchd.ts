import { fromFileUrl } from "@std/path/from-file-url";
import { join } from "@std/path/join";
import { executable, textOf } from "../files.ts";

/** A stand-in for launchd and its launchctl; see `launchctl.ts`. */
export class LaunchdStandIn {
  /** What it keeps: a folder for each label. */
  readonly folder: string;

  /**
   * Makes the program `path`, which works in any environment.
   *
   * @param home of the user whose launchd it is; a caller's HOME goes before it
   */
  constructor(folder: string, path: string, home: string) {
    this.folder = folder;
    Deno.mkdirSync(folder, { recursive: true });
    const program = fromFileUrl(new URL("launchctl.ts", import.meta.url));
    executable(
      path,
      `export HOME="\${HOME:-${home}}"\n` +
        `LAUNCHD_STAND_IN='${folder}' exec '${Deno.execPath()}' run -A --quiet ` +
        `--no-config --no-lock '${program}' "$@"`,
    );
  }

  /** Gives a loaded label a bad day, one of those in `launchctl.ts`. */
  badDay(label: string, day: string, value = ""): void {
    Deno.writeTextFileSync(join(this.folder, label, day), value);
  }

  /** Ends a bad day that lasts. */
  goodDay(label: string, day: string): void {
    Deno.removeSync(join(this.folder, label, day));
  }

  /** Kills what runs. */
  killAll(): void {
    for (const { name } of Deno.readDirSync(this.folder)) {
      const service = textOf(join(this.folder, name, "service.json"));
      const pid = /"pid":(\d+)/.exec(service)?.[1];
      try {
        if (pid) Deno.kill(-Number(pid), "SIGKILL");
      } catch { /* gone already */ }
    }
  }
}
