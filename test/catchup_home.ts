/**
 * A home whose jobs start through a guard of a few shell lines, quick enough for
 * many of them; launchctl is the stand-in, the catch-up the real one.
 */
import { join } from "@std/path/join";
import { noonZone } from "./daytime.ts";
import { executable, textOf } from "./files.ts";
import { type Finished, Home, runCatchup, type RunOptions } from "./harness.ts";
import type { PlistDict } from "./plist_xml.ts";

/** It is noon in this home, and every job of it was skipped an hour ago. */
export class CatchupHome extends Home {
  readonly guard = join(this.path, "quota_guard");
  readonly skipTs = Math.floor(Date.now() / 1000) - 3600;

  constructor() {
    super();
    this.env.TZ = noonZone(Date.now() / 1000);
    executable(
      this.guard,
      `label=$2; shift 3
"$@"
echo "CLAUDE_QUOTA_JOB_RAN job=$label exit=$? ts=$(date +%s)" >&2`,
    );
  }

  /** Writes a job that was skipped and loads it. */
  async job(
    label: string,
    script: string,
    keys: PlistDict = {},
  ): Promise<void> {
    const log = this.log(label);
    const skip =
      `CLAUDE_QUOTA_JOB_SKIPPED job=${label} reason=quota remaining=9s ts=${this.skipTs}\n`;
    Deno.writeTextFileSync(log, skip);
    const path = this.plist(label, {
      ProgramArguments: [
        ...[this.guard, "--job", label, "--"],
        ...[
          "/bin/sh",
          "-c",
          `echo started >> '${this.count(label)}'; ${script}`,
        ],
      ],
      StandardErrorPath: log,
      StandardOutPath: log,
      StartCalendarInterval: { Hour: 7, Minute: 0 },
      ...keys,
    });
    await this.launchctl("bootstrap", `gui/${Deno.uid()}`, path);
  }

  log(label: string): string {
    return join(this.logs, `${label}.log`);
  }

  /** The file that gets a line at each start. */
  count(label: string): string {
    return join(this.path, `${label} starts`);
  }

  starts(label: string): number {
    return textOf(this.count(label)).split("\n").length - 1;
  }

  async launchctl(...words: string[]): Promise<string> {
    const { code, stderr, stdout } = await this.run([
      join(this.bin, "launchctl"),
      ...words,
    ]);
    if (code !== 0) throw new Error(`launchctl ${words[0]}: ${stderr}`);
    return stdout;
  }

  /** Puts something in front of launchctl: a kickstart is over once these files say something. */
  kickstartWaitsFor(...files: string[]): void {
    const launchctl = join(this.bin, "launchctl");
    const real = `${launchctl}.real`;
    Deno.renameSync(launchctl, real);
    const said = files.map((file) => `[ -s '${file}' ]`).join(" && ");
    executable(
      launchctl,
      `'${real}' "$@"; code=$?
[ "$1" != kickstart ] || until ${said}; do sleep 0.02; done
exit $code`,
    );
  }

  /** Runs the catch-up, without a probe unless that is asked for. */
  catchUp(flags: string[] = [], options: RunOptions = {}): Promise<Finished> {
    return runCatchup(this, ["--no-probe", ...flags], options);
  }
}
