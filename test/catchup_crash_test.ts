import { assert, assertEquals } from "@std/assert";
import { run } from "../lib/catchup.ts";
import type { CatchupWorld } from "../lib/catchup_world.ts";
import { kickAndWait, waitUntilGone } from "../lib/kick.ts";
import { readBooks } from "../lib/state.ts";
import type { ToolResult } from "../lib/tool.ts";
import { Stage, type StageJob } from "./catchup_stage.ts";

const LABELS = ["one", "two", "three", "four", "five"];
const OPTIONS = { dryRun: false, noProbe: false, window: null };

/** What becomes of a launchctl whose catch-up is killed while it is at work. */
type Orphan = "done" | "lost" | "late";

/**
 * A world that dies at its n-th step, a call of any door. As with SIGKILL nothing
 * of the round happens after that: the promise of the step never comes true.
 */
class Mortal {
  steps = 0;
  /** The steps at which launchctl is to start a job. */
  readonly kickstarts: number[] = [];
  readonly #last: number;
  readonly #orphan: Orphan;
  readonly died: Promise<"died">;
  #die: () => void = () => {};

  constructor(last: number, orphan: Orphan) {
    this.#last = last;
    this.#orphan = orphan;
    this.died = new Promise((resolve) => this.#die = () => resolve("died"));
  }

  async #step(): Promise<void> {
    if (++this.steps < this.#last) return;
    this.#die();
    await new Promise(() => {});
  }

  world(stage: Stage): CatchupWorld {
    const world = stage.world();
    const { launchctl } = stage.launchd;
    const real = launchctl.run;
    const host = {
      ...stage.host,
      sleep: async (seconds: number): Promise<void> => {
        await this.#step();
        await stage.host.sleep(seconds);
      },
    };
    const mortal = {
      domain: launchctl.domain,
      run: async (args: string[], timeout: number): Promise<ToolResult> => {
        const dies = this.steps + 1 >= this.#last;
        if (args[0] === "kickstart") this.kickstarts.push(this.steps + 1);
        // Killed before launchctl came to launchd, or after.
        if (!dies || this.#orphan === "done") {
          const result = await real(args, timeout);
          await this.#step();
          return result;
        }
        if (this.#orphan === "late") stage.host.onSleep = late(stage, args);
        await this.#step();
        return await real(args, timeout);
      },
    };
    const kicker = {
      host,
      launchctl: mortal,
      group: {
        ps: () => Promise.reject(new Error("no ps")),
        kill: () => Promise.reject(new Error("no kill")),
      },
      stop: stage.stop.signal,
      timeout: 2700,
      grace: 30,
    };
    const alive = (): void => {
      // Doors that do not wait: dead before they do anything.
      if (++this.steps >= this.#last) {
        this.#die();
        throw new Error("killed");
      }
    };
    return {
      ...world,
      host,
      launchctl: mortal,
      kick: (label, before, watch) => kickAndWait(kicker, label, before, watch),
      wait: (label, watch) => waitUntilGone(kicker, label, () => true, watch),
      probe: async (...args) => {
        await this.#step();
        return await world.probe(...args);
      },
      tell: (line) => {
        alive();
        world.tell(line);
      },
      note: (...args) => {
        alive();
        world.note(...args);
      },
    };
  }
}

/** The launchctl of a dead catch-up comes through to launchd a second later. */
function late(stage: Stage, args: string[]): () => void {
  const due = stage.host.monotonic() + 1;
  return () => {
    if (stage.host.monotonic() < due) return;
    stage.host.onSleep = () => {};
    void stage.launchd.launchctl.run(args, 10);
  };
}

/** Five owed jobs; the round dies at step n. */
async function roundThatDies(
  n: number,
  orphan: Orphan,
  job: StageJob,
  rest: (stage: Stage) => Promise<void>,
): Promise<Mortal> {
  using stage = new Stage();
  for (const label of LABELS) stage.job(label, job);
  const mortal = new Mortal(n, orphan);
  const round = run(mortal.world(stage), OPTIONS).catch(() => "died" as const);
  await Promise.race([round, mortal.died]);
  await rest(stage);
  return mortal;
}

/**
 * Runs a test for every step at which a round can die; what becomes of launchctl
 * matters only where it is to start a job.
 */
async function atEveryStep(
  orphan: Orphan,
  job: StageJob,
  rest: (stage: Stage, step: number) => Promise<void>,
): Promise<number> {
  const whole = await roundThatDies(Infinity, orphan, job, async () => {});
  const all = Array.from({ length: whole.steps }, (_, i) => i + 1);
  const steps = orphan === "done" ? all : whole.kickstarts;
  for (const n of steps) {
    await roundThatDies(n, orphan, job, (stage) => rest(stage, n));
  }
  return steps.length;
}

for (const orphan of ["done", "lost", "late"] as const) {
  Deno.test(`run() killed at any step and started again starts each of five jobs once, launchctl ${orphan}`, async () => {
    // Over before a launchctl that is late comes through.
    const job = { takes: 0.5 };
    const steps = await atEveryStep(orphan, job, async (stage, n) => {
      await stage.run();
      assertEquals(
        stage.launchd.starts.toSorted(),
        LABELS.toSorted(),
        `killed at step ${n}: ${stage.told.join("\n")}`,
      );
      assertEquals(stage.launchd.most, 1, `side by side after step ${n}`);
      // Nothing comes later either.
      stage.host.advance(1800);
      assertEquals((await stage.run()).candidates, []);
      assertEquals(stage.launchd.starts.length, LABELS.length);
    });
    assert(steps >= (orphan === "done" ? 50 : 5), `only ${steps} steps`);
  });
}

Deno.test("run() killed at any step never starts again what ends without a marker", async () => {
  await atEveryStep("done", { takes: 0.5, end: "silent" }, async (stage, n) => {
    for (let round = 0; round < 2; round++) {
      await stage.run();
      stage.host.advance(1800);
    }
    assertEquals(
      stage.launchd.starts.toSorted(),
      LABELS.toSorted(),
      `killed at step ${n}: ${stage.told.join("\n")}`,
    );
  });
});

Deno.test("run() killed again and again before the kick does not use up the three kicks", async () => {
  using stage = new Stage();
  stage.job("one");
  for (let times = 0; times < 9; times++) {
    const mortal = new Mortal(Infinity, "lost");
    const world = mortal.world(stage);
    world.kick = () => {
      mortal.steps = Infinity;
      return new Promise(() => {});
    };
    const round = run(world, OPTIONS);
    await Promise.race([
      round,
      (async (): Promise<void> => {
        while (mortal.steps < Infinity) {
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
      })(),
    ]);
    stage.host.advance(1800);
  }
  const { kicks } = await readBooks(stage.state, stage.host);
  assertEquals([kicks.get("one")?.count, kicks.get("one")?.done], [0, false]);
  assertEquals((await stage.run()).kicked, 1);
  assertEquals(stage.launchd.starts, ["one"]);
});
