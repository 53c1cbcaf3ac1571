import { WORD_LISTS } from "./wording.ts";

/** Compiled when first needed: a run that ends well needs none. */
const patterns = new Map<string, RegExp>();

function compiled(key: string, source: string, flags: string): RegExp {
  let pattern = patterns.get(key);
  if (pattern === undefined) {
    const filled = source.replace(
      /\{([a-z]+)\}/g,
      (_, name: string) => WORD_LISTS[name] ?? "",
    );
    pattern = new RegExp(spaced(filled), flags);
    patterns.set(key, pattern);
  }
  return pattern;
}

function spaced(source: string): string {
  return source.replaceAll(" ", "\\s");
}

/** Matches what a wording says where `lastIndex` points, up to the end of a word. */
export function startsWith(says: string): RegExp {
  return compiled(`start ${says}`, `(?:${says})(?!\\w)`, "iy");
}

/** Matches what a wording says anywhere in a text. */
export function anywhere(says: string): RegExp {
  return compiled(`any ${says}`, says, "i");
}

/** Matches a text that is what a wording says, and no more than a full stop. */
export function whole(says: string): RegExp {
  return compiled(`whole ${says}`, `^(?:${says})[.!]?$`, "i");
}

/** What a sticky pattern matches at a position; null if it does not. */
export function matchAt(
  pattern: RegExp,
  text: string,
  position: number,
): string | null {
  pattern.lastIndex = position;
  return pattern.exec(text)?.[0] ?? null;
}
