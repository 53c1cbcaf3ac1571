import { askForAllowance, isOpen } from "./allowance.ts";
import type { Kick } from "./books.ts";
import { type Candidate, type GuardedJob, newestOutcome } from "./candidate.ts";
import { check, type Checked, judgeAll, type Survey } from "./catchup_look.ts";
import {
  type CatchupOptions,
  type CatchupWorld,
  EXIT,
  type RoundResult,
} from "./catchup_world.ts";
import { formatDuration } from "./duration.ts";
import { formatInstant } from "./instant.ts";
import type { KickEnd, Watch } from "./kick.ts";
import { outcomeOf } from "./kick_end.ts";
import { KickRecord } from "./kick_record.ts";
import { logPaths } from "./launch_agent.ts";
import { launchctlStatus } from "./launchctl.ts";
import type { JobMarker } from "./marker.ts";
import { hasStarted, isGone, type ServiceStatus } from "./service.ts";
import { readBooks } from "./state.ts";
import { pauseOrStop, stopCode } from "./stop.ts";
import type { WakeWatch } from "./wake.ts";

/** A launchctl that its catch-up died of may come through to launchd so much later, in seconds. */
const SETTLED_SECONDS = 3;

/** The kicks in one state folder: one account, one allowance. */
export class Round {
  readonly #world: CatchupWorld;
  readonly #options: CatchupOptions;
  readonly #folder: string;
  readonly #survey: Survey;
  readonly #wakes: WakeWatch;
  readonly #result: RoundResult;
  #skippedAgain = false;

  /**
   * A round that has done nothing yet.
   *
   * @param result Added to while the round goes on
   */
  constructor(
    world: CatchupWorld,
    options: CatchupOptions,
    folder: string,
    survey: Survey,
    wakes: WakeWatch,
    result: RoundResult,
  ) {
    this.#world = world;
    this.#options = options;
    this.#folder = folder;
    this.#survey = survey;
    this.#wakes = wakes;
    this.#result = result;
  }

