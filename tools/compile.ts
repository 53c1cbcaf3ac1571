/**
 * `deno task compile [TARGET...]`: makes single binaries of the bundles in
 * `dist/TARGET/`, by default for this machine and for Macs of both kinds. Read,
 * write and run are unscoped in them, since a path of this machine would be
 * wrong on another one; there is no network.
 *
 * Deno fetches its runtime for a target from dl.deno.land when that is compiled
 * for the first time. `DENORT_BIN` names a file to take instead.
 *
 * @module
 */
import { fromFileUrl } from "@std/path/from-file-url";
import { join } from "@std/path/join";

const root = fromFileUrl(new URL("..", import.meta.url));
const SCRIPTS = { quota_guard: [], quota_catchup: ["--allow-sys=uid"] };
const PERMISSIONS = [
  "--no-prompt",
  "--allow-read",
  "--allow-write",
  "--allow-run",
  "--allow-env",
];
const MACS = ["aarch64-apple-darwin", "x86_64-apple-darwin"];

async function compile(
  script: string,
  own: readonly string[],
  target: string,
): Promise<string> {
  const file = join(root, "dist", target, script);
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["compile", "--quiet", "--no-config", "--no-remote", "--no-npm"],
      ...PERMISSIONS,
      ...own,
      ...["--target", target, "--output", file],
      join(root, "dist", `${script}.js`),
    ],
    env: { NO_COLOR: "1" },
    stdout: "null",
    stderr: "piped",
  }).output();
  if (!success) {
    const why = new TextDecoder().decode(stderr);
    throw new Error(
      `Cannot compile ${script} for ${target}; the runtime comes from dl.deno.land, or from the file that DENORT_BIN names: ${why}`,
    );
  }
  return file;
}

const given = Deno.args.length > 0
  ? Deno.args
  : new Set([Deno.build.target, ...MACS]);
for (const target of given) {
  try {
    for (const [script, own] of Object.entries(SCRIPTS)) {
      console.log(await compile(script, own, target));
    }
  } catch (error) {
    Deno.exitCode = 1;
    console.error(error instanceof Error ? error.message : error);
  }
}
