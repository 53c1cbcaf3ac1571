/**
 * `deno task bench [--json] [--rounds N] [GROUP...]`: what the guard and the
 * catch-up cost, each figure as a ratio to a yardstick of the same run, the
 * median of paired runs. Groups: start batch tee scan state.
 */
import { join } from "@std/path/join";
import { readFlags } from "../../lib/flags.ts";
import { batch } from "./batch.ts";
import type { Figure } from "./sample.ts";
import { scan } from "./scan.ts";
import { starts } from "./starts.ts";
import { tee } from "./tee.ts";
import { updates } from "./updates.ts";

type Group = (folder: string, rounds: number) => Promise<Figure[]>;

/**
 * The larger a run, the fewer of them. The last ones remove files by the
 * thousand, after which a disk may be slow to make new ones.
 */
const groups: Record<string, [Group, number]> = {
  start: [starts, 1],
  batch: [batch, 0.25],
  tee: [tee, 0.25],
  scan: [scan, 0.25],
  state: [updates, 0.15],
};

function machine(): string {
  const { cpu, memory } = {
    cpu: navigator.hardwareConcurrency,
    memory: Deno.systemMemoryInfo().total / 2 ** 30,
  };
  const { os, arch } = Deno.build;
  return `Deno ${Deno.version.deno}, ${os} ${arch}, ${cpu} processors, ${
    memory.toFixed(0)
  } GiB, load ${Deno.loadavg()[0]?.toFixed(1)}`;
}

function table(figures: readonly Figure[]): string {
  const rows = [
    ["what", "measured", "to", "ratio", "CPU", "goal"],
    ...figures.map((figure) => [
      `${figure.group}: ${figure.name}`,
      figure.value,
      figure.yardstick,
      figure.ratio.toFixed(2),
      figure.cpu?.toFixed(2) ?? "",
      figure.goal ?? "",
    ]),
  ];
  const widths =
    rows[0]?.map((_, i) =>
      Math.max(...rows.map((row) => row[i]?.length ?? 0))
    ) ?? [];
  const line = (row: string[]): string =>
    `| ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(" | ")} |`;
  const [head = [], ...body] = rows;
  const rule = widths.map((width) => "-".repeat(width));
  return [head, rule, ...body].map(line).join("\n");
}

const flags = readFlags(
  "bench",
  { boolean: ["json"], string: ["rounds"] },
  Deno.args,
  Object.keys(groups).length,
);
const rounds = flags.whole("rounds", 1000) ?? 21;
const chosen = flags.words.length > 0 ? flags.words : Object.keys(groups);
const figures: Figure[] = [];
for (const name of chosen) {
  const [group, share] = groups[name] ?? [];
  if (group === undefined || share === undefined) {
    console.error(
      `${name} is no group; there are ${Object.keys(groups).join(" ")}`,
    );
    Deno.exit(2);
  }
  const folder = Deno.makeTempDirSync({ prefix: "bench " });
  try {
    Deno.mkdirSync(join(folder, name));
    figures.push(
      ...await group(join(folder, name), Math.ceil(rounds * share)),
    );
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}
console.log(
  flags.is("json")
    ? JSON.stringify({ machine: machine(), rounds, figures }, null, 2)
    : `${machine()}\n\n${table(figures)}`,
);
