/** Runs under caps: the naive pipeline, and the batch of quota_guard. */
import { fromFileUrl } from "@std/path/from-file-url";
import { join } from "@std/path/join";
import { type Script, scriptCommand } from "../script.ts";
import { ITEM_COST, ITEMS, spentIn } from "./charges.ts";
import { faultsOf, indexFromMarkers } from "./strict.ts";

const LENGTH = "200000";
/** More than everything costs. */
const NO_CAP = "1000";
const MOST_ATTEMPTS = 12;

/** All stop points of a run, from the first charge to the last. */
export const STOP_POINTS: number[] = Array.from(
  { length: ITEMS.length * ITEM_COST * 2 },
  (_, i) => (i + 1) / 2,
);

/** What came of a series of runs under one cap. */
export interface Spending {
  attempts: number;
  /** Units. */
  spent: number;
  /** Items that are finished, by the pipeline's own account. */
  finished: number;
  faults: string[];
}

/** A folder for one series of runs. */
export class Trial implements Disposable {
  readonly path = Deno.makeTempDirSync({ prefix: "stop points " });
  readonly out = join(this.path, "out");
  readonly logs = join(this.path, "logs");
  readonly list = join(this.path, "list");
  readonly env = { CLAUDE_QUOTA_DIR: join(this.path, "state") };

  constructor(items: string[] = ITEMS) {
    for (const folder of [this.out, this.logs]) Deno.mkdirSync(folder);
    Deno.writeTextFileSync(this.list, items.map((i) => `${i}\n`).join(""));
  }

  /** The words that start a script of the product. */
  guard(...args: string[]): string[] {
    const script: Script = "quota_guard";
    return [...scriptCommand(script, "source", this.env), ...args];
  }

  /** The words that start a batch, up to `--into`. */
  batch(...flags: string[]): string[] {
    return this.guard("--batch", this.list, "--name", "{}.md", ...flags);
  }

  /** Runs a command to its end and returns its exit code. */
  async run(words: string[]): Promise<number> {
    const [program = "", ...args] = words;
    const { code } = await new Deno.Command(program, {
      args,
      env: this.env,
      cwd: this.path,
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).output();
    return code;
  }

  /** Units of all runs so far. */
  spent(): number {
    return [...Deno.readDirSync(this.logs)]
      .reduce((sum, { name }) => sum + spentIn(join(this.logs, name)), 0);
  }

  /** Runs so far, each of which has a log of its own. */
  runs(): number {
    return [...Deno.readDirSync(this.logs)].length;
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.path, { recursive: true });
  }
}

/** The words that start one of the programs beside this file. */
export function program(name: string, ...args: string[]): string[] {
  const path = fromFileUrl(new URL(`${name}.ts`, import.meta.url));
  return [Deno.execPath(), "run", "--quiet", "-A", path, ...args];
}

/** One run of the naive pipeline. */
export function naiveRun(trial: Trial, cap: string): Promise<number> {
  const log = join(trial.logs, `${trial.runs()}.log`);
  return trial.run(
    program("naive", trial.out, log, cap, LENGTH, ...ITEMS),
  );
}

/** The words of one run of the batch under a cap for all of it. */
function batchRun(trial: Trial, cap: string, ...flags: string[]): string[] {
  const { out, logs } = trial;
  const batch = trial.batch("--attempts", "1", "--stall", "1", ...flags);
  return program("attempt", out, logs, cap, ...batch);
}

/** Is a folder of the batch sound, by `--verify` and by the strict check? */
export async function batchFaults(trial: Trial): Promise<string[]> {
  const verify = trial.batch("--ends-with", "END\n", "--into", trial.out);
  const code = await trial.run([...verify, "--verify"]);
  const faults = faultsOf(trial.out, ITEMS, indexFromMarkers(trial.out));
  return code === 0 ? faults : [...faults, "--verify: not OK"];
}

/** Stopped once at the cap, then resumed without one: what is wrong at the end? */
export async function resumedNaive(cap: number): Promise<string[]> {
  using trial = new Trial();
  await naiveRun(trial, String(cap));
  await naiveRun(trial, NO_CAP);
  return faultsOf(trial.out, ITEMS);
}

/** As {@linkcode resumedNaive}, by the batch. */
export async function resumedBatch(cap: number): Promise<string[]> {
  using trial = new Trial();
  await trial.run(batchRun(trial, String(cap)));
  await trial.run(batchRun(trial, NO_CAP));
  return await batchFaults(trial);
}

/** The naive pipeline again and again under one cap. */
export async function naiveLoop(cap: number): Promise<Spending> {
  using trial = new Trial();
  let code = 9;
  for (let n = 0; n < MOST_ATTEMPTS && code !== 0; n++) {
    code = await naiveRun(trial, String(cap));
  }
  const faults = faultsOf(trial.out, ITEMS);
  const finished = faults.length === 0 ? ITEMS.length : 0;
  return { attempts: trial.runs(), spent: trial.spent(), finished, faults };
}

async function outcome(trial: Trial): Promise<Spending> {
  const { items } = indexFromMarkers(trial.out);
  return {
    attempts: trial.runs(),
    spent: trial.spent(),
    finished: items.length,
    faults: items.length === ITEMS.length ? await batchFaults(trial) : [],
  };
}

/** The batch again and again under one cap for a whole run, without a gate. */
export async function batchLoop(
  cap: number,
  ...flags: string[]
): Promise<Spending> {
  using trial = new Trial();
  for (let n = 0; n < MOST_ATTEMPTS; n++) {
    const code = await trial.run(batchRun(trial, String(cap), ...flags));
    if (code === 0 && (await outcome(trial)).finished === ITEMS.length) break;
  }
  return await outcome(trial);
}

/** The same behind the progress gate of a job. */
export async function gatedBatch(cap: number): Promise<Spending> {
  using trial = new Trial();
  await trial.run(trial.guard(
    ...["--job", "stop-points", "--attempts", String(MOST_ATTEMPTS)],
    ...["--progress", join(trial.out, "done", "*.json"), "--"],
    ...batchRun(trial, String(cap)),
  ));
  return await outcome(trial);
}

/** One run of the batch with the cap on each item: the usual way. */
export async function capPerItem(cap: number): Promise<Spending> {
  using trial = new Trial();
  const log = join(trial.logs, "log");
  const batch = trial.batch("--attempts", "1", "--stall", "1");
  await trial.run([...batch, "--into", trial.out, "--"].concat(
    program("worker", "item", log, String(cap), LENGTH),
  ));
  return await outcome(trial);
}
