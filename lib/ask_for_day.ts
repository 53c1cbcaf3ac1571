import { dirname } from "@std/path/dirname";
import { join } from "@std/path/join";
import type { Guard } from "./guard.ts";
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

function catchupCommand(self: Guard["self"]): [string, ...string[]] {
  if (self.script === null) {
    return [join(dirname(self.interpreter), "quota_catchup")];
  }
  const ending = self.script.slice(self.script.lastIndexOf("."));
  const alone = ending === ".ts"
    ? []
    : ["--no-config", "--no-remote", "--no-npm"];
  return [
    self.interpreter,
    "run",
    ...alone,
    "--no-prompt",
    "--quiet",
    "--allow-read",
    "--allow-env",
    "--allow-sys=uid",
    join(dirname(self.script), `quota_catchup${ending}`),
  ];
}
