/** The two scripts as commands, from source and as the files people install. */
import { fromFileUrl } from "@std/path/from-file-url";
import { join } from "@std/path/join";

/** The folder of the repository. */
export const root = fromFileUrl(new URL("..", import.meta.url));

/** A script of the product. */
export type Script = "quota_guard" | "quota_catchup";

/** From source, or the single file that people install. */
export type Kind = "source" | "bundle";

/** Both kinds, for tests that have to hold for either. */
export const kinds: readonly Kind[] = ["source", "bundle"];

const installed = [
  "--no-config",
  "--no-remote",
  "--no-npm",
  "--no-prompt",
  "--quiet",
];

/**
 * The words that start a script, with the permissions of its first line.
 *
 * @param env gives the variables that stand in those permissions
 */
export function scriptCommand(
  script: Script,
  kind: Kind,
  env: Record<string, string>,
): [string, ...string[]] {
  const source = join(root, `${script}.ts`);
  const [shebang = ""] = Deno.readTextFileSync(source).split("\n", 1);
  const permissions = shebang.split(/\s+/)
    .filter((word) => /^(--(allow|deny)-|-[A-RT-Z])/.test(word))
    .map((word) =>
      word.replace(/\$\{?(\w+)\}?/g, (_, name) => env[name] ?? "")
        // By its path: this deno need not be the one on PATH.
        .replace(/(?<=^--allow-run=.*)\bdeno\b/, Deno.execPath())
    );
  const start: [string, ...string[]] = [Deno.execPath(), "run"];
  return kind === "source"
    ? [...start, "--quiet", "--no-prompt", ...permissions, source]
    : [...start, ...installed, ...permissions, bundle(script)];
}

/** The bundle of a script, made anew if a source is newer. */
function bundle(script: Script): string {
  const file = join(root, "dist", `${script}.js`);
  const newest = Math.max(
    modified(join(root, "quota_guard.ts")),
    modified(join(root, "quota_catchup.ts")),
    ...modules(join(root, "lib")).map(modified),
  );
  if (modified(file) <= newest) {
    const { success, stderr } = new Deno.Command(Deno.execPath(), {
      args: ["task", "--quiet", "bundle"],
      cwd: root,
      stdout: "null",
    }).outputSync();
    if (!success) throw new Error(new TextDecoder().decode(stderr));
  }
  return file;
}

function modules(folder: string): string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) => {
    const path = join(folder, name);
    return isDirectory ? modules(path) : [path];
  });
}

/** Milliseconds; 0 for a file that is not there. */
function modified(path: string): number {
  try {
    return Deno.statSync(path).mtime?.getTime() ?? 0;
  } catch {
    return 0;
  }
}
