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
import { ensureFolder, stateFolder } from "../lib/state.ts";

const root = fromFileUrl(new URL("..", import.meta.url));
const FILES = ["quota_guard.js", "quota_catchup.js"];
/** Interpreters under these do not survive an upgrade or a clean-up. */
const PASSING = /\/_npx\/|\/Cellar\/|\/[Cc]aches?\/|\/\.cache\/|\/tmp\//;

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
const interpreter = Deno.execPath();
console.log(
  PASSING.test(interpreter)
    ? `\nThis deno (${interpreter}) may vanish. Plists need one that stays, such as
/opt/homebrew/bin/deno or ~/.deno/bin/deno: npm install -g deno@2.9.6`
    : `interpreter ${interpreter}`,
);
console.log(`
Next: put the guard in front of a job in its plist (README, "Two plists to copy"):
  deno run --no-config --no-remote --no-npm --no-prompt --quiet
    --allow-read --allow-write=${state} --allow-run --allow-env
    ${join(folder, "quota_guard.js")} --job LABEL -- COMMAND ...`);
