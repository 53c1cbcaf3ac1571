/** How long things take, and what many processes at once lose. */
import { join } from "@std/path/join";
import { itemPaths, makeFolders, partPath } from "../../lib/batch_folder.ts";
import { claimItem } from "../../lib/claim.ts";
import { commitPart } from "../../lib/commit.ts";
import { until } from "../harness.ts";
import { bodyOf, Meter, writeInHalves } from "./charges.ts";
import { program, Trial } from "./experiment.ts";
import { readIndex, runNaive } from "./naive.ts";
import { indexFromMarkers } from "./strict.ts";

async function milliseconds(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function names(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `item-${i}`);
}

/** What many processes at once recorded. */
export interface Recording {
  lost: number;
  exceptions: number;
  /** Of one round, on average. */
  milliseconds: number;
}

export const WORKERS = 24;

/** Rounds of 24 processes that record at once by `fixed`, `private` or `flock`. */
export async function recordInIndex(
  way: string,
  rounds: number,
): Promise<Recording> {
  const sum = { lost: 0, exceptions: 0, milliseconds: 0 };
  for (let round = 0; round < rounds; round++) {
    using trial = new Trial();
    const runs = names(WORKERS).map((name) =>
      trial.run(program("recorder", way, trial.out, name))
    );
    await until(
      () =>
        [...Deno.readDirSync(trial.out)]
          .filter(({ name }) => name.endsWith(".ready")).length === WORKERS,
      "all recorders are ready",
      60,
    );
    sum.milliseconds += await milliseconds(async () => {
      Deno.writeTextFileSync(join(trial.out, "go"), "");
      const codes = await Promise.all(runs);
      sum.exceptions += codes.filter((code) => code !== 0).length;
    });
    sum.lost += WORKERS - readIndex(trial.out).items.length;
  }
  return { ...sum, milliseconds: sum.milliseconds / rounds };
}

/** Rounds of a batch with 24 workers. */
export async function recordByBatch(rounds: number): Promise<Recording> {
  const sum = { lost: 0, exceptions: 0, milliseconds: 0 };
  for (let round = 0; round < rounds; round++) {
    using trial = new Trial(names(WORKERS));
    const words = trial.batch("--workers", String(WORKERS), "--stdout");
    sum.milliseconds += await milliseconds(async () => {
      const code = await trial.run(
        [...words, "--into", trial.out, "--", "echo", "x"],
      );
      if (code !== 0) sum.exceptions++;
    });
    sum.lost += WORKERS - indexFromMarkers(trial.out).items.length;
  }
  return { ...sum, milliseconds: sum.milliseconds / rounds };
}

/** 200 items of a pipeline in one process, five times: written directly, and committed. */
export async function commitCost(
  items = 200,
  rounds = 5,
): Promise<{ naive: number; safe: number }> {
  const sum = { naive: 0, safe: 0 };
  for (let round = 0; round < rounds; round++) {
    using trial = new Trial();
    const meter = new Meter(join(trial.logs, "log"), Infinity, () => {});
    meter.charge = (): void => {};
    sum.naive += await milliseconds(() =>
      runNaive(trial.out, meter, names(items), 200_000)
    );
    using safe = new Trial();
    makeFolders(safe.out);
    sum.safe += await milliseconds(async () => {
      for (const name of names(items)) {
        const part = partPath(safe.out, name);
        writeInHalves(part, bodyOf(name), () => {});
        const paths = itemPaths(safe.out, "{}.md", name);
        const facts = { name, ended_at: 0, attempts: 1, cost_usd: null };
        using claim = claimItem(safe.out, name);
        if (claim === null) throw new Error(`${name} is claimed`);
        await commitPart(part, paths, claim, "END\n", facts);
      }
    });
  }
  return { naive: sum.naive / rounds, safe: sum.safe / rounds };
}

/** Items in one process, and each in one of its own by the batch. */
export async function processCost(
  items = 200,
): Promise<{ one: number; each: number }> {
  using one = new Trial();
  const log = join(one.logs, "log");
  const words = ["/dev/null", "1000000", "1000", ...names(items)];
  const naive = program("naive", one.out, ...words);
  const oneProcess = await milliseconds(() => one.run(naive));
  using each = new Trial(names(items));
  const worker = program("worker", "item", log, "1000000", "1000");
  const batch = each.batch("--into", each.out, "--", ...worker);
  return { one: oneProcess, each: await milliseconds(() => each.run(batch)) };
}

/** An index made out of so many markers. */
export async function rebuildCost(markers = 1000): Promise<number> {
  using trial = new Trial();
  Deno.mkdirSync(join(trial.out, "done"));
  for (const name of names(markers)) {
    const text = JSON.stringify({ name, bytes: 200_013 });
    Deno.writeTextFileSync(join(trial.out, "done", `${name}.json`), text);
  }
  return await milliseconds(() =>
    Deno.writeTextFileSync(
      join(trial.out, "index.json"),
      JSON.stringify(indexFromMarkers(trial.out)),
    )
  );
}
