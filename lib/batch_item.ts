import {
  type ItemPaths,
  partPath,
  readMarker,
  removeFailed,
  writeFailed,
} from "./batch_folder.ts";
import type { Batch } from "./batch_arguments.ts";
import { costOf, type ItemEnd, judgeAttempt } from "./batch_plan.ts";
import { runInherited } from "./child.ts";
import { circuitStatus } from "./circuit.ts";
import { claimItem } from "./claim.ts";
import { commitPart, PartError } from "./commit.ts";
import { circuitNow, type Guard, say } from "./guard.ts";
import { addCall, endRun, readRun, startRun } from "./run_file.ts";
import { prepareRun, runEnvironment } from "./run_job.ts";
import { ENV } from "./settings.ts";
import { reasonOf } from "./state.ts";
import type { CallRecord } from "./tally.ts";

/** A run of the guard's: its calls are counted by its id. */
export interface GuardRun {
  /** Null if they are not. */
  id: string | null;
  /** What it adds to the environment. */
  env: Record<string, string>;
}

/** What the items of a batch share. */
export interface BatchWork {
  /** Signals, clock, state. */
  guard: Guard;
  /** `{}` in its arguments is the item. */
  command: readonly [string, ...string[]];
  /** Absolute path of the folder of the results. */
  dir: string;
  /** What the command line says about each item. */
  options: Pick<Batch, "stdout" | "attempts" | "endsWith">;
  /** Starts the guard's run of an item. */
  startRun: (probe: boolean) => GuardRun;
  /** Run of the job that the batch is the command of: its calls count there too. */
  outerRun: string | null;
}

/**
 * Starts the guard's run of an item. Shim and environment are the same for all
 * of a batch; to find them anew takes longer than all else.
 *
 * @param label Name that the calls go by
 */
export function itemRunner(guard: Guard, label: string): BatchWork["startRun"] {
  let shared: Record<string, string> | null = null;
  return (probe) => {
    try {
      if (guard.folder !== null && shared !== null) {
        const id = startRun(guard.folder, guard.host, probe);
        const own = { [ENV.run]: id, [ENV.probe]: probe ? "1" : "" };
        return { id, env: { ...shared, ...own } };
      }
    } catch {
      // What follows says what is wrong, and goes without.
    }
    const watch = prepareRun(guard, probe);
    const env = runEnvironment(guard, label, watch, probe);
    if (watch.shim !== null) shared = env;
    return { id: watch.id, env };
  };
}

/** Passes a call on to the run of the job around the batch: what that job is owed goes by its calls. */
export function noteInOuterRun(work: BatchWork, call: CallRecord): void {
  const { guard, outerRun } = work;
  if (guard.folder === null || outerRun === null) return;
  try {
    addCall(guard.folder, outerRun, call);
  } catch (error) {
    say(guard, `a call is not on the job's tally: ${reasonOf(error)}`);
  }
}

/** `{}` in the arguments is the item; what the command prints may be the part. */
function commandFor(work: BatchWork, item: string): [string, ...string[]] {
  const [program, ...words] = work.command;
  const args = words.map((word) => word.replaceAll("{}", () => item));
  return work.options.stdout
    ? ["/bin/sh", "-c", 'exec "$@" > "$QUOTA_PART"', "sh", program, ...args]
    : [program, ...args];
}

function removePart(part: string): void {
  try {
    Deno.removeSync(part, { recursive: true });
  } catch {
    // It was never written, or is the item's file by now.
  }
}

/** The tries at one item, which share one run of the guard's. */
class ItemRun implements Disposable {
  readonly #work: BatchWork;
  readonly #item: string;
  readonly #paths: ItemPaths;
  readonly #run: GuardRun;
  #calls: CallRecord[] = [];

  constructor(
    work: BatchWork,
    item: string,
    paths: ItemPaths,
    probe: boolean,
  ) {
    this.#work = work;
    this.#item = item;
    this.#paths = paths;
    this.#run = work.startRun(probe);
  }

