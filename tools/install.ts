/**
 * `deno task install [DIR]`: puts the bundles into DIR (`~/.local/bin`), makes
 * the state folder, and says what to do next.
 *
 * @module
 */
import { ensureDir } from "@std/fs/ensure-dir";
import { fromFileUrl } from "@std/path/from-file-url";
import { join } from "@std/path/join";
import { resolve } from "@std/path/resolve";
import { replaceFile } from "../lib/atomic_file.ts";
import { denoHost } from "../lib/host.ts";
import { pathEntries } from "../lib/real_claude.ts";
import { stableInterpreter } from "../lib/setup/interpreter.ts";
import { ensureFolder, stateFolder } from "../lib/state_folder.ts";

const root = fromFileUrl(new URL("..", import.meta.url));
const FILES = ["quota_guard.js", "quota_catchup.js"];

const host = denoHost();
const home = host.env("HOME");
const given = Deno.args[0];
if (given === undefined && home === undefined) {
  console.error("HOME is not set: say where, as in deno task install DIR");
  Deno.exit(2);
}
const folder = resolve(given ?? join(home ?? "", ".local", "bin"));
await ensureDir(folder);
for (const name of FILES) {
  const bytes = await Deno.readFile(join(root, "dist", name));
  replaceFile(join(folder, name), bytes, { mode: 0o755, sync: true });
  console.log(`installed ${join(folder, name)}`);
}
const state = stateFolder(host.env);
ensureFolder(state, host);
console.log(`state folder ${state}`);
const interpreter = stableInterpreter(Deno.execPath(), host.env);
console.log(
  "path" in interpreter
    ? `interpreter ${interpreter.path}`
    : `interpreter ${interpreter.problem}`,
);
const onPath = pathEntries(host.env).includes(folder);
const catchup = onPath ? "quota_catchup.js" : join(folder, "quota_catchup.js");
console.log(`
Next:
  ${catchup} --wrap --all      put the guard in front of your jobs
  ${catchup} --install         let launchd start the catch-up
  ${catchup} --doctor          see whether all is well`);
