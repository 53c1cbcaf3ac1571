/**
 * One run of the batch under a cap: `attempt.ts FOLDER LOGS CAP WORD...`, the
 * words being those of the batch up to its command. Its charges go to a log of
 * its own. Exit code 9 if the cap stopped it.
 */
import { fromFileUrl } from "@std/path/from-file-url";
import { join } from "@std/path/join";
import { CHARGES, Meter } from "./charges.ts";

const [folder = "", logs = "", cap = "", ...words] = Deno.args;
const log = join(logs, `${Deno.pid}.log`);
const [program = "", ...args] = words;
const worker = fromFileUrl(new URL("worker.ts", import.meta.url));
const meter = new Meter(log, Number(cap), () => Deno.exit(9));
const { code } = await new Deno.Command(program, {
  args: args.concat(
    ["--into", folder, "--", Deno.execPath(), "run", "--quiet", "-A", worker],
    ["run", log, cap, "200000"],
  ),
  stdin: "null",
  stdout: "null",
  stderr: "null",
}).output();
// The last item is committed by now, unless it was all done before.
if (code === 0 && meter.used) meter.charge(CHARGES.committed);
Deno.exit(code === 137 ? 9 : code);
