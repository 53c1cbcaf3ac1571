/** Whether a file is there, and for this script to see; a link counts as what it leads to. */
export function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}
