import { join } from "@std/path/join";
import { resolve } from "@std/path/resolve";
import type { Batch } from "./batch_arguments.ts";
import {
  findLeftovers,
  type ItemPaths,
  namesIn,
  readDone,
  readMarker,
} from "./batch_folder.ts";
import { claimItem } from "./claim.ts";
import { contentOf, endsWithText } from "./commit.ts";

/** What is wrong with one item; null if nothing is. */
async function faultOf(
  dir: string,
  item: string,
  paths: ItemPaths,
  endsWith: string | null,
): Promise<string | null> {
  const name = JSON.stringify(item);
  const marker = readMarker(paths);
  if (marker === null) return `missing-marker: ${name}`;
  if (marker.name !== item) {
    return `foreign-marker: ${name}: "${paths.done}" is of ${
      JSON.stringify(marker.name)
    }`;
  }
  const file = marker.file === "" ? paths.out : join(dir, marker.file);
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = Deno.readFileSync(file);
  } catch {
    return `missing-file: ${name}: "${file}"`;
  }
  const { sha256 } = await contentOf(bytes);
  if (bytes.length !== marker.bytes) {
    return `size-mismatch: ${name}: ${bytes.length} bytes, marker says ${marker.bytes}`;
  }
  if (sha256 !== marker.sha256) return `sha256-mismatch: ${name}`;
  if (endsWith !== null && !endsWithText(bytes, endsWith)) {
    return `truncated: ${name}: does not end with ${JSON.stringify(endsWith)}`;
  }
  return null;
}

/** What was left unfinished; what a live batch is writing is not. */
function leftoverFaults(dir: string): string[] {
  return findLeftovers(dir).flatMap(({ path, name }) => {
    using claim = claimItem(dir, name);
    return claim === null ? [] : [`leftover-part: "${path}"`];
  });
}

/** Files that no marker speaks of; the list itself may lie beside them. */
function strayFaults(dir: string, list: string): string[] {
  const known = new Set(
    [...readDone(dir).values()].map(({ file }) => file.normalize("NFC")),
  );
  return namesIn(dir)
    .filter((name) =>
      !name.startsWith(".") && name !== "done" && name !== "failed" &&
      !known.has(name.normalize("NFC")) && join(dir, name) !== list
    )
    .sort().map((name) => `no-marker: "${join(dir, name)}"`);
}

/**
 * Compares every item with its marker and its file, byte for byte.
 *
 * @returns One line a fault; none if all is well
 */
export async function verifyBatch(
  batch: Batch,
  dir: string,
  paths: ReadonlyMap<string, ItemPaths>,
): Promise<string[]> {
  const faults: string[] = [];
  for (const [item, itemPaths] of paths) {
    const fault = await faultOf(dir, item, itemPaths, batch.endsWith);
    if (fault !== null) faults.push(fault);
  }
  return [
    ...faults,
    ...leftoverFaults(dir),
    ...strayFaults(dir, resolve(batch.list)),
  ];
}
