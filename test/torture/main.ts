/**
 * `deno task torture [--seed=N] [NAME...]`: kills, faults, load, signals, hostile
 * input, intruders and clocks, and a table of what became of it. All of it takes
 * about a quarter of an hour. Exit code 1 if anything failed.
 *
 * @module
 */
import { Section, table } from "./report.ts";
import { KINDS } from "./sections.ts";

async function main(args: readonly string[]): Promise<number> {
  const given = args.find((arg) => arg.startsWith("--seed="))?.slice(7);
  const seed = Number(given ?? Math.floor(Math.random() * 2 ** 31));
  const names = args.filter((arg) => !arg.startsWith("--"));
  const unknown = names.filter((name) => !Object.hasOwn(KINDS, name));
  if (unknown.length > 0 || !Number.isInteger(seed)) {
    console.error(`Known are --seed=N and: ${Object.keys(KINDS).join(" ")}`);
    return 2;
  }
  console.error(`Seed ${seed}`);
  const done: Section[] = [];
  for (const [name, { title, unit, full }] of Object.entries(KINDS)) {
    if (names.length > 0 && !names.includes(name)) continue;
    const section = new Section(title, unit);
    const started = performance.now();
    console.error(`${title} ...`);
    await section.guarded(title, () => full(section, seed));
    const seconds = (performance.now() - started) / 1000;
    console.error(`  ${section.amount}, ${seconds.toFixed(0)} s`);
    done.push(section);
  }
  console.log(table(done));
  const skipped = done.flatMap((section) => section.skipped);
  if (skipped.length > 0) console.log(`\nNot tried: ${skipped.join("; ")}`);
  return done.some(({ failures }) => failures.length > 0) ? 1 : 0;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
