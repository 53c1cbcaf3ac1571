/** Killed at every stop point: the guard of a job, that of a call, the catch-up, the batch. */
import { textOf } from "../files.ts";
import { GuardScene, type Way, WAYS } from "./guard_scene.ts";
import { inParallel, spread } from "./pool.ts";
import type { Section } from "./report.ts";
import { canTrace, parseTrace, stopPoints, type SystemCall } from "./strace.ts";

/** Kills the guard at each stop point of each way, or at a few of a few. */
export async function killGuards(
  section: Section,
  most: { ways: number; points: number },
): Promise<void> {
  if (!canTrace()) return section.skip("kills at every stop point: no strace");
  for (const way of spread(WAYS, most.ways)) {
    const points = spread(await stopPointsOf(way), most.points);
    await inParallel(
      points,
      (call) =>
        section.case(`${way.name}, killed before ${call.line}`, async () => {
          await using scene = new GuardScene(way);
          await scene.check(await scene.run({ call, what: "signal=SIGKILL" }));
        }),
    );
  }
}

async function stopPointsOf(way: Way): Promise<SystemCall[]> {
  await using scene = new GuardScene(way);
  const run = await scene.run(null);
  const points = stopPoints(parseTrace(textOf(scene.log)), scene.home.state);
  await scene.check(run);
  return points;
}
