import type { Batch } from "./batch_arguments.ts";
import type { ItemPaths } from "./batch_folder.ts";
import { type BatchWork, noteInOuterRun, runItem } from "./batch_item.ts";
import {
  type ItemEnd,
  newStanding,
  settle,
  type Standing,
} from "./batch_plan.ts";
import type { DoneMarker } from "./batch_record.ts";
import { barLine, itemLine } from "./batch_report.ts";
import { circuitNow, isOpen, refusalOf, say } from "./guard.ts";
import { circuitOpenMarker } from "./marker.ts";
import { reasonOf } from "./reason.ts";
import { readRun } from "./run_file.ts";
import { ENV } from "./settings.ts";
import { metLimit } from "./tally.ts";
import { ProgressLine } from "./terminal.ts";

/** A batch under way: who works on what, and when it is over. */
export class BatchRun {
  readonly #work: BatchWork;
  readonly #batch: Batch;
  readonly #paths: ReadonlyMap<string, ItemPaths>;
  readonly #onTerminal = Deno.stderr.isTerminal();
  readonly #bar = new ProgressLine(Deno.stderr);
  readonly #started: number;
  #queue: string[];
  /** What another batch has claimed. */
  #elsewhere: string[] = [];
  #running = 0;
  /** How far it is. */
  standing: Standing;
  /** Markers of what it has committed. */
  readonly done: DoneMarker[] = [];

  /**
   * Begins nothing yet.
   *
   * @param queue What is to be done, in order
   */
  constructor(
    work: BatchWork,
    batch: Batch,
    paths: ReadonlyMap<string, ItemPaths>,
    queue: readonly string[],
  ) {
    this.#work = work;
    this.#batch = batch;
    this.#paths = paths;
    this.#queue = [...queue];
    this.#started = work.guard.host.monotonic();
    this.standing = newStanding(paths.size, paths.size - queue.length);
  }

  /** Sees to all items, or to as many as there may be. */
  async seeToAll(): Promise<void> {
    this.#showBar();
    await this.#probe();
    await this.#seeToQueue();
    // Its owner has committed it by now, or died.
    this.#queue = this.#elsewhere.splice(0);
    await this.#seeToQueue();
    for (const item of this.#elsewhere) this.#say(item, { kind: "elsewhere" });
    this.#bar.show(null);
  }

  /** One item at a time finds out whether the limit is over, if the job around the batch may. */
  async #probe(): Promise<void> {
    const { guard } = this.#work;
    while (this.#mayTake() && this.#holdsProbe() && await isOpen(guard)) {
      await this.#see(this.#take(), true);
    }
  }

  #holdsProbe(): boolean {
    const { guard, outerRun } = this.#work;
    const run = guard.folder !== null && outerRun !== null
      ? readRun(guard.folder, outerRun)
      : null;
    return guard.host.env(ENV.probe) === "1" && run !== null && run.probe &&
      !metLimit(run);
  }

  async #seeToQueue(): Promise<void> {
    const worker = async (): Promise<void> => {
      while (this.#mayTake()) {
        if (await isOpen(this.#work.guard)) await this.#refuse();
        else await this.#see(this.#take(), false);
      }
    };
    await Promise.all(Array.from({ length: this.#batch.workers }, worker));
  }

  #mayTake(): boolean {
    const { maxItems } = this.#batch;
    const { stop, committed } = this.standing;
    const enough = maxItems !== null && committed + this.#running >= maxItems;
    return this.#queue.length > 0 && !enough && stop === null &&
      this.#work.guard.signals.code === null;
  }

  /** The next item; null if another worker was faster. */
  #take(): string | null {
    return this.#mayTake() ? this.#queue.shift() ?? null : null;
  }

  /** The circuit is open: nothing more is started. */
  async #refuse(): Promise<void> {
    if (this.standing.stop !== null) return;
    this.standing = { ...this.standing, stop: "limit" };
    const { guard } = this.#work;
    const refusal = refusalOf(await circuitNow(guard), guard.host.now());
    // Before the marker: what is said to be refused is owed.
    noteInOuterRun(this.#work, { met: "refused", owedFrom: null, cost: null });
    this.#bar.show(null);
    guard.host.say(circuitOpenMarker(refusal));
  }

  async #see(item: string | null, probe: boolean): Promise<void> {
    const paths = item === null ? undefined : this.#paths.get(item);
    if (item === null || paths === undefined) return;
    this.#running++;
    const end = await this.#runOrFail(item, paths, probe);
    this.#running--;
    this.standing = settle(this.standing, end, this.#batch);
    if (end.kind === "committed") this.done.push(end.marker);
    if (end.kind === "elsewhere") this.#elsewhere.push(item);
    else this.#say(item, end);
  }

  async #runOrFail(
    item: string,
    paths: ItemPaths,
    probe: boolean,
  ): Promise<ItemEnd> {
    try {
      return await runItem(this.#work, item, paths, probe);
    } catch (error) {
      const why = reasonOf(error);
      return { kind: "failed", why, attempts: 0, cost: null };
    }
  }

  #say(item: string, end: ItemEnd): void {
    const line = itemLine(item, end, this.standing);
    // On a terminal the bar says what went well.
    if (line !== null && !(this.#onTerminal && end.kind === "committed")) {
      this.#bar.show(null);
      say(this.#work.guard, line);
    }
    this.#showBar();
  }

  #showBar(): void {
    if (!this.#onTerminal) return;
    const { host } = this.#work.guard;
    const elapsed = host.monotonic() - this.#started;
    const color = host.env("NO_COLOR") === undefined;
    this.#bar.show(barLine(this.standing, elapsed, color));
  }
}
