import { join } from "@std/path/join";
import type { Host } from "../host.ts";
import { pathEntries, realPath } from "../real_claude.ts";

/** Places whose files do not survive an upgrade or a clean-up. */
const PASSING: readonly [RegExp, string][] = [
  [/\/_npx\//, "npx's cache"],
  [/\/Cellar\//, "one version's folder of Homebrew"],
  [/\/fnm_multishells\//, "the folder of one shell of fnm"],
  [/\/(?:[Cc]aches?|\.cache)\//, "a cache"],
  [/^(?:\/private)?\/(?:tmp|var\/tmp|var\/folders)\//, "a temporary folder"],
  [/\/\.Trash\//, "the bin"],
];

/**
 * In words, the place in which a file will not last; null if it will. A path
 * in the user's home is judged from there on.
 */
export function passingPlace(path: string, env: Host["env"]): string | null {
  const home = env("HOME");
  const rest = home !== undefined && path.startsWith(`${home}/`)
    ? `~${path.slice(home.length)}`
    : path;
  return PASSING.find(([place]) => place.test(rest))?.[1] ?? null;
}

/** A path that lasts, or what is wrong and what to do. */
export type Stable = { path: string } | { problem: string };

/**
 * A path of this deno that survives upgrades, for property lists: the one it
 * was started by, else a link that leads to the same file.
 *
 * @param running As `Deno.execPath()` gives it
 */
export function stableInterpreter(running: string, env: Host["env"]): Stable {
  const place = passingPlace(running, env);
  if (place === null) return { path: running };
  const lasting = spellings(env).filter((path) =>
    passingPlace(path, env) === null && realPath(path) !== null
  );
  const same = lasting.find((path) => realPath(path) === realPath(running));
  if (same !== undefined) return { path: same };
  const [other] = lasting;
  return {
    problem: `"${running}" lies in ${place} and will vanish: ${
      other === undefined
        ? "install deno for good (npm install -g deno, or brew install deno) and run this with it"
        : `run this with ${other}`
    }`,
  };
}

/** Where a deno that lasts is looked for. */
function spellings(env: Host["env"]): string[] {
  const home = env("HOME");
  const own = home === undefined ? [] : [".deno/bin", ".local/bin"].map(
    (folder) => join(home, folder),
  );
  return [
    "/opt/homebrew/bin",
    "/usr/local/bin",
    ...own,
    ...pathEntries(env).filter((entry) => entry.startsWith("/")),
  ].map((folder) => join(folder, "deno"));
}
