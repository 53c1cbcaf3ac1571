/** The strict check of a finished folder, which trusts nothing but the bytes. */
import { join } from "@std/path/join";
import { type Index, readIndex } from "./naive.ts";

/** The index made out of the markers of a batch. */
export function indexFromMarkers(folder: string): Index {
  const done = join(folder, "done");
  return {
    items: [...Deno.readDirSync(done)]
      .filter(({ name }) => name.endsWith(".json"))
      .map(({ name }) => JSON.parse(Deno.readTextFileSync(join(done, name)))),
  };
}

/** What is wrong with `items`: nothing if the list is empty. */
export function faultsOf(
  folder: string,
  items: string[],
  index: Index = readIndex(folder),
): string[] {
  const bytes = new Map(index.items.map((item) => [item.name, item.bytes]));
  const faults = items.flatMap((name) => {
    const size = bytes.get(name);
    if (size === undefined) return [`missing-index: ${name}`];
    let text: string;
    try {
      text = Deno.readTextFileSync(join(folder, `${name}.md`));
    } catch {
      return [`missing-file: ${name}`];
    }
    if (text.length !== size) return [`size-mismatch: ${name}`];
    return text.endsWith("END\n") ? [] : [`truncated: ${name}`];
  });
  const parts = [folder, join(folder, "done")].flatMap((place) => {
    try {
      return [...Deno.readDirSync(place)];
    } catch {
      return [];
    }
  }).filter(({ name }) => /\.(part|tmp)$/.test(name));
  return [...faults, ...parts.map(({ name }) => `leftover: ${name}`)];
}
