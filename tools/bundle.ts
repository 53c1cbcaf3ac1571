/**
 * `deno task bundle [DIR]`: makes `quota_guard.js` and `quota_catchup.js` in
 * `dist/`, single files that need no configuration, no cache and no network.
 *
 * @module
 */
import { fromFileUrl } from "@std/path/from-file-url";
import { join } from "@std/path/join";
import { resolve } from "@std/path/resolve";
import { pack } from "./pack.ts";

const root = fromFileUrl(new URL("..", import.meta.url));
const folder = resolve(Deno.args[0] ?? join(root, "dist"));
const SCRIPTS = ["quota_guard", "quota_catchup"];
/** A `deno.json` or `package.json` above the file must not reach it. */
const ALONE = "--no-config --no-remote --no-npm";

/** With one other character in it, V8 would take two bytes for each. */
function inAscii(code: string): string {
  return code.replace(
    // deno-lint-ignore no-control-regex -- all of ASCII
    /[^\x00-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Names packages by themselves, not by where this machine keeps its cache. */
function withoutCachePaths(text: string): string {
  return text.replace(
    /^(\s*(?:\/\/ |"))[^"\n]*\/npm\/[\w.-]+\/(?=(?:@[\w.-]+\/)?[\w.-]+\/\d+\.\d+\.\d+\/)/gm,
    "$1npm:",
  );
}

async function denoBundle(...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    // Not --minify: it inlines what a `using` declares, so that a lock is never
    // given back.
    args: ["bundle", "--quiet", ...args],
    cwd: root,
    stdout: "null",
    stderr: "piped",
  }).output();
  if (!success) {
    throw new Error(
      `Cannot bundle ${args.at(-1)}: ${new TextDecoder().decode(stderr)}`,
    );
  }
}

async function packed(script: string): Promise<string> {
  const split = Deno.makeTempDirSync();
  try {
    await denoBundle("--code-splitting", "--outdir", split, `${script}.ts`);
    return await pack(
      split,
      `${script}.js`,
      (from, to, external) =>
        denoBundle(
          ...external.flatMap((file) => ["--external", file]),
          "--output",
          to,
          from,
        ),
    );
  } finally {
    Deno.removeSync(split, { recursive: true });
  }
}

async function bundle(script: string): Promise<string> {
  const text = withoutCachePaths(await packed(script));
  const file = join(folder, `${script}.js`);
  const [shebang = "", ...rest] = text.split("\n");
  if (!shebang.startsWith("#!") || !shebang.includes(" deno run ")) {
    throw new Error(`${file} does not start with the shebang of its source`);
  }
  const alone = shebang.replace(" deno run ", ` deno run ${ALONE} `);
  Deno.mkdirSync(folder, { recursive: true });
  await Deno.writeTextFile(file, inAscii([alone, ...rest].join("\n")));
  await Deno.chmod(file, 0o755);
  return file;
}

for (const script of SCRIPTS) console.log(await bundle(script));
