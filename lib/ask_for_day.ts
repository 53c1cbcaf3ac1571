import { dirname } from "@std/path/dirname";
import { join } from "@std/path/join";
import type { Guard } from "./guard.ts";
import { type Self, startCommand } from "./shim.ts";
import { endWithin } from "./tool.ts";

/** Far more than a look takes: a status that never comes is of no use. */
const SECONDS = 15;

/**
 * The day of each job, asked of the catch-up beside the guard: it is the one
 * that reads plists, and what reads them would weigh on each start of the guard.
 *
 * @param args After `--day`
 * @returns What it printed; null if it is not there or fails
 */
export async function askForDay(
  { self }: Guard,
  args: readonly string[],
): Promise<string | null> {
  const [program, ...words] = catchupCommand(self);
  try {
    const child = new Deno.Command(program, {
      args: [...words, "--day", ...args],
      stdin: "null",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const [{ code }, text] = await Promise.all([
      endWithin(child, SECONDS),
      new Response(child.stdout).text(),
    ]);
    return code === 0 ? text.trimEnd() : null;
  } catch {
    return null; // the books alone are shown then
  }
}

function catchupCommand({ interpreter, script }: Self): [string, ...string[]] {
  const beside = (path: string, ending = ""): string =>
    join(dirname(path), `quota_catchup${ending}`);
  const catchup: Self = script === null
    ? { interpreter: beside(interpreter), script }
    : {
      interpreter,
      script: beside(script, script.slice(script.lastIndexOf("."))),
    };
  return startCommand(catchup, [
    "--allow-read",
    "--allow-env",
    "--allow-sys=uid",
  ]);
}
