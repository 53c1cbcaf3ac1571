/** Each system call that touches the state fails once, in each way that it may. */
import { textOf } from "../files.ts";
import { GuardScene, type Way } from "./guard_scene.ts";
import { inParallel, spread } from "./pool.ts";
import type { Section } from "./report.ts";
import {
  canTrace,
  hasHit,
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

/** Lets each call of these ways fail, or a few. */
export async function failCalls(
  section: Section,
  ways: readonly Way[],
  most: number,
): Promise<void> {
  if (!canTrace()) return section.skip("faults at every call: no strace");
  for (const way of ways) {
    const faults = spread(await faultsOf(way), most);
    await inParallel(
      faults,
      ({ call, error }) =>
        section.case(`${way.name}, ${error} at ${call.line}`, async () => {
          for (const more of OFFSETS) {
            await using scene = new GuardScene(way);
            const run = await scene.run({
              call: { ...call, n: Math.max(1, call.n + more) },
              what: `error=${error}`,
            });
            if (!hasHit(textOf(scene.log), scene.home.state)) continue;
            return await scene.checkFault(run);
          }
          throw new Error("the call was not met");
        }),
    );
  }
}

async function faultsOf(way: Way): Promise<Fault[]> {
  await using scene = new GuardScene(way);
  await scene.run(null);
  const calls = touching(parseTrace(textOf(scene.log)), scene.home.state);
  return calls.flatMap((call) =>
    errorsOf(call).map((error) => ({ call, error }))
  );
}
