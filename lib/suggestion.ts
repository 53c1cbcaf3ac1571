import { closestString } from "@std/text/closest-string";
import { UnknownFlagError, type UsageError } from "./usage.ts";

/** The words of a usage error, with the nearest flag where one was mistyped. */
export function withSuggestion(error: UsageError): string {
  if (!(error instanceof UnknownFlagError)) return error.message;
  const nearest = closestString(error.flag, error.known);
  return `${error.message}; did you mean ${nearest}?`;
}
