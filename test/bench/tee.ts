/** How fast a call's output passes through. */
import { join } from "@std/path/join";
import { executable } from "../files.ts";
import { scriptCommand } from "../script.ts";
import { type Figure, median, ratio, sample } from "./sample.ts";

const MEBIBYTES = 1024;

/** Measures in a folder that is there for it. */
export async function tee(folder: string, rounds: number): Promise<Figure[]> {
  const file = join(folder, "output");
  {
    using output = Deno.openSync(file, { write: true, create: true });
    const block = crypto.getRandomValues(new Uint8Array(65_536));
    for (let i = 0; i < MEBIBYTES * 16; i++) output.writeSync(block);
  }
  const claude = executable(join(folder, "cat"), `exec cat '${file}'`);
  const samples = await sample({
    pipe: {
      words: ["sh", "-c", `cat '${file}' | tee /dev/null | tail -c 65536`],
    },
    guard: {
      words: [
        ...scriptCommand("quota_guard", "bundle", {}),
        ...["--claude", "--", "-p", "x"],
      ],
      env: {
        CLAUDE_QUOTA_DIR: join(folder, "state"),
        CLAUDE_REAL_BIN: claude,
      },
    },
  }, rounds);
  Deno.removeSync(file);
  const { pipe, guard } = samples;
  const seconds = median(guard.map(({ wall }) => wall));
  return [{
    group: "tee",
    name: "throughput of a call, 1 GiB",
    yardstick: "tee and tail -c 65536",
    ratio: ratio(pipe, guard, ({ wall }) => wall),
    cpu: ratio(pipe, guard, ({ cpu }) => cpu),
    goal: ">= 0.8",
    value: `${(MEBIBYTES / 1024 / seconds).toFixed(2)} GiB/s`,
  }];
}
