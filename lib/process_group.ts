// What a stopped job leaves behind in its process group. launchd sends the group
// SIGTERM when the job's main process dies, and no more: a child that ignores it
// lives on beside the next job. Deno signals a foreign process only with an
// unscoped permission, so ps(1) and kill(1) do it.

import type { Host } from "./host.ts";
import { type RunTool, toolRunner } from "./tool.ts";

/** ps and kill. */
export interface GroupTools {
  /** Lists processes. */
  ps: RunTool;
  /** Signals them. */
  kill: RunTool;
}

/** A process: its id alone is given to another one sooner or later. */
export interface Member {
  /** Its id. */
  pid: number;
  /** Time of its start, as ps shows it. */
  started: string;
}

const SECONDS = 10;
const PAUSE = 0.2;

/** The system's own ps and kill. */
export function groupTools(): GroupTools {
  return { ps: toolRunner("/bin/ps"), kill: toolRunner("/bin/kill") };
}

/**
 * The living processes of a group.
 *
 * @throws {Error} If ps does not tell.
 */
export async function groupMembers(
  tools: GroupTools,
  group: number,
): Promise<Member[]> {
  const columns = ["pid=", "pgid=", "stat=", "lstart="];
  const args = ["-A", ...columns.flatMap((column) => ["-o", column])];
  const { code, stdout, timedOut } = await tools.ps(args, SECONDS);
  if (timedOut || code !== 0) throw new Error("/bin/ps gives no answer");
  return stdout.split("\n").flatMap((line) => {
    const [, pid, pgid, stat, started = ""] =
      /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*\S)/.exec(line) ?? [];
    // A zombie has ended; only its parent has not looked yet.
    return Number(pgid) === group && !stat?.startsWith("Z")
      ? [{ pid: Number(pid), started }]
      : [];
  });
}

/**
 * Kills what is left of a group, after giving it time to end by itself, but only
 * if it is still that group: one of those who were in it is in it now. The
 * number of a group with members is not given away, so then all are its own.
 *
 * @param before Its members while its leader lived
 * @param grace Seconds until SIGKILL, and after it
 * @returns How many were killed, and how many live on all the same
 * @throws {Error} If ps or kill cannot be used.
 */
export async function killLeftovers(
  tools: GroupTools,
  host: Pick<Host, "monotonic" | "sleep">,
  group: number,
  before: readonly Member[],
  grace: number,
): Promise<{ killed: number; alive: number }> {
  const leftovers = async (): Promise<Member[]> => {
    const now = await groupMembers(tools, group);
    const known = now.some((one) =>
      before.some((b) => b.pid === one.pid && b.started === one.started)
    );
    return known ? now : [];
  };
  const wait = async (): Promise<Member[]> => {
    const deadline = host.monotonic() + grace;
    for (;;) {
      const left = await leftovers();
      if (left.length === 0 || host.monotonic() >= deadline) return left;
      await host.sleep(PAUSE);
    }
  };
  const left = await wait();
  if (left.length === 0) return { killed: 0, alive: 0 };
  await tools.kill(["-s", "KILL", "--", `-${group}`], SECONDS);
  const alive = (await wait()).length;
  return { killed: left.length - alive, alive };
}
