/** Signals at the system calls of guard and catch-up, instead of at instants. */
import { assert, assertEquals } from "@std/assert";
import { CatchupScene } from "./catchup_scene.ts";
import { GuardScene, WAYS } from "./guard_scene.ts";
import { catchupPoints, guardPoints } from "./kills.ts";
import { inParallel, spread } from "./pool.ts";
import type { Section } from "./report.ts";
import { NUMBERS } from "./signals.ts";
import { canTrace } from "./strace.ts";

const ON_THE_WAY = [
  "job, at the limit",
  "skipped job",
  "probing job, answered",
  "call, at the limit",
  "call, answered",
];

/**
 * Lets what has been stopped go on, again and again until its end. No child of
 * the tracer, which would wait for it.
 */
const GO_ON = [
  ...["/bin/sh", "-c"],
  '(while sleep 0.3 && kill -0 $$; do kill -CONT 0; done < /dev/null > /dev/null 2>&1 &); exec "$@"',
  "sh",
];

/** Each of so many calls of each way gets one of the signals in turn; some of them a stop. */
export async function signalsAtCalls(
  section: Section,
  most: { ways: number; calls: number; stops: number; rounds: number },
): Promise<void> {
  if (!canTrace()) return section.skip("signals at system calls: no strace");
  const names = Object.entries(NUMBERS);
  const ways = ON_THE_WAY.slice(0, most.ways)
    .flatMap((on) => WAYS.filter(({ name }) => name === on));
  for (const way of ways) {
    const points = await guardPoints(way);
    const cases = spread(points, most.calls).map((call, i) => {
      const [name = "SIGTERM", number = 15] = names[i % names.length] ?? [];
      return { call, name: name as Deno.Signal, number };
    });
    await inParallel(
      cases,
      ({ call, name, number }) =>
        section.case(`${way.name}, ${name} at ${call.line}`, async () => {
          await using scene = new GuardScene(way);
          const run = await scene.run({ call, what: `signal=${name}` });
          await scene.checkSignal(run, 128 + number);
        }),
    );
    await inParallel(
      spread(points, most.stops),
      (call) =>
        section.case(`${way.name}, stopped at ${call.line}`, async () => {
          await using scene = new GuardScene(way);
          const what = "signal=SIGSTOP";
          await scene.check(await scene.run({ call, what }, GO_ON));
        }),
    );
  }
  if (most.rounds === 0) return;
  const points = await catchupPoints();
  await inParallel(
    spread(points, most.rounds),
    (call) =>
      section.case(`catch-up, SIGTERM at ${call.line}`, async () => {
        await using scene = new CatchupScene();
        await scene.prepare();
        const { code } = await scene.run({ call, what: "signal=SIGTERM" });
        assert(code === 143 || code === 0, `exit ${code}`);
        await scene.check();
      }),
  );
  await inParallel(
    spread(points, Math.ceil(most.rounds / 4)),
    (call) =>
      section.case(`catch-up, stopped at ${call.line}`, async () => {
        await using scene = new CatchupScene();
        await scene.prepare();
        const what = "signal=SIGSTOP";
        const { code, stderr } = await scene.run({ call, what }, GO_ON);
        assertEquals([code, stderr], [0, ""]);
        await scene.check();
      }),
  );
}
