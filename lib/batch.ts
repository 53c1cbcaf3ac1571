import { resolve } from "@std/path/resolve";
import { discard } from "./atomic_file.ts";
import {
  ignoresCase,
  type ItemPaths,
  itemPaths,
  makeFolders,
  readDone,
  readFailed,
  sweepLeftovers,
} from "./batch_folder.ts";
import type { Batch } from "./batch_arguments.ts";
import { clashOf, itemName, parseItems } from "./batch_items.ts";
import { batchExit, stallRemedy, summaryLine } from "./batch_plan.ts";
import { type DoneMarker, orderItems, worstCost } from "./batch_record.ts";
import { BatchRun } from "./batch_run.ts";
import { removeClaims } from "./claim.ts";
import { type Guard, say } from "./guard.ts";
import { ItemRuns } from "./item_runs.ts";
import { noProgressLine } from "./progress_gate.ts";
import { reasonOf } from "./reason.ts";
import { readRun } from "./run_file.ts";
import { ENV } from "./settings.ts";
import { printable } from "./terminal.ts";
import { UsageError } from "./usage.ts";

async function readList(path: string): Promise<Uint8Array> {
  try {
    return path === "-"
      ? await new Response(Deno.stdin.readable).bytes()
      : Deno.readFileSync(path);
  } catch (error) {
    throw new UsageError(`cannot read the list "${path}": ${reasonOf(error)}`);
  }
}

/** Items in the order of the list, and where their things are. */
type ItemMap = Map<string, ItemPaths>;

function makeFoldersOrRefuse(dir: string): void {
  try {
    makeFolders(dir);
  } catch (error) {
    throw new UsageError(`cannot make the folder "${dir}": ${reasonOf(error)}`);
  }
}

/**
 * The names of the items on disk, in the order of the list.
 *
 * @throws {UsageError} If the list cannot be read.
 */
async function readNames(
  guard: Guard,
  list: string,
): Promise<Map<string, string>> {
  const { items, duplicates } = parseItems(await readList(list));
  for (const item of duplicates) {
    const name = printable(JSON.stringify(item));
    say(guard, `${name} is in the list more than once`);
  }
  const names = new Map<string, string>();
  for (const item of items) names.set(item, await itemName(item));
  return names;
}

/** @throws {UsageError} If two items would share a file. */
function placesOf(
  names: ReadonlyMap<string, string>,
  dir: string,
  pattern: string,
): ItemMap {
  const clash = clashOf(names, pattern, ignoresCase(dir));
  if (clash !== null) throw new UsageError(clash);
  const places: ItemMap = new Map();
  for (const [item, name] of names) {
    places.set(item, itemPaths(dir, pattern, name));
  }
  return places;
}

async function verify(
  batch: Batch,
  dir: string,
  paths: ItemMap,
): Promise<number> {
  const { verifyBatch } = await import("./batch_verify.ts");
  const faults = await verifyBatch(batch, dir, paths);
  removeClaims(dir);
  console.log(faults.length === 0 ? "OK" : faults.join("\n"));
  return faults.length === 0 ? 0 : 1;
}

/** Run of the job that the batch is the command of; null if there is none. */
function outerRunOf(guard: Guard): string | null {
  const id = guard.host.env(ENV.run) ?? null;
  return guard.folder !== null && id !== null &&
      readRun(guard.folder, id) !== null
    ? id
    : null;
}

function byPath(
  markers: readonly DoneMarker[],
  paths: ItemMap,
): Map<string, DoneMarker> {
  const found = new Map<string, DoneMarker>();
  for (const marker of markers) {
    const place = paths.get(marker.name);
    if (place !== undefined) found.set(place.done, marker);
  }
  return found;
}

async function runItems(
  guard: Guard,
  batch: Batch,
  command: NonNullable<Batch["command"]>,
  dir: string,
  paths: ItemMap,
): Promise<number> {
  sweepLeftovers(dir);
  const items = [...paths.keys()];
  using runs = new ItemRuns(guard, guard.host.env(ENV.job) ?? "batch");
  const work = {
    guard,
    command,
    dir,
    options: batch,
    runs,
    outerRun: outerRunOf(guard),
  };
  const before = readDone(dir);
  const queue = orderItems(items, before, readFailed(dir));
  const run = new BatchRun(work, batch, paths, queue);
  await run.seeToAll();
  removeClaims(dir);
  const done = readDone(dir, byPath([...before.values(), ...run.done], paths));
  const failed = readFailed(dir);
  for (const item of failed.keys()) {
    const place = paths.get(item);
    if (place === undefined || !done.has(item)) continue;
    discard(place.failed);
    failed.delete(item);
  }
  const standing = {
    ...run.standing,
    done: items.filter((item) => done.has(item)).length,
  };
  if (standing.stop === "stalled") {
    say(guard, noProgressLine(standing.attempts, stallRemedy(standing)));
  }
  const records = [...done.values(), ...failed.values()];
  console.log(summaryLine(standing, worstCost(records, guard.host.now())));
  return guard.signals.code ?? batchExit(standing);
}

/**
 * Does one item after the other, each in a process of its own, and commits what
 * it makes; what has a marker already is left out. Without a command it
 * verifies what is there.
 *
 * @returns 0 all done, or as many as asked for; 75 a limit; 1 something failed or is at fault; 128 + n after a signal
 * @throws {UsageError} If the list or the folder is of no use.
 */
export async function runBatch(guard: Guard, batch: Batch): Promise<number> {
  const dir = resolve(batch.into);
  const names = await readNames(guard, batch.list);
  if (batch.command !== null) makeFoldersOrRefuse(dir);
  const paths = placesOf(names, dir, batch.pattern);
  return batch.command === null
    ? await verify(batch, dir, paths)
    : await runItems(guard, batch, batch.command, dir, paths);
}
