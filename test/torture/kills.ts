/** Killed at every stop point: the guard of a job, that of a call, the catch-up, the batch. */
import { assert } from "@std/assert";
import { textOf } from "../files.ts";
import { BatchScene } from "./batch_scene.ts";
import { BROKEN_RUN, CatchupScene } from "./catchup_scene.ts";
import { GuardScene, type Way } from "./guard_scene.ts";
import { chosen, inParallel } from "./pool.ts";
import type { Section } from "./report.ts";
import { canTrace, parseTrace, stopPoints, type SystemCall } from "./strace.ts";

const KILL = "signal=SIGKILL";

/** Kills the guard at each stop point of these ways, or at a few. */
export async function killGuards(
  section: Section,
  ways: readonly Way[],
  most: number,
): Promise<void> {
  if (!canTrace()) return section.skip("kills at every stop point: no strace");
  for (const way of ways) {
    const points = chosen(await guardPoints(way), most);
    await inParallel(
      points,
      (call) =>
        section.case(`${way.name}, killed before ${call.line}`, async () => {
          await using scene = new GuardScene(way);
          await scene.check(await scene.run({ call, what: KILL }));
        }),
    );
  }
}

/** Where a guard on this way may be killed; all is well there without. */
export async function guardPoints(way: Way): Promise<SystemCall[]> {
  await using scene = new GuardScene(way);
  const run = await scene.run(null);
  const points = stopPoints(parseTrace(textOf(scene.log)), scene.home.state);
  await scene.check(run);
  return points;
}

/** Kills a batch at each stop point, or at a few. */
export async function killBatches(
  section: Section,
  most: number,
): Promise<void> {
  if (!canTrace()) return section.skip("kills of a batch: no strace");
  const points = await (async (): Promise<SystemCall[]> => {
    await using scene = new BatchScene();
    await scene.run(null);
    const { folders, log } = scene;
    const points = stopPoints(parseTrace(textOf(log)), ...folders);
    await scene.check();
    return points;
  })();
  await inParallel(
    chosen(points, most),
    (call) =>
      section.case(`batch, killed before ${call.line}`, async () => {
        await using scene = new BatchScene();
        await scene.run({ call, what: KILL });
        await scene.check();
      }),
  );
}

/** Kills a round of the catch-up at each stop point, or at a few. */
export async function killCatchups(
  section: Section,
  most: number,
): Promise<void> {
  if (!canTrace()) return section.skip("kills of the catch-up: no strace");
  await inParallel(
    chosen(await catchupPoints(), most),
    (call) =>
      section.case(`catch-up, killed before ${call.line}`, async () => {
        await using scene = new CatchupScene();
        await scene.prepare();
        await scene.run({ call, what: KILL });
        await scene.check();
      }),
  );
}

/** Where a catch-up may be killed. */
export async function catchupPoints(): Promise<SystemCall[]> {
  await using scene = new CatchupScene();
  await scene.prepare();
  await scene.run(null);
  const { folders, log } = scene;
  const points = stopPoints(parseTrace(textOf(log)), ...folders);
  await scene.check();
  // Against a power cut, too: nothing else has what the file of a broken run had.
  const flushed = points.findIndex(({ name }) => name === "fsync");
  const removed = points.findIndex(({ name, line }) =>
    name.startsWith("unlink") && line.includes(BROKEN_RUN)
  );
  assert(
    flushed >= 0 && flushed < removed,
    "not flushed before it was removed",
  );
  // Kills around each launchctl are tests of their own, and do not take as long.
  return points.filter(({ name }) => !/fork|clone/.test(name));
}
