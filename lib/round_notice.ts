import { guardBeside } from "./catchup_probe.ts";
import type { KickNote } from "./catchup_world.ts";
import type { Host } from "./host.ts";
import { notifier } from "./notice.ts";
import { reasonOf } from "./reason.ts";
import { guardCommand, type Self } from "./shim.ts";
import { endWithin } from "./tool.ts";

/** A little more than the guard gives a notifier. */
const SECONDS = 20;

/** The notice of a round: what it started, and what became of it. */
export function roundNotice(kicks: readonly KickNote[]): string {
  const [well, badly] = [true, false].map((fine) =>
    kicks.filter((kick) => (kick.exit === 0) === fine)
  );
  return `claude: ${
    [
      ...(well?.length
        ? [`caught up ${well.map(({ label }) => label).join(", ")}`]
        : []),
      ...(badly?.length
        ? [
          `in vain ${
            badly.map(({ label, outcome }) => `${label} (${outcome})`)
              .join(", ")
          }`,
        ]
        : []),
    ].join("; ")
  }`;
}

/**
 * Sends the notice of a round, through the guard: the catch-up itself may start
 * nothing else.
 *
 * @returns What went wrong, in words; null if nothing did
 */
export async function sendRoundNotice(
  { host, self, folder }: { host: Host; self: Self; folder: string },
  kicks: readonly KickNote[],
): Promise<string | null> {
  if (notifier(host, folder) === null) return null;
  const guard = guardBeside(self, host.env);
  const [program, ...args] = guardCommand(guard, folder);
  // Under a scoped permission none of these may be handed on.
  const env = Object.fromEntries(
    Object.entries(Deno.env.toObject())
      .filter(([name]) => !/^(LD|DYLD)_/.test(name)),
  );
  try {
    const child = new Deno.Command(program, {
      args: [...args, `--notify=${roundNotice(kicks)}`],
      env,
      clearEnv: true,
      stdin: "null",
      stdout: "null",
      stderr: "inherit",
    }).spawn();
    const { code } = await endWithin(child, SECONDS);
    return code === 0 ? null : "the notice of this round was not delivered";
  } catch (error) {
    return `the notice of this round was not delivered: ${reasonOf(error)}`;
  }
}
