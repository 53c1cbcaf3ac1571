/** The text of a file; empty if it is not there. */
export function textOf(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch {
    return "";
  }
}

/** Whether there is something at a path. */
export function isThere(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}

/** Writes a shell script that can be run, and returns its path. */
export function executable(path: string, text: string): string {
  Deno.writeTextFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  return path;
}

/** A folder for one test, removed at the end of its block. */
export class TempFolder implements Disposable {
  readonly path = Deno.makeTempDirSync({ prefix: "quota test " });

  /** The names in it, sorted. */
  names(): string[] {
    return [...Deno.readDirSync(this.path)].map(({ name }) => name).sort();
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.path, { recursive: true });
  }
}
