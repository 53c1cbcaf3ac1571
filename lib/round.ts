import { type Candidate, newestOutcome } from "./candidate.ts";
import { check, judgeAll } from "./catchup_look.ts";
import {
  type CatchupOptions,
  type CatchupWorld,
  EXIT,
  type RoundResult,
} from "./catchup_world.ts";
import { circuitStatus, claimProbe, lastClosed, probeTime } from "./circuit.ts";
import { formatDuration } from "./duration.ts";
import { formatInstant } from "./instant.ts";
import type { KickEnd } from "./kick.ts";
import { KickRecord } from "./kick_record.ts";
import { logPaths } from "./launch_agent.ts";
import { readBooks, readCircuit, updateState } from "./state.ts";
import type { ServiceStatus } from "./service.ts";

/** A circuit without a probe for so many intervals gets one from the catch-up. */
const INTERVALS_WITHOUT_PROBE = 2;

/** How a kicked job ended, in a word for the log and with its exit code. */
interface Outcome {
  failed: boolean;
  words: string;
  exit: number | null;
}

/** The kicks in one state folder: one account, one allowance. */
export class Round {
  readonly #world: CatchupWorld;
  readonly #options: CatchupOptions;
  readonly #folder: string;
  readonly #disabled: ReadonlyMap<string, boolean> | null;
  readonly #result: RoundResult;

  /** @param result Added to while the round goes on. */
  constructor(
    world: CatchupWorld,
    options: CatchupOptions,
    folder: string,
    disabled: ReadonlyMap<string, boolean> | null,
    result: RoundResult,
  ) {
    this.#world = world;
    this.#options = options;
    this.#folder = folder;
    this.#disabled = disabled;
    this.#result = result;
  }

  /**
   * Makes sure that the allowance is back, then starts what is owed, one after
   * another, until the first new limit.
   *
   * @param owed In the order of their turn
   * @returns False if a job could not be stopped: nothing may run beside it
   */
  async work(owed: readonly Candidate[]): Promise<boolean> {
    const [first] = owed;
    if (first === undefined) return true;
    if (!await this.#allowanceIsBack(first)) return true;
    for (const [i, candidate] of owed.entries()) {
      if (await this.#circuitIsOpen()) {
        this.#tell(
          `the circuit has opened again; ${owed.length - i} left for later`,
        );
        this.#result.exit = EXIT.circuitOpen;
        return true;
      }
      if (!await this.#catchUp(candidate)) return false;
    }
    return true;
  }

  #tell(words: string): void {
    this.#world.tell(words);
  }

