/** A reader of the README who does what it says, on stand-ins. */
import { assertEquals, assertMatch } from "@std/assert";
import { dirname } from "@std/path/dirname";
import { join } from "@std/path/join";
import { CATCHUP_LABEL } from "../lib/setup/catchup_agent.ts";
import { noonZone } from "./daytime.ts";
import { executable, textOf } from "./files.ts";
import { type Finished, Home, until } from "./harness.ts";
import { blocks, plists, section } from "./readme.ts";
import { root } from "./script.ts";

/** The shell of the recipe for login shells, if there is one here. */
export const ZSH = ["/bin/zsh", "/usr/bin/zsh"].find((path) =>
  textOf(path) !== ""
);

/** Seconds; a busy machine is no failure. */
const PATIENCE = 60;

/** A home that has followed the README's section "Install". */
export class ReadersHome extends Home {
  readonly zone = noonZone(Date.now() / 1000);
  /** Where the state is when nothing says otherwise. */
  readonly ownState = join(this.path, ".local", "state", "claude-quota");
  /** Where the official installer puts it. */
  readonly deno = join(this.path, ".deno", "bin", "deno");

  constructor() {
    super();
    Deno.mkdirSync(dirname(this.deno), { recursive: true });
    Deno.symlinkSync(Deno.execPath(), this.deno);
    executable(
      join(this.bin, "caffeinate"),
      '[ "$1" = -i ] && shift && exec "$@"',
    );
    // launchd knows its user's home and zone, whoever asks it to start a job.
    const launchctl = join(this.bin, "launchctl");
    executable(
      launchctl,
      `export HOME='${this.path}' TZ='${this.zone}'\n${textOf(launchctl)}`,
    );
    Deno.mkdirSync(join(this.path, "jobs"));
    const [script = ""] = blocks("sh", section("## Two plists to copy"));
    Deno.writeTextFileSync(join(this.path, "jobs", "post.sh"), script, {
      mode: 0o755,
    });
  }

  /** Types a line into a terminal. */
  type(line: string, env: Record<string, string> = {}): Promise<Finished> {
    return this.run(["/bin/sh", "-c", line], {
      env: {
        CLAUDE_QUOTA_DIR: null,
        PATH: `${this.bin}:${dirname(this.deno)}:/usr/bin:/bin`,
        TZ: this.zone,
        ...env,
      },
    });
  }

  async typeWell(line: string): Promise<string> {
    const { code, stdout, stderr } = await this.type(line);
    assertEquals(code, 0, `${line}: ${stdout}${stderr}`);
    return stdout + stderr;
  }

  /** What `deno task install` does once the bundles are made. */
  async install(): Promise<void> {
    this.words("quota_guard", { kind: "bundle" });
    this.words("quota_catchup", { kind: "bundle" });
    const done = await this.run(
      [Deno.execPath(), "run", "-A", "--quiet", "tools/install.ts"],
      { cwd: root, env: { CLAUDE_QUOTA_DIR: null } },
    );
    assertEquals(done.code, 0, done.stderr);
    assertMatch(done.stdout, /quota_guard\.js[\s\S]*quota_catchup\.js/);
  }

  /** Saves a plist of the README, with the programs of this home in it. */
  save(label: string, text: string): void {
    const here = text
      .replaceAll("/opt/homebrew/bin/deno", "/Users/me/.deno/bin/deno")
      .replaceAll("/usr/bin/caffeinate", "/Users/me/.local/bin/caffeinate")
      .replaceAll("/bin/launchctl", "/Users/me/.local/bin/launchctl")
      .replaceAll("/bin/zsh", ZSH ?? "/bin/zsh");
    Deno.writeTextFileSync(join(this.agents, `${label}.plist`), here);
  }

  /** Saves and loads the plists as the README says. */
  async load(texts: Map<string, string>): Promise<void> {
    for (const [label, text] of texts) this.save(label, text);
    const [paths = "", load = ""] = blocks("sh", section("### Load them"));
    await this.typeWell(paths.trim().replaceAll("\n", " && "));
    for (const line of load.trim().split("\n")) await this.typeWell(line);
  }

  textOfAgent(label: string): string {
    return textOf(join(this.agents, `${label}.plist`));
  }

  logOf(label: string): string {
    return textOf(join(this.logs, `${label}.log`));
  }

  /** Starts a job as launchd does at its slot; what it leaves in its log. */
  async slot(label: string): Promise<string> {
    const before = this.logOf(label).length;
    await this.typeWell(`launchctl kickstart gui/$(id -u)/${label}`);
    const marker = new RegExp(`^CLAUDE_QUOTA_JOB_(?:SKIPPED|RAN) .*\\n`, "m");
    const left = await until(
      () => {
        const log = this.logOf(label).slice(before);
        return marker.test(log) && log;
      },
      `${label} has left its marker`,
      PATIENCE,
    );
    // A kickstart of a job that is still on its way out starts nothing.
    await until(
      async () => {
        const print = `launchctl print gui/$(id -u)/${label}`;
        return /^\tstate = not running$/m.test(await this.typeWell(print));
      },
      `${label} has ended`,
      PATIENCE,
    );
    return left;
  }

  /** Lets the catch-up's own agent make its round. */
  async round(): Promise<string> {
    const label = CATCHUP_LABEL;
    const before = this.logOf("claude-quota-catchup").length;
    await this.typeWell(`launchctl kickstart gui/$(id -u)/${label}`);
    await until(
      async () => {
        const print = `launchctl print gui/$(id -u)/${label}`;
        return /^\tlast exit code = \d/m.test(await this.typeWell(print));
      },
      "the catch-up has ended",
      PATIENCE,
    );
    return this.logOf("claude-quota-catchup").slice(before);
  }
}

/** The catch-up's agent finds the stand-in for launchctl by its PATH. */
export function withPath(text: string): string {
  return text.replace(
    /<\/dict>\n<\/plist>/,
    "<key>EnvironmentVariables</key><dict><key>PATH</key>" +
      "<string>/Users/me/.local/bin:/usr/bin:/bin</string></dict>$&",
  );
}

/** The README's plists, ready to be saved in such a home. */
export function readersPlists(): Map<string, string> {
  return new Map([...plists()].map(([label, text]) => [
    label,
    label === CATCHUP_LABEL ? withPath(text) : text,
  ]));
}

/** A plist of the README as it was before the guard came. */
export function unguarded(text: string): string {
  return text.replace(
    /( *)<string>\/opt\/homebrew\/bin\/deno<\/string>[\s\S]*?<string>--<\/string>\n/,
    "",
  );
}
