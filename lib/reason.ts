/** The words of an error, without its class. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
