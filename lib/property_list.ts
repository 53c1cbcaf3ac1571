// Property lists, plist(5): XML, binary and the old ASCII form. Loaded only when
// one is read, since the library is the largest part of the whole.

import { parse, parseBinary } from "plist";

/**
 * Reads a property list as Apple's reader would, which is laxer than XML.
 *
 * Where a value is no whole number (`<integer>*</integer>`) or is a
 * `<real>`, its text is returned: launchd takes neither for an integer, and a
 * JavaScript number could not tell 9.0 from 9.
 *
 * @param bytes The whole file
 * @throws With the parser's reason
 */
export function parsePropertyList(bytes: Uint8Array): unknown {
  if (asciiPrefix(bytes, 6) === "bplist") return parseBinary(bytes);
  const text = decode(bytes);
  return quietly(() => parse(/^\s*[{(]/.test(text) ? text : plainXml(text)));
}

function asciiPrefix(bytes: Uint8Array, length: number): string {
  return String.fromCharCode(...bytes.subarray(0, length));
}

/** Decodes by the mark at the start, else by what the XML declaration says. */
function decode(bytes: Uint8Array): string {
  const [first, second] = bytes;
  const fatal = { fatal: true };
  // A mark of UTF-16, or its first `<`.
  if ((first === 0xfe && second === 0xff) || (first === 0 && second === 0x3c)) {
    return new TextDecoder("utf-16be", fatal).decode(bytes);
  }
  if ((first === 0xff && second === 0xfe) || (first === 0x3c && second === 0)) {
    return new TextDecoder("utf-16le", fatal).decode(bytes);
  }
  const declared = /^[^>]*\bencoding\s*=\s*["']([\w-]+)["']/
    .exec(asciiPrefix(bytes, 200))?.[1];
  const eightBit = declared && !/^utf-?16/i.test(declared) ? declared : "utf-8";
  return new TextDecoder(eightBit, fatal).decode(bytes);
}

/**
 * Comments, character data, processing instructions and the document type. One
 * that is not closed reaches to the end, so that the search stays linear.
 */
const ASIDES = new RegExp(
  [
    /<!--[\s\S]*?(?:-->|$)/,
    /<!\[CDATA\[([\s\S]*?)(?:\]\]>|$)/,
    /<\?[\s\S]*?(?:\?>|$)/,
    /<!DOCTYPE[^>[]*(?:\[[^\]]*(?:\]\s*|$))?(?:>|$)/,
  ].map((aside) => aside.source).join("|"),
  "g",
);

/** Takes out all that XML is strict about and a property list has no use for. */
function plainXml(text: string): string {
  const bare = text
    .replace(
      ASIDES,
      (_aside, data?: string) => data === undefined ? "" : escape(data),
    )
    .replace(
      /<(integer|real)\b[^<>/]*>([^<]*)<\/\1\s*>/g,
      (_number, kind: string, digits: string) =>
        kind === "integer" ? integer(digits) : `<string>${digits}</string>`,
    );
  const start = bare.search(/<plist[\s>]/);
  if (start >= 0) return bare.slice(start);
  return bare.includes("<")
    ? `<plist>${bare.slice(bare.indexOf("<"))}</plist>`
    : bare;
}

function escape(data: string): string {
  return data.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

/** Decimal or hexadecimal, as CFPropertyList reads them; the library knows one. */
function integer(digits: string): string {
  const match = /^\s*([+-]?)(\d+|0x[\da-f]+)\s*$/i.exec(digits);
  if (!match) return `<string>${digits}</string>`;
  return `<integer>${match[1] === "-" ? "-" : ""}${Number(match[2])}</integer>`;
}

/** The XML parser underneath prints its complaints as well as throwing them. */
function quietly<T>(work: () => T): T {
  const { warn, error } = console;
  console.warn = console.error = (): void => {};
  try {
    return work();
  } finally {
    Object.assign(console, { warn, error });
  }
}
