/** How many updates of the state a second several writers get through. */
import { join } from "@std/path/join";
import { recordJob } from "../../lib/books.ts";
import { denoHost } from "../../lib/host.ts";
import { updateState } from "../../lib/state.ts";
import { beside, type Figure, median, output, PYTHON } from "./sample.ts";

const UPDATES = 1600;
/** Seconds for all writers to start. */
const LEAD = 3;

/** Updates a second of `writers` processes that begin at one time. */
async function rate(
  words: readonly string[],
  folder: string,
  writers: number,
): Promise<number> {
  const each = Math.ceil(UPDATES / writers);
  const at = Date.now() / 1000 + LEAD;
  const args = ["--update", String(each), "--at", String(at)];
  const spans = await Promise.all(
    Array.from(
      { length: writers },
      () => output([...words, ...args], { CLAUDE_QUOTA_DIR: folder }),
    ),
  );
  const times = spans.map((span) => span.trim().split(" ").map(Number));
  const begun = Math.min(...times.map(([begin = NaN]) => begin));
  const ended = Math.max(...times.map(([, end = NaN]) => end));
  return writers * each / (ended - begun);
}

/** Measures in a folder that is there for it. */
export async function updates(
  folder: string,
  rounds: number,
): Promise<Figure[]> {
  const figures: Figure[] = [];
  const own = [Deno.execPath(), "run", "--quiet", "-A", beside("updates.ts")];
  const python = [PYTHON, beside("wrapper.py")];
  for (const writers of [1, 8, 32]) {
    const pairs: [number, number][] = [];
    for (let round = 0; round < rounds; round++) {
      pairs.push([
        await rate(own, join(folder, "own"), writers),
        await rate(python, join(folder, "python"), writers),
      ]);
    }
    const perSecond = median(pairs.map(([mine]) => mine));
    figures.push({
      group: "state",
      name: `updates a second, ${writers} at once`,
      yardstick: "Python",
      ratio: median(pairs.map(([mine, other]) => mine / other)),
      cpu: null,
      goal: null,
      value: `${perSecond.toFixed(0)}/s`,
    });
  }
  return figures;
}

/** One writer: `--update N --at EPOCH`. */
async function write(count: number, at: number): Promise<void> {
  const host = denoHost();
  const folder = host.env("CLAUDE_QUOTA_DIR") ?? "";
  await host.sleep(Math.max(0, at - host.now()));
  const begun = host.now();
  for (let i = 0; i < count; i++) {
    const { done } = await updateState(folder, host, ({ books }) => ({
      books: recordJob(books, `job-${Deno.pid}`, {
        outcome: "ran",
        ts: i,
        exit: 0,
        reason: null,
        ending: null,
        calls: 0,
        seconds: 0,
        owed_from: null,
      }),
      result: null,
    }), 60);
    if (!done) throw new Error("An update failed");
  }
  console.log(begun, host.now());
}

if (import.meta.main) {
  await write(Number(Deno.args[1]), Number(Deno.args[3]));
}
