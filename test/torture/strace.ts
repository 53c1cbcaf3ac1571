/** strace(1): which system calls a script makes, and what becomes of it if one fails or kills it. */
import { join } from "@std/path/join";
import { type Finished, type Home } from "../harness.ts";
import { textOf } from "../files.ts";
import { runBounded } from "./run.ts";

/** The n-th call of that name, counted from 1. */
export interface SystemCall {
  name: string;
  n: number;
  /** As strace shows it, paths of descriptors too. */
  line: string;
}

/** What happens at a call: a signal comes before it, or it fails. */
export type Injection = `signal=${Deno.Signal}` | `error=${string}`;

/** Is strace there, and may it trace? */
export function canTrace(): boolean {
  try {
    return new Deno.Command("strace", {
      args: ["-qq", "-o", "/dev/null", "true"],
      stdout: "null",
      stderr: "null",
    }).outputSync().success;
  } catch {
    return false;
  }
}

/**
 * The words in front of a command that trace its first thread, which does all
 * that the scripts do to files. Children are not traced.
 */
export function straceWords(
  log: string,
  inject: { call: SystemCall; what: Injection } | null,
): string[] {
  const expression = inject === null ? [] : [
    "-e",
    `inject=${inject.call.name}:${inject.what}:when=${inject.call.n}`,
  ];
  return ["strace", "-qq", "-y", "-o", log, ...expression];
}

/** The log of a trace as calls. */
export function parseTrace(text: string): SystemCall[] {
  const counts = new Map<string, number>();
  return text.split("\n").flatMap((line) => {
    const name = /^(\w+)\(/.exec(line)?.[1];
    if (name === undefined) return [];
    const n = (counts.get(name) ?? 0) + 1;
    counts.set(name, n);
    return [{ name, n, line }];
  });
}

/** Runs a command under strace to its end. */
export async function trace(
  home: Home,
  words: readonly string[],
): Promise<{ calls: SystemCall[]; run: Finished }> {
  const log = join(home.path, "trace");
  const run = await runBounded(home, [...straceWords(log, null), ...words]);
  return { calls: parseTrace(textOf(log)), run };
}

// Names on different processors and in different C libraries.
const CHANGES =
  /^(open(at2?)?|creat|mkdir(at)?|p?write(v|64)?|rename(at2?)?|unlink(at)?|rmdir|f(data)?sync|flock|ftruncate|f?chmod(at2?)?|close)$/;

/** The calls before which a kill may matter: those that change what is on disk, the marker, the start of the child, and the end. */
export function stopPoints(
  calls: readonly SystemCall[],
  ...folders: string[]
): SystemCall[] {
  const first = calls.findIndex(({ line }) => touches(line, folders));
  return calls.slice(Math.max(first, 0)).filter(({ name, line }) =>
    (CHANGES.test(name) && touches(line, folders)) ||
    /^write\([12]</.test(line) || /^(vfork|clone3?|fork|exit_group)$/.test(name)
  );
}

/**
 * Did a fault hit a call that touches the folders? Deno wakes its threads by
 * writes too, and not always by as many.
 */
export function hasHit(log: string, ...folders: string[]): boolean {
  return log.split("\n").some((line) =>
    line.endsWith("(INJECTED)") && touches(line, folders)
  );
}

/** All calls that touch the folders or something in them. */
export function touching(
  calls: readonly SystemCall[],
  ...folders: string[]
): SystemCall[] {
  return calls.filter(({ name, line }) =>
    name !== "execve" && touches(line, folders)
  );
}

function touches(line: string, folders: readonly string[]): boolean {
  return folders.flatMap((folder) => [
    `"${folder}"`,
    `"${folder}/`,
    `<${folder}>`,
    `<${folder}/`,
  ]).some((form) => line.includes(form));
}
