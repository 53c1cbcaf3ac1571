/** A home in a temporary folder and the modes of setting up in it, without processes. */
import { dirname } from "@std/path/dirname";
import { join } from "@std/path/join";
import type { Launchctl } from "../lib/launchctl.ts";
import { parseSetupArguments } from "../lib/setup/arguments.ts";
import { setUp } from "../lib/setup/setup.ts";
import { setupMode } from "../lib/setup/setup_mode.ts";
import type { SetupWorld } from "../lib/setup/setup_world.ts";
import { type FakeHost, fakeHost } from "./fake_host.ts";
import { type PlistDict, plistXml } from "./plist_xml.ts";

/** The instant of every stage; noon in Greenwich. */
export const NOW = "2026-12-01T12:00:00Z";

/** How one mode went. */
export interface Setup {
  code: number;
  /** What it told, the home shown as `~`. */
  text: string;
}

/** A home with the two scripts and a deno in it. */
export class Stage implements Disposable {
  readonly home = Deno.realPathSync(
    Deno.makeTempDirSync({ prefix: "quota setup " }),
  );
  readonly agents = join(this.home, "Library", "LaunchAgents");
  readonly bin = join(this.home, ".local", "bin");
  readonly state = join(this.home, ".local", "state", "claude-quota");
  readonly deno = join(this.home, ".deno", "bin", "deno");
  readonly guard = join(this.bin, "quota_guard.js");
  readonly env: Record<string, string> = { HOME: this.home, PATH: this.bin };
  readonly host: FakeHost = fakeHost(NOW, { env: this.env });
  /** Answers to questions, in their order; without one nobody is there. */
  readonly answers: boolean[] = [];
  /** Takes the place of plutil. */
  convert: SetupWorld["convert"] = () => Promise.resolve(null);
  launchctl: Launchctl | null = null;
  /** What runs the catch-up. */
  interpreter = this.deno;
  uid: number | null = Deno.uid();
  /** The state folder of this terminal. */
  folder = this.state;

  constructor() {
    Deno.mkdirSync(this.agents, { recursive: true });
    for (const name of ["quota_guard.js", "quota_catchup.js", "claude"]) {
      this.program(join(this.bin, name));
    }
    this.program(this.deno);
  }

  /** Makes an executable file that is never run. */
  program(path: string, text = "#!/bin/sh\n"): string {
    Deno.mkdirSync(dirname(path), { recursive: true });
    Deno.writeTextFileSync(path, text, { mode: 0o755 });
    return path;
  }

  /** Writes an agent, from keys or as the file stands, and returns its path. */
  agent(label: string, content: PlistDict | string | Uint8Array): string {
    const path = join(this.agents, `${label}.plist`);
    const bytes = content instanceof Uint8Array
      ? content
      : new TextEncoder().encode(
        typeof content === "string"
          ? content
          : plistXml({ Label: label, ...content }),
      );
    Deno.writeFileSync(path, bytes);
    Deno.chmodSync(path, 0o644);
    return path;
  }

  /** The words in front of a wrapped command, up to the guard's path. */
  get guardWords(): string[] {
    return [
      this.deno,
      ...["run", "--no-config", "--no-remote", "--no-npm", "--no-prompt"],
      ...["--quiet", "--allow-read", `--allow-write=${this.state}`],
      ...["--allow-run", "--allow-env"],
      this.guard,
    ];
  }

  /** Runs a mode of setting up, as its arguments say. */
  async run(...args: string[]): Promise<Setup> {
    const mode = setupMode(args);
    if (mode === null) throw new Error(`No mode in ${args.join(" ")}`);
    const command = parseSetupArguments(mode, args);
    if (command.mode === "help") throw new Error("Help is no mode");
    const lines: string[] = [];
    const code = await setUp(this.world(lines), command);
    return { code, text: lines.join("\n").replaceAll(this.home, "~") };
  }

  /** The world of this home; what it tells goes to `lines`. */
  world(lines: string[]): SetupWorld {
    const { host, launchctl, folder, agents: agentsFolder } = this;
    const policy = { probeInterval: 1800, cooldown: 21_600 };
    const tell = (text: string): void => void lines.push(text);
    return {
      host,
      launchctl,
      agentsFolder,
      folder,
      policy,
      self: {
        interpreter: this.interpreter,
        script: join(this.bin, "quota_catchup.js"),
      },
      uid: this.uid,
      convert: (path) => this.convert(path),
      round: () => ({
        host,
        launchctl,
        agentsFolder,
        folder,
        policy,
        stop: new AbortController().signal,
        probe: () => Promise.reject(new Error("A look must not probe")),
        kick: () => Promise.reject(new Error("A look must not kick")),
        wait: () => Promise.reject(new Error("A look must not wait")),
        tell,
        progress: () => {},
        note: () => {},
      }),
      tell,
      ask: () => this.answers.shift() ?? null,
      colour: false,
    };
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.home, { recursive: true });
  }
}
