/**
 * 200 trivial items by `--batch`, beside `xargs -n1` and what Deno needs to
 * start the same commands, in turns; then GNU parallel with a job log beside
 * `xargs -n1`. Parallel comes last: it removes files by the hundred, and for
 * minutes after that ext4 makes new ones up to ten times slower.
 */
import { join } from "@std/path/join";
import { executable } from "../files.ts";
import { scriptCommand } from "../script.ts";
import { beside, type Figure, installed, median } from "./sample.ts";

const ITEMS = 200;
const xargs = "xargs -n1";
const starting = "starting them alone";
const flushing = "starting and flushing alone";

/** A way to run all items into a new folder, or one where all is done. */
type Way = { name: string; words: (out: string) => string[]; again?: true };

function waysWith(
  list: string,
  worker: string,
): { own: Way[]; parallel: Way[] } {
  const shell = (out: string, line: string): string[] => [
    "sh",
    "-c",
    `QUOTA_PART='${out}/part' ${line} '${worker}' < '${list}'`,
  ];
  const start = [
    ...[Deno.execPath(), "run", "--no-config", "--quiet", "-A"],
    beside("starting.ts"),
  ];
  const batch = (
    kind: "source" | "bundle",
    ...flags: string[]
  ): Way["words"] => {
    const guard = scriptCommand("quota_guard", kind, {});
    return (out) => [
      ...[...guard, "--batch", list, "--into", out, ...flags],
      ...["--", worker, "{}"],
    ];
  };
  const others = (jobs: number): Way => ({
    name: `parallel -j${jobs} --joblog`,
    words: (out) => shell(out, `parallel -q -j${jobs} --joblog '${out}/log'`),
  });
  const plain: Way = { name: xargs, words: (out) => shell(out, xargs) };
  const own: Way[] = [
    plain,
    { name: starting, words: (out) => [...start, list, out, worker] },
    {
      name: flushing,
      words: (out) => [...start, list, out, worker, "flushed"],
    },
    { name: "--batch", words: batch("bundle") },
    { name: "--batch, all done", words: batch("bundle"), again: true },
    { name: "--batch from source", words: batch("source") },
    { name: "--batch --workers 2", words: batch("bundle", "--workers", "2") },
  ];
  return { own, parallel: [plain, others(1), others(2)] };
}

/** Measures in a folder that is there for it. */
export async function batch(
  folder: string,
  rounds: number,
): Promise<Figure[]> {
  const list = join(folder, "list");
  const env = { CLAUDE_QUOTA_DIR: join(folder, "state") };
  const names = Array.from({ length: ITEMS }, (_, i) => `item-${i}`);
  Deno.writeTextFileSync(list, names.join("\n") + "\n");
  const worker = executable(
    join(folder, "worker"),
    'echo "$1" > "$QUOTA_PART"',
  );
  const ways = waysWith(list, worker);
  const run = async ([program = "", ...args]: string[]): Promise<void> => {
    const { success, stderr } = await new Deno.Command(program, {
      args,
      env,
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).output();
    if (!success) throw new Error(new TextDecoder().decode(stderr));
  };
  /** Milliseconds. */
  const time = async (way: Way): Promise<number> => {
    const words = way.words(Deno.makeTempDirSync({ dir: folder }));
    if (way.again) await run(words);
    const start = performance.now();
    await run(words);
    return performance.now() - start;
  };
  // A state folder in use has a state.
  await run([...scriptCommand("quota_guard", "bundle", {}), "--close"]);
  const own = await inTurns(ways.own, rounds, time);
  const parallel = await installed("parallel")
    ? await inTurns(ways.parallel, rounds, time)
    : new Map<string, number[]>();
  const beyond = (what: string, yardstick: string): Figure => {
    const more = paired(
      own,
      "--batch",
      yardstick,
      (took, other) => took - other,
    );
    return {
      group: "batch",
      name: `an item, beyond ${what}`,
      yardstick,
      ratio: paired(own, "--batch", yardstick, ratio),
      cpu: null,
      goal: yardstick === starting ? "<= 3 ms" : null,
      value: `${(more / ITEMS).toFixed(2)} ms`,
    };
  };
  return [
    ...[own, parallel].flatMap(besideXargs),
    beyond("starting it", starting),
    beyond("starting and flushing it", flushing),
  ];
}

/** Milliseconds of each way, round by round. */
type Times = Map<string, number[]>;

async function inTurns(
  ways: readonly Way[],
  rounds: number,
  time: (way: Way) => Promise<number>,
): Promise<Times> {
  const times: Times = new Map(ways.map(({ name }) => [name, []]));
  for (let round = -1; round < rounds; round++) {
    for (const way of ways) {
      const took = await time(way);
      // The first round warms caches and makes the bundle.
      if (round >= 0) times.get(way.name)?.push(took);
    }
  }
  return times;
}

/** In pairs, round by round. */
function paired(
  times: Times,
  name: string,
  yardstick: string,
  compare: (took: number, other: number) => number,
): number {
  const others = times.get(yardstick) ?? [];
  const took = times.get(name) ?? [];
  return median(took.map((ms, i) => compare(ms, others[i] ?? NaN)));
}

const ratio = (took: number, other: number): number => took / other;

function besideXargs(times: Times): Figure[] {
  return [...times].filter(([name]) => name !== xargs).map(([name, took]) => ({
    group: "batch",
    name: `${ITEMS} items, ${name}`,
    yardstick: xargs,
    ratio: paired(times, name, xargs, ratio),
    cpu: null,
    goal: null,
    value: `${median(took).toFixed(0)} ms`,
  }));
}
