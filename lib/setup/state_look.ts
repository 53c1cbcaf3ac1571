// Looking at a state folder without putting it right, as the guard would.

import { join } from "@std/path/join";
import { type Books, emptyBooks } from "../books.ts";
import { isFields } from "../lenient.ts";
import { reasonOf } from "../reason.ts";
import { readBooks } from "../state.ts";
import type { SetupWorld } from "./setup_world.ts";

/** What is wrong with a file of JSON, in words; null if it is fine or not there. */
export function jsonProblem(path: string): string | null {
  try {
    const json: unknown = JSON.parse(Deno.readTextFileSync(path));
    return isFields(json) ? null : "is no JSON object";
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    return error instanceof SyntaxError
      ? "is no JSON"
      : `cannot be read: ${reasonOf(error)}`;
  }
}

/** The books in a state folder; empty if they are not there or bad. */
export async function booksOf(
  world: SetupWorld,
  folder: string,
): Promise<Books> {
  return jsonProblem(join(folder, "jobs.json")) === null
    ? await readBooks(folder, world.host)
    : emptyBooks();
}
