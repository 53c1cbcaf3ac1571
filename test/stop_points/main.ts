/**
 * The experiment with the stop points, and the numbers of the article that it
 * repeats: `deno task stop-points`. Takes some minutes; costs nothing.
 */
import {
  batchLoop,
  capPerItem,
  gatedBatch,
  naiveLoop,
  resumedBatch,
  resumedNaive,
  type Spending,
  STOP_POINTS,
} from "./experiment.ts";
import { ITEM_COST, ITEMS } from "./charges.ts";
import {
  commitCost,
  processCost,
  rebuildCost,
  recordByBatch,
  type Recording,
  recordInIndex,
  WORKERS,
} from "./timing.ts";

const IDEAL = ITEMS.length * ITEM_COST;
const ROUNDS = 5;

function print(...lines: string[]): void {
  for (const line of lines) console.log(line);
}

/** A Markdown table. */
function table(head: string[], rows: string[][]): void {
  const line = (cells: string[]): string => `| ${cells.join(" | ")} |`;
  print("", line(head), line(head.map(() => "---")), ...rows.map(line), "");
}

/** A measured number beside the article's, with a word where they differ. */
function beside(ours: string, article: string | undefined): string[] {
  if (article === undefined) return [ours, "", ""];
  return [ours, article, ours === article ? "same" : "differs"];
}

function waste(spent: number): string {
  const percent = 100 * (spent - IDEAL) / IDEAL;
  return `${percent > 0 ? "+" : "±"}${percent.toFixed(percent > 0 ? 1 : 0)}%`;
}

async function stopPoints(): Promise<void> {
  const corrupt = { naive: 0, safe: 0 };
  for (const cap of STOP_POINTS) {
    if ((await resumedNaive(cap)).length > 0) corrupt.naive++;
    if ((await resumedBatch(cap)).length > 0) corrupt.safe++;
  }
  const of = (count: number): string => `${count} / ${STOP_POINTS.length}`;
  print("## Stopped at each of 36 points, then resumed without a cap");
  table(["", "corrupt ends", "article", ""], [
    ["naive: the file exists", ...beside(of(corrupt.naive), "8 / 36")],
    ["quota_guard --batch", ...beside(of(corrupt.safe), "0 / 36")],
  ]);
}

function spendingRow(
  words: string,
  { attempts, spent, finished, faults }: Spending,
  article?: string,
): string[] {
  const end = finished < ITEMS.length && faults.length === 0
    ? `${finished} of ${ITEMS.length} items`
    : faults.length > 0
    ? "corrupt"
    : "whole";
  return [words, ...beside(`${attempts}, ${spent.toFixed(1)}`, article), end];
}

async function gate(): Promise<void> {
  print("## Retried at a cap below the cost of one item (4.5)");
  const head = ["", "attempts, spent", "article", "", "end"];
  table(head, [
    spendingRow("3.0 naive", await naiveLoop(3), "5, 14.0"),
    spendingRow("3.0 batch, no gate", await batchLoop(3), "12, 42.0"),
    spendingRow("3.0 batch in --progress", await gatedBatch(3), "1, 3.5"),
    spendingRow("3.0 batch, cap on the item", await capPerItem(3), "1, 3.5"),
    spendingRow("3.5 batch, no gate", await batchLoop(3.5), "12, 48.0"),
    spendingRow("3.5 batch in --progress", await gatedBatch(3.5)),
  ]);
}

/** Attempts, spending and waste of whole-batch runs, where the article names them. */
const WHOLE_BATCH: Record<string, string> = {
  "4.0": "5, 18.0, ±0%",
  "4.5": "4, 21.0, +16.7%",
  "5.5": "4, 27.0, +50.0%",
  "6.0": "4, 27.0, +50.0%",
  "6.5": "4, 27.0, +50.0%",
  "7.0": "4, 27.0, +50.0%",
  "8.0": "4, 30.0, +66.7%",
  "8.5": "3, 18.0, ±0%",
  "9.0": "2, 19.0, +5.6%",
  "9.5": "2, 19.0, +5.6%",
  "10.0": "2, 21.0, +16.7%",
  "10.5": "2, 21.0, +16.7%",
  "11.0": "2, 21.0, +16.7%",
  "11.5": "2, 21.0, +16.7%",
};
const ONE_ITEM: Record<string, string> = Object.fromEntries(
  ["4.5", "6.0", "8.0", "12.0"].map((cap) => [cap, "4, 18.0, ±0%"]),
);