  /**
   * Waits for jobs that an earlier round has kicked and left running: the next
   * one must not run beside them.
   *
   * @returns False if the whole round must end
   */
  async awaitLeftovers(jobs: readonly GuardedJob[]): Promise<boolean> {
    const { kicks } = await readBooks(this.#folder, this.#world.host);
    for (const job of jobs) {
      const kick = kicks.get(job.options.label);
      if (kick === undefined || kick.done) continue;
      const { label } = job.agent;
      if (!await this.#stillRuns(label, kick)) continue;
      this.#tell(
        `${label}: still runs, kicked ${this.#at(kick.at)}; waited for`,
      );
      const watch = this.#watch(`${label}, kicked ${this.#at(kick.at)}`);
      const end = await this.#world.wait(label, watch);
      const record = this.#record(job, kick.skip_ts);
      if (!await this.#close(job, record, kick, end)) return false;
    }
    return true;
  }

  /**
   * Makes sure that the allowance is back, then starts what is owed, one after
   * another, until the first new limit.
   *
   * @param owed In the order of their turn
   * @returns False if the whole round must end
   */
  async work(owed: readonly Checked[]): Promise<boolean> {
    const [first] = owed;
    if (first === undefined) return true;
    const { environment } = first.candidate.agent;
    const allowance = await askForAllowance(
      this.#world,
      this.#options,
      this.#folder,
      environment,
    );
    if (this.#stopped()) return false;
    if (!allowance.back) {
      this.#tell(`${allowance.why}; what is owed waits`);
      this.#exit(allowance.open ? EXIT.circuitOpen : EXIT.failed);
      return true;
    }
    for (const [i, one] of owed.entries()) {
      await this.#wakes.letLaunchdGoFirst(this.#world);
      if (this.#stopped()) return false;
      if (await isOpen(this.#world, this.#folder)) {
        const left = owed.length - i;
        this.#tell(`the circuit has opened again; ${left} left for later`);
        this.#exit(EXIT.circuitOpen);
        return true;
      }
      const turn = `${i + 1} of ${owed.length} ${one.candidate.agent.label}`;
      if (!await this.#catchUp(one, this.#watch(turn))) return false;
    }
    const waits = this.#skippedAgain && await isOpen(this.#world, this.#folder);
    if (waits) this.#exit(EXIT.circuitOpen);
    return true;
  }

  /** Whether the job of an open kick runs; right after a crash it may yet start. */
  async #stillRuns(label: string, kick: Kick): Promise<boolean> {
    const { launchctl, host, stop } = this.#world;
    if (launchctl === null) return false;
    const status = await launchctlStatus(launchctl, label);
    const { pid, runs } = status;
    const took = pid !== null || (runs !== null && runs !== kick.runs);
    if (took) return pid !== null || !isGone(status);
    const rest = kick.at + SETTLED_SECONDS - host.now();
    if (rest <= 0 || stop.aborted) return false;
    await pauseOrStop(host, stop, Math.min(rest, SETTLED_SECONDS));
    return await this.#stillRuns(label, kick);
  }

  #tell(words: string): void {
    this.#world.tell(words);
  }

  #at(instant: number): string {
    const { host } = this.#world;
    return formatInstant(instant, host.now(), host.timeZone());
  }

  #watch(turn: string): Watch {
    return (seconds) =>
      this.#world.progress(`${turn}, ${formatDuration(seconds)}`);
  }

  /** A failure is worth more than an open circuit, that more than nothing. */
  #exit(code: number): void {
    if (this.#result.exit !== EXIT.failed) this.#result.exit = code;
  }

  #fail(): void {
    this.#result.failed++;
    this.#exit(EXIT.failed);
  }

  #stopped(): boolean {
    const code = stopCode(this.#world.stop);
    if (code === null) return false;
    this.#tell("told to end; what is owed waits");
    this.#result.exit = code;
    return true;
  }

  #record(job: GuardedJob, skipTs: number): KickRecord {
    const { label } = job.options;
    return new KickRecord(this.#folder, this.#world.host, label, skipTs);
  }

  /** Looks at a job once more, records the kick, makes it and sees it through. */
  async #catchUp(first: Checked, watch: Watch): Promise<boolean> {
    const { host } = this.#world;
    const { label } = first.candidate.agent;
    const again = await this.#stillOwed(first);
    if ("whyNot" in again) {
      this.#tell(`${label}: ${again.whyNot}; not kicked`);
      return true;
    }
    const { candidate, status, last } = again;
    if (this.#stopped()) return false;
    const { skip } = candidate;
    const kick = { skip_ts: skip.ts, at: host.now() };
    const record = this.#record(candidate, skip.ts);
    const trouble = await record.open(status.runs, last);
    if (trouble !== null) {
      if (!record.raced) this.#fail();
      this.#tell(`${label}: not kicked: ${trouble}`);
      return true;
    }
    const why = skip.reason ?? "quota";
    this.#tell(`${label}: kicked, owed since ${this.#at(skip.ts)} (${why})`);
    const end = await this.#world.kick(label, status, watch);
    if (end.kind !== "refused") this.#result.kicked++;
    return await this.#close(candidate, record, kick, end);
  }

  async #stillOwed(
    first: Checked,
  ): Promise<
    | { candidate: Candidate; status: ServiceStatus; last: Kick | undefined }
    | { whyNot: string }
  > {
    const { agent, options } = first.candidate;
    const files = [{ path: agent.path, agent }];
    const { findings, look } = await judgeAll(
      this.#world,
      this.#options,
      files,
      this.#survey.begun,
    );
    const [finding] = findings;
    if (finding === undefined || finding.candidate === null) {
      return { whyNot: finding?.why ?? "gone" };
    }
    const books = look.books(this.#folder);
    const last = books.kicks.get(options.label);
    const { candidate, whyNot, status } = await check(
      this.#world,
      finding.candidate,
      books,
      this.#survey,
    );
    if (whyNot !== null || status === null) {
      return { whyNot: whyNot ?? "launchd was not asked" };
    }
    return first.status !== null && hasStarted(first.status, status)
      ? { whyNot: "launchd has started it meanwhile" }
      : { candidate, status, last };
  }

  /** Writes down how a kick ended. False if the whole round must end. */
  async #close(
    job: GuardedJob,
    record: KickRecord,
    kick: Pick<Kick, "skip_ts" | "at">,
    end: KickEnd,
  ): Promise<boolean> {
    this.#world.progress(null);
    const { label } = job.agent;
    if (end.kind === "left") {
      this.#tell(`${label}: goes on without the catch-up`);
      return !this.#stopped();
    }
    // The books before the log: a kick that is not closed would be waited for.
    if (end.kind === "refused") await record.undo();
    else if (end.kind === "not-seen") await record.miss();
    else if (end.kind !== "unstoppable") await record.close();
    const outcome = outcomeOf(end, await this.#markerSince(job, kick.skip_ts));
    const seconds = Math.round("seconds" in end ? end.seconds : 0);
    if (outcome.failed) this.#fail();
    this.#skippedAgain ||= outcome.skippedAgain;
    this.#tell(`${label}: ${outcome.words}, ${formatDuration(seconds)}`);
    this.#world.note(this.#folder, {
      label,
      skip_ts: kick.skip_ts,
      kicked_at: Math.floor(kick.at),
      seconds,
      outcome: outcome.words,
      exit: outcome.exit,
    });
    if (end.kind !== "unstoppable") return true;
    this.#tell(`the round ends: nothing may run beside ${label}`);
    return false;
  }

  /** The newest marker, unless it is still the skip that was made up. */
  async #markerSince(
    { agent, options }: GuardedJob,
    skipTs: number,
  ): Promise<JobMarker | null> {
    const { host } = this.#world;
    const books = await readBooks(this.#folder, host);
    try {
      const paths = logPaths(agent);
      const marker = newestOutcome(paths, options.label, books, host.now());
      return marker?.kind === "SKIPPED" && marker.ts === skipTs ? null : marker;
    } catch {
      return null; // launchd tells how it ended
    }
  }
}
