/** Each system call that touches the state fails once, in each way that it may. */
import { textOf } from "../files.ts";
import type { Finished } from "../harness.ts";
import { BatchScene } from "./batch_scene.ts";
import { CatchupScene } from "./catchup_scene.ts";
import { GuardScene, type Way } from "./guard_scene.ts";
import { inParallel, spread } from "./pool.ts";
import type { Section } from "./report.ts";
import {
  canTrace,
  hasHit,
  type Injection,
  parseTrace,
  type SystemCall,
  touching,
} from "./strace.ts";

/** Until the call is met: how many others come before it may vary. */
const OFFSETS = [0, 0, 1, -1, 2, -2, 3, -3];

/** A call that fails. */
interface Fault {
  call: SystemCall;
  error: string;
}

/**
 * How a call may fail; what only looks cannot meet a full disk. A close that fails
 * is left out: strace leaves the file open then, which no kernel does.
 */
function errorsOf({ name, line }: SystemCall): string[] {
  const makes = /O_CREAT|O_WRONLY|O_RDWR/.test(line);
  switch (name.replace(/at2?$|64$/, "")) {
    case "open":
      return [
        ...["EACCES", "EIO", "EMFILE"],
        ...(makes ? ["EROFS", "ENOSPC", "EINTR"] : []),
      ];
    case "write":
      return ["ENOSPC", "EIO", "EINTR"];
    case "mkdir":
    case "rename":
      return ["EACCES", "EIO", "ENOSPC", "EROFS"];
    case "unlink":
    case "chmod":
      return ["EACCES", "EIO", "EROFS"];
    case "fsync":
      return ["EIO", "ENOSPC", "EINTR"];
    case "flock":
      return ["EINTR", "EIO", "ENOLCK"];
    // Deno follows links in each path by itself, to see what is permitted.
    case "readlink":
    case "close":
      return [];
    case "read":
    case "getdents":
      return ["EIO", "EINTR"];
    default:
      return ["EIO"];
  }
}

/** What a fault is tried on. */
interface Scene extends AsyncDisposable {
  /** The trace of its last run. */
  readonly log: string;
  /** Those that matter. */
  readonly folders: readonly string[];
  run(
    harm: { call: SystemCall; what: Injection } | null,
  ): Promise<Finished>;
  checkFault(run: Finished): Promise<void>;
}

/** Lets each call of these ways fail, or a few; then those of the catch-up and the batch. */
export async function failCalls(
  section: Section,
  ways: readonly Way[],
  most: { calls: number; batch: number; rounds: number },
): Promise<void> {
  if (!canTrace()) return section.skip("faults at every call: no strace");
  for (const way of ways) {
    await failEach(
      section,
      way.name,
      () => Promise.resolve(new GuardScene(way)),
      most.calls,
    );
  }
  await failEach(
    section,
    "batch",
    () => Promise.resolve(new BatchScene()),
    most.batch,
  );
  await failEach(section, "catch-up", async () => {
    const scene = new CatchupScene();
    await scene.prepare();
    return scene;
  }, most.rounds);
}

async function failEach(
  section: Section,
  name: string,
  make: () => Promise<Scene>,
  most: number,
): Promise<void> {
  const faults = spread(await faultsOf(make), most);
  await inParallel(
    faults,
    ({ call, error }) =>
      section.case(`${name}, ${error} at ${call.line}`, async () => {
        for (const more of OFFSETS) {
          await using scene = await make();
          const run = await scene.run({
            call: { ...call, n: Math.max(1, call.n + more) },
            what: `error=${error}`,
          });
          if (!hasHit(textOf(scene.log), ...scene.folders)) continue;
          return await scene.checkFault(run);
        }
        // How often a round looks at something depends on how long its jobs take.
        if (name === "catch-up") return section.miss(call.line);
        throw new Error("the call was not met");
      }),
  );
}

async function faultsOf(make: () => Promise<Scene>): Promise<Fault[]> {
  await using scene = await make();
  await scene.run(null);
  const calls = touching(parseTrace(textOf(scene.log)), ...scene.folders);
  return calls.flatMap((call) =>
    errorsOf(call).map((error) => ({ call, error }))
  );
}
