import { dirname } from "@std/path/dirname";
import { join } from "@std/path/join";
import { replaceFile, TEMP_SUFFIX } from "./atomic_file.ts";
import type { Host } from "./host.ts";
import { ensureFolder, ensureOwnFolder } from "./state_folder.ts";

/** How this very guard was started, for starting it again. */
export interface Self {
  /** Absolute path of deno, or of the compiled guard. */
  interpreter: string;
  /** Absolute path of the script; null if it is compiled in. */
  script: string | null;
}

/** Seconds. */
const LONGEST_WRITE = 60;

/** Path of the shim in a state folder. */
export function shimPath(folder: string): string {
  return join(folder, "bin", "claude");
}

/**
 * The command that starts the guard again, by absolute paths: launchd's PATH
 * finds no deno.
 */
export function guardCommand(
  self: Self,
  folder: string,
): [string, ...string[]] {
  // A comma always ends a path there.
  const write = folder.includes(",") ? "" : `=${folder}`;
  return startCommand(self, [
    "--allow-read",
    `--allow-write${write}`,
    "--allow-run",
    "--allow-env",
  ]);
}

/**
 * The command that starts a script of the product. A bundle needs no
 * configuration, and one above it must not reach it.
 *
 * @param permissions Flags of deno; compiled in where there is no script
 */
export function startCommand(
  { interpreter, script }: Self,
  permissions: readonly string[],
): [string, ...string[]] {
  if (script === null) return [interpreter];
  const alone = script.endsWith(".ts")
    ? []
    : ["--no-config", "--no-remote", "--no-npm"];
  const flags = ["run", ...alone, "--no-prompt", "--quiet", ...permissions];
  return [interpreter, ...flags, script];
}

/** A word as sh(1) reads it back. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** The shim's text: a `claude` that goes through the guard. */
export function shimText(self: Self, folder: string): string {
  const words = guardCommand(self, folder).map(quoted).join(" ");
  return [
    "#!/bin/sh",
    "# claude through quota_guard; written anew when stale",
    // Else Deno itself asks the network for a newer one, once a day.
    "export DENO_NO_UPDATE_CHECK=1",
    `exec ${words} --claude -- "$@"\n`,
  ].join("\n");
}

/**
 * Writes the shim if it is missing or stale.
 *
 * @returns Its path
 * @throws {Error} If it cannot be written.
 */
export function ensureShim(self: Self, folder: string, host: Host): string {
  const path = shimPath(folder);
  const text = shimText(self, folder);
  try {
    const mode = Deno.statSync(path).mode ?? 0o700;
    if (Deno.readTextFileSync(path) === text && (mode & 0o111) !== 0) {
      return path;
    }
  } catch {
    // Missing or unreadable: written below.
  }
  ensureFolder(folder, host);
  ensureOwnFolder(join(folder, "bin"), host);
  replaceFile(path, text, { mode: 0o700 });
  sweepOldLeftovers(dirname(path), host);
  return path;
}

/** Written without the lock: a young temporary file may have a living writer. */
function sweepOldLeftovers(bin: string, host: Host): void {
  for (const { name } of Deno.readDirSync(bin)) {
    if (!name.endsWith(TEMP_SUFFIX)) continue;
    const path = join(bin, name);
    try {
      const modified = Deno.statSync(path).mtime?.getTime() ?? 0;
      if (modified / 1000 < host.now() - LONGEST_WRITE) Deno.removeSync(path);
    } catch {
      // Its writer has just finished it, or another guard was faster.
    }
  }
}
