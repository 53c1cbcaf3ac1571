import type { Guard } from "./guard.ts";
import { endRun, readOwnRun, renewRun, startRun } from "./run_file.ts";
import { prepareRun, runEnvironment } from "./watch.ts";
import { ENV } from "./settings.ts";
import type { CallRecord } from "./tally.ts";

/** A run of the guard's: its calls are counted by its id. */
export interface GuardRun {
  /** Null if they are not. */
  id: string | null;
  /** What it adds to the environment. */
  env: Record<string, string>;
}

/**
 * The guard's runs of the items of a batch, one an attempt. Shim and environment
 * are the same for all of a batch; to find them anew takes longer than all else.
 */
export class ItemRuns implements Disposable {
  readonly #guard: Guard;
  readonly #label: string;
  #env: Record<string, string> | null = null;
  /** Begun with the files of runs that are over; nobody knows their ids yet. */
  readonly #spare: string[] = [];

  /**
   * No run yet.
   *
   * @param label Name that the calls go by
   */
  constructor(guard: Guard, label: string) {
    this.#guard = guard;
    this.#label = label;
  }

  /**
   * Starts a run.
   *
   * @param probe It is let through an open circuit.
   */
  start(probe: boolean): GuardRun {
    const { folder, host } = this.#guard;
    try {
      if (folder !== null && this.#env !== null) {
        const id = (probe ? undefined : this.#spare.pop()) ??
          startRun(folder, host, probe);
        const own = { [ENV.run]: id, [ENV.probe]: probe ? "1" : "" };
        return { id, env: { ...this.#env, ...own } };
      }
    } catch {
      // What follows says what is wrong, and goes without.
    }
    const watch = prepareRun(this.#guard, probe);
    const env = runEnvironment(this.#guard, this.#label, watch, probe);
    if (watch.shim !== null) this.#env = env;
    return { id: watch.id, env };
  }

  /** Its calls so far. */
  calls({ id }: GuardRun): CallRecord[] {
    const { folder } = this.#guard;
    return folder !== null && id !== null
      ? readOwnRun(folder, id)?.calls ?? []
      : [];
  }

  /** Ends a run. */
  end({ id }: GuardRun): void {
    const { folder, host } = this.#guard;
    if (folder === null || id === null) return;
    try {
      this.#spare.push(renewRun(folder, host, id));
    } catch {
      endRun(folder, id);
    }
  }

  /** Removes the files that no run needs any more. */
  [Symbol.dispose](): void {
    const { folder } = this.#guard;
    if (folder === null) return;
    for (const id of this.#spare) endRun(folder, id);
  }
}