  /** Tries until it is committed or there is no point in another try. */
  async tryAll(): Promise<ItemEnd> {
    const { guard, options } = this.#work;
    for (let attempt = 1;; attempt++) {
      const tried = await this.#try(attempt);
      if (tried.kind === "committed") return tried;
      if (guard.signals.code !== null) {
        return { kind: "interrupted", cost: costOf(this.#calls) };
      }
      if (
        tried.kind === "limit" ||
        (tried.kind === "crashed" && await isOpen(guard))
      ) return { kind: "limit", cost: costOf(this.#calls) };
      if (tried.kind === "stopped" || attempt >= options.attempts) {
        return this.#failed(tried.why, attempt);
      }
    }
  }

  async #try(
    attempt: number,
  ): Promise<
    | Extract<ItemEnd, { kind: "committed" }>
    | { kind: "limit" }
    | { kind: "stopped" | "crashed"; why: string }
  > {
    const { guard, dir, options } = this.#work;
    const part = partPath(dir, this.#paths.name);
    try {
      const end = await runInherited(
        commandFor(this.#work, this.#item),
        guard.signals,
        {
          stdin: "null",
          env: {
            ...this.#run.env,
            QUOTA_ITEM: this.#item,
            QUOTA_PART: part,
            QUOTA_OUT: this.#paths.out,
          },
        },
      );
      const calls = this.#newCalls();
      if (!end.started) {
        return { kind: "stopped", why: `cannot start: ${end.why}` };
      }
      if (guard.signals.code !== null) {
        return { kind: "stopped", why: "a signal" };
      }
      const judged = judgeAttempt(end.code, calls);
      if (judged.kind !== "whole") return judged;
      const marker = await commitPart(part, this.#paths, options.endsWith, {
        name: this.#item,
        ended_at: guard.host.now(),
        attempts: attempt,
        cost_usd: costOf(this.#calls),
      });
      removeFailed(this.#paths);
      return { kind: "committed", marker };
    } catch (error) {
      const why = error instanceof PartError
        ? error.message
        : `cannot commit: ${reasonOf(error)}`;
      return { kind: "crashed", why };
    } finally {
      removePart(part);
    }
  }

  /** The calls since the last look. */
  #newCalls(): CallRecord[] {
    const { guard } = this.#work;
    const { id } = this.#run;
    if (guard.folder === null || id === null) return [];
    const all = readRun(guard.folder, id)?.calls ?? [];
    const calls = all.slice(this.#calls.length);
    for (const call of calls) noteInOuterRun(this.#work, call);
    this.#calls = all;
    return calls;
  }

  #failed(why: string, attempts: number): ItemEnd {
    const cost = costOf(this.#calls);
    const { host } = this.#work.guard;
    try {
      writeFailed(this.#paths, {
        name: this.#item,
        why,
        ended_at: Math.floor(host.now()),
        attempts,
        cost_usd: cost,
      });
    } catch (error) {
      say(this.#work.guard, `a failure is not recorded: ${reasonOf(error)}`);
    }
    return { kind: "failed", why, attempts, cost };
  }

  [Symbol.dispose](): void {
    const { folder } = this.#work.guard;
    const { id } = this.#run;
    if (folder !== null && id !== null) endRun(folder, id);
  }
}

async function isOpen(guard: Guard): Promise<boolean> {
  return circuitStatus(await circuitNow(guard), guard.host.now()).is_open;
}

/**
 * Sees to one item: claims it, tries it, commits it. Whatever happens, it ends
 * either with a done marker or as if its parts had never been.
 *
 * @param probe It is let through an open circuit.
 */
export async function runItem(
  work: BatchWork,
  item: string,
  paths: ItemPaths,
  probe: boolean,
): Promise<ItemEnd> {
  using claim = claimItem(work.dir, paths.name);
  if (claim === null) return { kind: "elsewhere" };
  // Another batch may have committed it since the markers were read.
  const marker = readMarker(paths);
  if (marker?.name === item) return { kind: "already" };
  if (marker !== null) {
    const why = `"${paths.done}" is the marker of item ${
      JSON.stringify(marker.name)
    }`;
    return { kind: "failed", why, attempts: 0, cost: null };
  }
  using run = new ItemRun(work, item, paths, probe);
  return await run.tryAll();
}
