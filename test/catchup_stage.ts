/**
 * A round of the catch-up in this very process: real files, a clock that is moved,
 * launchd in memory, and a probe that costs nothing.
 */
import { join } from "@std/path/join";
import { run } from "../lib/catchup.ts";
import type {
  CatchupOptions,
  CatchupWorld,
  KickNote,
  RoundResult,
} from "../lib/catchup_world.ts";
import {
  JOB_KILL_GRACE_SECONDS,
  JOB_TIMEOUT_SECONDS,
  kickAndWait,
  type Kicker,
  waitUntilGone,
} from "../lib/kick.ts";
import { ranMarker, refusedMarker, skippedMarker } from "../lib/marker.ts";
import { policyFrom } from "../lib/settings.ts";
import { updateState } from "../lib/state.ts";
import { type FakeHost, fakeHost } from "./fake_host.ts";
import { FakeLaunchd } from "./fake_launchd.ts";
import { textOf } from "./files.ts";
import { type PlistDict, plistXml } from "./plist_xml.ts";

/** Noon and a little of a Monday, in a zone of its own. */
export const NOON = "2026-11-30T12:04:00+09:00";
/** The zone of all times on the stage. */
export const ZONE = "Asia/Tokyo";

/** What a job on the stage is like. */
export interface StageJob {
  /** Lines of its log. @default one skip, four hours before */
  log?: string[];
  /** Words between `--job LABEL` and the command. */
  flags?: string[];
  keys?: PlistDict;
  /** launchd does not know it. */
  unloaded?: boolean;
  /** Ends with this marker. */
  end?: "ran" | "failed" | "limit" | "silent";
  takes?: number;
}

/** Everything that a round needs, in a temporary folder. */
export class Stage implements Disposable {
  readonly path = Deno.makeTempDirSync({ prefix: "catchup " });
  readonly agents = join(this.path, "agents");
  readonly state = join(this.path, "state");
  readonly home = join(this.path, "home");
  readonly host: FakeHost;
  readonly launchd: FakeLaunchd;
  readonly told: string[] = [];
  readonly notes: KickNote[] = [];
  readonly shown: (string | null)[] = [];
  /** The folder, environment and claim of each probe. */
  readonly probes: [string, Record<string, string>, boolean][] = [];
  /** What the probe finds; it may act on the state. */
  probe: (folder: string) => Promise<boolean> = () => Promise.resolve(true);
  stop = new AbortController();

  constructor(start = NOON, timeZone = ZONE) {
    this.host = fakeHost(start, { timeZone, env: { HOME: this.home } });
    this.launchd = new FakeLaunchd(this.host);
    for (const folder of [this.agents, this.state]) {
      Deno.mkdirSync(folder, { mode: 0o700 });
    }
  }

  /** The seconds of `now`, so many before. */
  before(seconds: number): number {
    return Math.floor(this.host.now()) - seconds;
  }

  skip(label: string, ts = this.before(4 * 3600)): string {
    return skippedMarker(label, { reason: "quota", remaining: 9 }, ts);
  }

  ran(label: string, ts = this.before(0)): string {
    return ranMarker(label, 0, null, ts);
  }

  log(label: string): string {
    return join(this.path, `${label}.log`);
  }

  /** A guarded job with a slot at 08:00, loaded. */
  job(label: string, job: StageJob = {}): void {
    const lines = job.log ?? [this.skip(label)];
    Deno.writeTextFileSync(
      this.log(label),
      lines.map((line) => line + "\n").join(""),
    );
    const path = this.plist(label, job.flags, job.keys);
    if (job.unloaded) return;
    this.launchd.load(label, path, {
      takes: job.takes ?? 1,
      work: () => this.#end(label, job.end ?? "ran"),
    });
  }

  /** Only its plist. */
  plist(label: string, flags: string[] = [], keys: PlistDict = {}): string {
    const path = join(this.agents, `${label}.plist`);
    const guard = ["/usr/local/bin/quota_guard.js", "--job", label, ...flags];
    const text = plistXml({
      Label: label,
      ProgramArguments: [...guard, "--", "/bin/true"],
      StandardErrorPath: this.log(label),
      StartCalendarInterval: { Hour: 8, Minute: 0 },
      ...keys,
    });
    Deno.writeTextFileSync(path, text);
    return path;
  }

  #end(label: string, end: "ran" | "failed" | "limit" | "silent"): number {
    const ts = this.before(0);
    const marker = {
      ran: ranMarker(label, 0, null, ts),
      failed: ranMarker(label, 3, null, ts),
      limit: refusedMarker(label, "quota-during-run", 1, ts),
      silent: "",
    }[end];
    Deno.writeTextFileSync(this.log(label), marker + "\n", { append: true });
    return end === "ran" ? 0 : end === "failed" ? 3 : 1;
  }

  /** Changes circuit or books. */
  async set(
    change: Parameters<typeof updateState<null>>[2],
    folder = this.state,
  ): Promise<void> {
    const done = await updateState(folder, this.host, change);
    if (!done.done) throw new Error(done.why);
  }

  /** Opens the circuit for so many seconds. */
  async openCircuit(seconds: number, folder = this.state): Promise<void> {
    const now = this.host.now();
    await this.set(({ circuit }) => ({
      circuit: { ...circuit, open_until: now + seconds, opened_at: now },
      result: null,
    }), folder);
  }

  world(): CatchupWorld {
    const { host, launchd } = this;
    const kicker: Kicker = {
      host,
      launchctl: launchd.launchctl,
      group: {
        ps: () => Promise.reject(new Error("no ps here")),
        kill: () => Promise.reject(new Error("no kill here")),
      },
      stop: this.stop.signal,
      timeout: JOB_TIMEOUT_SECONDS,
      grace: JOB_KILL_GRACE_SECONDS,
    };
    return {
      host,
      launchctl: launchd.launchctl,
      stop: this.stop.signal,
      agentsFolder: this.agents,
      folder: this.state,
      policy: policyFrom(host.env),
      probe: async (folder, environment, holdsProbe) => {
        this.probes.push([folder, environment, holdsProbe]);
        const ok = await this.probe(folder);
        return { ok, words: ok ? "ok" : "limit" };
      },
      kick: (label, before, watch) => kickAndWait(kicker, label, before, watch),
      wait: (label, watch) => waitUntilGone(kicker, label, () => true, watch),
      tell: (line) => void this.told.push(line),
      progress: (line) => void this.shown.push(line),
      note: (_folder, note) => void this.notes.push(note),
    };
  }

  /** One round. */
  run(options: Partial<CatchupOptions> = {}): Promise<RoundResult> {
    this.launchd.settle();
    return run(this.world(), {
      dryRun: false,
      noProbe: false,
      window: null,
      ...options,
    });
  }

  /** The log of a job. */
  textOf(label: string): string {
    return textOf(this.log(label));
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.path, { recursive: true });
  }
}
