/** A home in which somebody has installed the two scripts and nothing else. */
import { assertEquals, assertMatch } from "@std/assert";
import { dirname } from "@std/path/dirname";
import { join } from "@std/path/join";
import { noonZone } from "./daytime.ts";
import { executable, textOf } from "./files.ts";
import { type Finished, Home, type RunOptions, until } from "./harness.ts";
import { readPlistXml } from "./plist_xml.ts";
import { root } from "./script.ts";

/** Some keys of a job that calls claude at seven. */
export const CALENDAR = { StartCalendarInterval: { Hour: 7, Minute: 0 } };

/** With the bundles in `~/.local/bin` and a deno that lasts. */
export class InstalledHome extends Home {
  /** A zone in which it is noon. */
  readonly zone = noonZone(Date.now() / 1000);
  /** Where the official installer puts it. */
  readonly deno = join(this.path, ".deno", "bin", "deno");
  readonly folder = join(this.path, ".local", "state", "claude-quota");
  readonly #options: RunOptions = {
    env: {
      CLAUDE_QUOTA_DIR: null,
      TZ: this.zone,
      PATH: `${this.bin}:${join(this.path, ".deno", "bin")}:/usr/bin:/bin`,
    },
  };

  constructor() {
    super();
    Deno.mkdirSync(dirname(this.deno), { recursive: true });
    Deno.symlinkSync(Deno.execPath(), this.deno);
    // launchd knows its user's home and zone, whoever asks it to start a job.
    const launchctl = join(this.bin, "launchctl");
    executable(
      launchctl,
      `export HOME='${this.path}' TZ='${this.zone}'\n${textOf(launchctl)}`,
    );
    for (const name of ["quota_guard", "quota_catchup"] as const) {
      this.words(name, { kind: "bundle" });
      const file = `${name}.js`;
      Deno.copyFileSync(join(root, "dist", file), join(this.bin, file));
    }
  }

  /** Writes a job with a log, which calls claude by its name. */
  job(label: string, keys: Parameters<Home["plist"]>[1] = {}): string {
    return this.plist(label, {
      ProgramArguments: ["/bin/sh", "-c", "claude -p hi"],
      ...CALENDAR,
      StandardOutPath: this.log(label),
      StandardErrorPath: this.log(label),
      ...keys,
    });
  }

  /** The log of a job. */
  log(label: string): string {
    return join(this.logs, `${label}.log`);
  }

  /** Types a line with the home on PATH. */
  async type(
    words: string[],
    code = 0,
    env: Record<string, string> = {},
  ): Promise<string> {
    const done: Finished = await this.run(words, {
      env: { ...this.#options.env, ...env },
    });
    const text = (done.stdout + done.stderr).replaceAll(this.path, "~");
    assertEquals(done.code, code, `${words.join(" ")}\n${text}`);
    return text;
  }

  /** Runs the installed catch-up by its first line; fails unless it ends with `code`. */
  catchup(args: string[], code = 0): Promise<string> {
    return this.type([join(this.bin, "quota_catchup.js"), ...args], code);
  }

  /** Runs the installed guard by its first line. */
  guard(args: string[]): Promise<string> {
    return this.type([join(this.bin, "quota_guard.js"), ...args]);
  }

  /** Runs the stand-in for launchctl. */
  launchctl(...args: string[]): Promise<string> {
    return this.type([join(this.bin, "launchctl"), ...args]);
  }

  /** launchd's name of a job. */
  target(label: string): string {
    return `gui/${Deno.uid()}/${label}`;
  }

  /** Loads a job as it stands. */
  load(path: string): Promise<string> {
    return this.launchctl("bootstrap", `gui/${Deno.uid()}`, path);
  }

  /** launchd starts a job at its slot; what it leaves in its log. */
  async slot(label: string): Promise<string> {
    const before = textOf(this.log(label)).length;
    await this.launchctl("kickstart", this.target(label));
    await this.ended(label);
    const log = textOf(this.log(label)).slice(before);
    assertMatch(log, /_(?:SKIPPED|RAN) .*\n$/);
    return log;
  }

  /** Waits until a job's process is gone: after its marker it has things to do. */
  async ended(label: string): Promise<void> {
    await until(
      async () =>
        /^\tstate = not running$/m.test(
          await this.launchctl("print", this.target(label)),
        ),
      `${label} has ended`,
    );
  }

  /** The words of an agent's file. */
  wordsOf(label: string): string[] {
    const path = join(this.agents, `${label}.plist`);
    const plist = readPlistXml(Deno.readTextFileSync(path));
    const words = (plist as Record<string, unknown>).ProgramArguments;
    return Array.isArray(words) ? words.map(String) : [];
  }
}