async function caps(
  first: number,
  run: (cap: number) => Promise<Spending>,
  article: Record<string, string>,
): Promise<void> {
  const rows: string[][] = [];
  for (let cap = first; cap <= 12; cap += 0.5) {
    const { attempts, spent, faults } = await run(cap);
    const ours = `${attempts}, ${spent.toFixed(1)}, ${waste(spent)}`;
    const name = cap.toFixed(1);
    const end = faults.length === 0 ? "whole" : "corrupt";
    rows.push([name, ...beside(ours, article[name]), end]);
  }
  table(["cap", "attempts, spent, waste", "article", "", "end"], rows);
}

async function itemsARun(): Promise<void> {
  print("## k items a run (--max-items k), capped at k x worst + worst");
  const rows: string[][] = [];
  for (const k of [1, 2, 3, 4]) {
    const cap = k * ITEM_COST + ITEM_COST;
    const run = await batchLoop(cap, "--max-items", String(k));
    rows.push([
      `${k}`,
      cap.toFixed(1),
      `${run.attempts}`,
      run.spent.toFixed(1),
      waste(run.spent),
    ]);
  }
  table(["k", "cap", "runs", "spent", "waste"], rows);
}

async function recording(): Promise<void> {
  print(`## ${WORKERS} processes at once record their item, ${ROUNDS} rounds`);
  const row = (
    words: string,
    { lost, exceptions, milliseconds }: Recording,
    article: string,
    time: string,
  ): string[] => [
    words,
    ...beside(`${lost}, ${exceptions}`, article),
    `${milliseconds.toFixed(0)} ms`,
    time,
  ];
  table(
    ["", "lost of 120, exceptions", "article", "", "a round", "article"],
    [
      row(
        "index, fixed temp name",
        await recordInIndex("fixed", ROUNDS),
        "92, 40",
        "",
      ),
      row(
        "index, private temp name",
        await recordInIndex("private", ROUNDS),
        "97, 0",
        "",
      ),
      row(
        "index under flock",
        await recordInIndex("flock", ROUNDS),
        "0, 0",
        "453 ms",
      ),
      row(
        `--batch --workers ${WORKERS}: a marker each`,
        await recordByBatch(ROUNDS),
        "0, 0",
        "231 ms",
      ),
    ],
  );
}

async function times(): Promise<void> {
  const ms = (n: number): string => `${n.toFixed(n < 10 ? 2 : 0)} ms`;
  const commits = await commitCost();
  const processes = await processCost();
  const percent = 100 * (commits.safe / commits.naive - 1);
  const more = (commits.safe - commits.naive) / 200;
  print("## What it costs");
  table(["", "measured", "article"], [
    ["200 items written directly", ms(commits.naive), "532 ms"],
    ["200 items committed", ms(commits.safe), "687 ms"],
    [
      "more",
      `${percent.toFixed(1)}%, ${ms(more)} an item`,
      "29.1%, 0.78 ms an item",
    ],
    ["200 items in one process", ms(processes.one), "656 ms"],
    ["200 items, a process each", ms(processes.each), "6121 ms"],
    [
      "more",
      `${(processes.each / processes.one).toFixed(1)}x, ${
        ms((processes.each - processes.one) / 200)
      } an item`,
      "9.3x, 27.3 ms an item",
    ],
    ["an index out of 1,000 markers", ms(await rebuildCost()), "32.1 ms"],
  ]);
}

print(
  "# Stop points",
  "",
  `An item costs ${ITEM_COST} units, ${ITEMS.length} items ${IDEAL}. A run stops`,
  "when the sum is above its cap. Times are those of this machine and its load;",
  "counts of lost records are by chance, but for the zeros. Under `article`",
  "stands what the author of the same experiment has published.",
  "",
);
await stopPoints();
await gate();
print("## The cap on a whole run, behind the gate");
await caps(4, gatedBatch, WHOLE_BATCH);
print("## The cap on one item");
await caps(4.5, capPerItem, ONE_ITEM);
await itemsARun();
await recording();
await times();