  #at(instant: number): string {
    const { host } = this.#world;
    return formatInstant(instant, host.now(), host.timeZone());
  }

  #fail(): void {
    this.#result.failed++;
    this.#result.exit = EXIT.failed;
  }

  async #circuitIsOpen(): Promise<boolean> {
    const { host } = this.#world;
    const circuit = await readCircuit(this.#folder, host);
    return circuitStatus(circuit, host.now()).is_open;
  }

  async #allowanceIsBack(first: Candidate): Promise<boolean> {
    const { host } = this.#world;
    const circuit = await readCircuit(this.#folder, host);
    const now = host.now();
    const open = circuitStatus(circuit, now).is_open;
    if (open && !await this.#claimOverdueProbe()) {
      this.#tell(
        `the circuit is open until ${
          this.#at(circuit.open_until)
        }; what is owed waits`,
      );
      this.#result.exit = EXIT.circuitOpen;
      return false;
    }
    if (!open && this.#options.noProbe) return true;
    const { last_ok: lastOk } = await readBooks(this.#folder, host);
    if (!open && lastOk > 0 && lastOk >= lastClosed(circuit, now)) return true;
    const probe = await this.#world.probe(
      this.#folder,
      first.agent.environment,
      open,
    );
    // A hold by hand stays open though claude answers.
    const stillOpen = await this.#circuitIsOpen();
    if (probe.ok && !stillOpen) {
      this.#tell("probe: claude answers");
      return true;
    }
    this.#tell(`probe: ${probe.words}; what is owed waits`);
    this.#result.exit = stillOpen ? EXIT.circuitOpen : EXIT.failed;
    return false;
  }

  /** Nobody has asked for long, and something is owed: then the catch-up asks. */
  async #claimOverdueProbe(): Promise<boolean> {
    const { host, policy } = this.#world;
    const interval = policy.probeInterval;
    if (this.#options.noProbe || !(interval > 0)) return false;
    const span = INTERVALS_WITHOUT_PROBE * interval;
    const claimed = await updateState(this.#folder, host, ({ circuit }) => {
      const now = host.now();
      const overdue = now - circuit.opened_at >= span &&
        now - probeTime(circuit, now, interval) >= span;
      const next = overdue ? claimProbe(circuit, now, interval) : null;
      return next === null
        ? { result: false }
        : { circuit: next, result: true };
    });
    return claimed.done && claimed.result;
  }

  /** Looks at a job once more, records the kick, makes it and sees it through. */
  async #catchUp(candidate: Candidate): Promise<boolean> {
    const { host } = this.#world;
    const { label, path } = candidate.agent;
    const again = await this.#stillOwed(candidate);
    if ("whyNot" in again) {
      this.#tell(`${label}: ${again.whyNot}; not kicked`);
      return true;
    }
    const { skip } = again.candidate;
    const record = new KickRecord(this.#folder, host, again.candidate);
    const trouble = await record.open(again.status.runs);
    if (trouble !== null) {
      this.#fail();
      this.#tell(`${label}: not kicked, no record of it: ${trouble}`);
      return true;
    }
    const kickedAt = host.now();
    this.#tell(
      `${label}: kicked, owed since ${this.#at(skip.ts)} (${
        skip.reason ?? "quota"
      })`,
    );
    const end = await this.#world.kick(label, again.status);
    if (end.kind === "refused") {
      await record.undo();
      this.#fail();
      this.#tell(`${label}: not started: ${end.why}`);
      return true;
    }
    if (end.kind !== "not-seen") await record.close();
    const outcome = await this.#outcome(candidate, end, kickedAt);
    const seconds = Math.round("seconds" in end ? end.seconds : 0);
    this.#result.kicked++;
    if (outcome.failed) this.#fail();
    this.#tell(`${label}: ${outcome.words}, ${formatDuration(seconds)}`);
    this.#world.note({
      label,
      skip_ts: skip.ts,
      kicked_at: Math.floor(kickedAt),
      seconds,
      outcome: outcome.words,
      exit: outcome.exit,
    });
    if (end.kind !== "unstoppable") return true;
    this.#tell(`${label}: still runs; the round ends (plist ${path})`);
    return false;
  }

  async #stillOwed(
    { agent }: Candidate,
  ): Promise<
    { candidate: Candidate; status: ServiceStatus } | { whyNot: string }
  > {
    const files = [{ path: agent.path, agent }];
    const { findings, look } = await judgeAll(
      this.#world,
      this.#options,
      files,
    );
    const [finding] = findings;
    if (finding === undefined || finding.candidate === null) {
      return { whyNot: finding?.why ?? "gone" };
    }
    const { candidate, whyNot, status } = await check(
      this.#world,
      finding.candidate,
      look.books(this.#folder),
      this.#disabled,
    );
    return whyNot === null && status !== null
      ? { candidate, status }
      : { whyNot: whyNot ?? "launchd was not asked" };
  }

  async #outcome(
    { agent, options }: Candidate,
    end: KickEnd,
    kickedAt: number,
  ): Promise<Outcome> {
    if (end.kind !== "ended") {
      const words = "why" in end ? end.why : "stopped: it took too long";
      return { failed: true, words, exit: null };
    }
    const { host } = this.#world;
    const marker = newestOutcome(
      logPaths(agent),
      options.label,
      await readBooks(this.#folder, host),
      host.now(),
    );
    if (marker === null || marker.ts < Math.floor(kickedAt)) {
      return byLaunchd(end.status);
    }
    if (marker.kind === "SKIPPED") {
      const words = `skipped again (${marker.reason ?? "quota"})`;
      return { failed: false, words, exit: marker.exit };
    }
    const end_ = marker.end === null ? "" : `, ${marker.end}`;
    return {
      failed: marker.exit !== 0,
      words: `ran, exit ${marker.exit ?? "unknown"}${end_}`,
      exit: marker.exit,
    };
  }
}

/** Without a marker of the guard's, launchd knows how a job ended. */
function byLaunchd(status: ServiceStatus): Outcome {
  const { lastExit, lastSignal } = status;
  if (lastSignal !== null) {
    const words = `ended by signal ${lastSignal}, no marker in its log`;
    return { failed: true, words, exit: 128 + lastSignal };
  }
  return {
    failed: lastExit !== 0,
    words: `ended with exit ${lastExit ?? "unknown"}, no marker in its log`,
    exit: lastExit,
  };
}
