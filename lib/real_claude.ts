import { dirname } from "@std/path/dirname";
import type { Host } from "./host.ts";
import { ENV } from "./settings.ts";

/** What a job's PATH is under launchd, launchd.plist(5). */
export const LAUNCHD_PATH = "/usr/bin:/bin:/usr/sbin:/sbin";

const HOME_PLACES = [".local/bin/claude", ".claude/local/claude"];
const SYSTEM_PLACES = ["/opt/homebrew/bin/claude", "/usr/local/bin/claude"];
/** A script that names the guard leads back to it; a folder may be called so. */
const GUARD_NAME =
  /(?:claude-quota-guard|quota_guard|quota-guard)(?![^\s"']*\/)/;

/** The entries of PATH. */
export function pathEntries(env: Host["env"]): string[] {
  return entriesOf(env("PATH") ?? LAUNCHD_PATH);
}

function entriesOf(path: string): string[] {
  return path.split(":").filter((entry) => entry !== "");
}

/** The path behind all links; null if that is not there or not to be seen. */
export function realPath(path: string): string | null {
  try {
    return Deno.realPathSync(path);
  } catch {
    return null;
  }
}

/** True if `path` is a script of the guard's: its shim, the guard itself, or a wrapper that calls either. */
function leadsToGuard(path: string, own: readonly string[]): boolean {
  const real = realPath(path);
  if (own.some((mine) => mine === path || realPath(mine) === real)) return true;
  const head = new Uint8Array(4096);
  try {
    using file = Deno.openSync(path, { read: true });
    const size = file.readSync(head) ?? 0;
    const text = new TextDecoder().decode(head.subarray(0, size));
    return text.startsWith("#!") && GUARD_NAME.test(text);
  } catch {
    return false;
  }
}

function isExecutable(path: string): boolean {
  try {
    const info = Deno.statSync(path);
    return info.isFile && (info.mode === null || (info.mode & 0o111) !== 0);
  } catch {
    return false;
  }
}

/** Variables that may name claude, in the order in which they count. */
const NAMES = [ENV.realClaude, "CLAUDE_BIN", "CLAUDE"];

/** Does a variable name a claude, be it in vain? */
export function namesClaude(env: Host["env"]): boolean {
  return NAMES.some((name) => env(name) !== undefined);
}

/**
 * The PATH on which a call looks for claude first: that of the guard around its
 * job. A login shell in between may rebuild PATH.
 */
export function searchPath(env: Host["env"]): string {
  return env(ENV.path) ?? pathEntries(env).join(":");
}

/**
 * The claude that a variable names; null if none does, or but the guard.
 *
 * @param own Paths of the shim and of the guard's script
 */
function claudeFromEnvironment(
  env: Host["env"],
  own: readonly string[],
): string | null {
  for (const name of NAMES) {
    const path = env(name);
    if (
      path !== undefined && path.includes("/") && isExecutable(path) &&
      !leadsToGuard(path, own)
    ) return path;
  }
  return null;
}

/**
 * The real claude: `CLAUDE_REAL_BIN`, else a `CLAUDE_BIN` or `CLAUDE` that is
 * not the guard, else {@linkcode searchPath} without the guard, else where
 * installers put it, else PATH. Null if there is none.
 */
export function findRealClaude(
  env: Host["env"],
  own: readonly string[],
): string | null {
  const named = claudeFromEnvironment(env, own);
  if (named !== null) return named;
  const home = env("HOME");
  const places = [
    ...entriesOf(searchPath(env)).map((entry) => `${entry}/claude`),
    ...(home === undefined ? [] : HOME_PLACES.map((rest) => `${home}/${rest}`)),
    ...SYSTEM_PLACES,
    ...pathEntries(env).map((entry) => `${entry}/claude`),
  ];
  return places.find((path) =>
    isExecutable(path) && !leadsToGuard(path, own)
  ) ??
    null;
}

/**
 * PATH for a call: claude's own folder and that of its real path come last,
 * since npm's claude starts with `#!/usr/bin/env node`.
 */
export function callPath(env: Host["env"], claude: string): string {
  const entries = pathEntries(env);
  for (const path of [claude, realPath(claude) ?? claude]) {
    const folder = dirname(path);
    if (!entries.includes(folder)) entries.push(folder);
  }
  return entries.join(":");
}
