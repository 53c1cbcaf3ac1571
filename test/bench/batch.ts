/**
 * 200 trivial items by `--batch`, beside `xargs -n1` and GNU parallel with a
 * job log, in turns: `deno run -A test/bench/batch.ts [ROUNDS]`.
 */
import { join } from "@std/path/join";
import { executable } from "../files.ts";
import { scriptCommand } from "../script.ts";

const ITEMS = 200;
const rounds = Number(Deno.args[0] ?? 5);
const folder = Deno.makeTempDirSync({ prefix: "bench " });
const list = join(folder, "list");
const state = { CLAUDE_QUOTA_DIR: join(folder, "state") };
const names = Array.from({ length: ITEMS }, (_, i) => `item-${i}`);
Deno.writeTextFileSync(list, names.join("\n") + "\n");
const worker = executable(join(folder, "worker"), 'echo "$1" > "$QUOTA_PART"');

/** A way to run all items into a new folder, or one where all is done. */
type Way = { name: string; words: (out: string) => string[]; again?: true };

function installed(program: string): boolean {
  try {
    return new Deno.Command(program, { args: ["--version"], stdout: "null" })
      .outputSync().success;
  } catch {
    return false;
  }
}

function batch(kind: "source" | "bundle", ...flags: string[]): Way["words"] {
  return (out) => [
    ...scriptCommand("quota_guard", kind, state),
    ...["--batch", list, "--into", out, ...flags, "--", worker, "{}"],
  ];
}

const ways: Way[] = [
  {
    name: "xargs -n1",
    words: (
      out,
    ) => [
      "sh",
      "-c",
      `QUOTA_PART='${out}/part' xargs -n1 '${worker}' < '${list}'`,
    ],
  },
  { name: "--batch", words: batch("bundle") },
  { name: "--batch, all done", words: batch("bundle"), again: true },
  { name: "--batch from source", words: batch("source") },
  { name: "--batch --workers 2", words: batch("bundle", "--workers", "2") },
];
if (installed("parallel")) {
  const parallel = (out: string, jobs: number): string[] => [
    "sh",
    "-c",
    `QUOTA_PART='${out}/part' parallel -q -j${jobs} --joblog '${out}/log' '${worker}' < '${list}'`,
  ];
  ways.push(
    { name: "parallel -j1 --joblog", words: (out) => parallel(out, 1) },
    { name: "parallel -j2 --joblog", words: (out) => parallel(out, 2) },
  );
}

async function run(program: string, args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, {
    args,
    env: state,
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}

/** Milliseconds of one way. */
async function time(way: Way): Promise<number> {
  const out = Deno.makeTempDirSync({ dir: folder });
  const [program = "", ...args] = way.words(out);
  if (way.again) await run(program, args);
  const start = performance.now();
  await run(program, args);
  return performance.now() - start;
}

function median(numbers: number[]): number {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? NaN;
}

try {
  const times = new Map<string, number[]>(ways.map(({ name }) => [name, []]));
  for (let round = -1; round < rounds; round++) {
    for (const way of ways) {
      const took = await time(way);
      // The first round warms caches and makes the bundle.
      if (round >= 0) times.get(way.name)?.push(took);
    }
  }
  const of = (name: string): number => median(times.get(name) ?? []);
  const base = of("xargs -n1");
  console.log(`${ITEMS} items, median of ${rounds} rounds`);
  for (const { name } of ways) {
    console.log(
      `${name.padEnd(24)} ${of(name).toFixed(0).padStart(6)} ms ` +
        `${(of(name) / base).toFixed(2).padStart(6)} x xargs`,
    );
  }
  const item = (of("--batch") - of("--batch, all done") - base) / ITEMS;
  console.log(`--batch: ${item.toFixed(2)} ms an item beyond its process`);
} finally {
  Deno.removeSync(folder, { recursive: true });
}
