/**
 * `deno task torture`: kills, faults, load, signals, hostile input, intruders and
 * clocks, and a table of what became of it. Takes about a quarter of an hour.
 *
 * @module
 */
import { hostileInput } from "./hostile.ts";
import { intruders } from "./intruders.ts";
import { load } from "./load.ts";
import { clocks } from "./clocks.ts";
import { badDays } from "./plain_faults.ts";
import { failCalls } from "./faults.ts";
import { killBatches, killCatchups, killGuards } from "./kills.ts";
import { signals } from "./signals.ts";
import { Section, table } from "./report.ts";

const ALL = { ways: Infinity, points: Infinity };

const SECTIONS: Record<string, [string, (s: Section) => Promise<void>]> = {
  kills: ["guard killed at a stop point", (s) => killGuards(s, ALL)],
  batch: ["batch killed at a stop point", (s) => killBatches(s, Infinity)],
  catchup: [
    "catch-up killed at a stop point",
    (s) => killCatchups(s, Infinity),
  ],
  faults: [
    "a system call fails",
    (s) => failCalls(s, { ways: 8, faults: Infinity }),
  ],
  days: ["bad folders, disks and streams", badDays],
  load: [
    "under load",
    (s) => load(s, { guards: 200, updates: 50_000, agents: 1000 }),
  ],
  input: [
    "hostile input",
    (s) => hostileInput(s, 2_000, Math.floor(Math.random() * 2 ** 31)),
  ],
  intruders: ["intruders", intruders],
  clocks: [
    "clocks",
    (s) => clocks(s, 300, Math.floor(Math.random() * 2 ** 31)),
  ],
  signals: [
    "signals",
    (s) => signals(s, { names: Infinity, instants: 12 }),
  ],
};

async function main(names: readonly string[]): Promise<number> {
  const done: Section[] = [];
  for (const [name, [title, work]] of Object.entries(SECTIONS)) {
    if (names.length > 0 && !names.includes(name)) continue;
    const section = new Section(title);
    const started = performance.now();
    console.error(`${title} ...`);
    await work(section);
    const seconds = (performance.now() - started) / 1000;
    console.error(`  ${section.cases} cases, ${seconds.toFixed(0)} s`);
    done.push(section);
  }
  console.log(table(done));
  return done.some(({ failures }) => failures.length > 0) ? 1 : 0;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
