/**
 * A pipeline that takes a file that exists for one that is finished, all items
 * in one process: `naive.ts FOLDER LOG CAP LENGTH ITEM...`.
 */
import { join } from "@std/path/join";
import { bodyOf, CHARGES, Meter, writeInHalves } from "./charges.ts";

/** The index of finished items that the pipeline keeps. */
export type Index = { items: { name: string; bytes: number }[] };

/** Reads the index of a folder; an empty one if there is none. */
export function readIndex(folder: string): Index {
  try {
    return JSON.parse(Deno.readTextFileSync(join(folder, "index.json")));
  } catch {
    return { items: [] };
  }
}

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}

/** Makes what does not exist yet. */
export function runNaive(
  folder: string,
  meter: Meter,
  items: string[],
  length: number,
): void {
  const index = readIndex(folder);
  for (const name of items) {
    const path = join(folder, `${name}.md`);
    if (exists(path)) continue;
    meter.charge(CHARGES.planned);
    meter.charge(CHARGES.generated);
    const body = bodyOf(name, length);
    writeInHalves(path, body, () => meter.charge(CHARGES.halfWritten));
    meter.charge(CHARGES.written);
    index.items.push({ name, bytes: body.length });
    Deno.writeTextFileSync(join(folder, "index.json"), JSON.stringify(index));
    meter.charge(CHARGES.committed);
  }
}

if (import.meta.main) {
  const [folder = "", log = "", cap, length, ...items] = Deno.args;
  const meter = new Meter(log, Number(cap), () => Deno.exit(9));
  runNaive(folder, meter, items, Number(length));
}
