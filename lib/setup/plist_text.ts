// The text of XML property lists, plist(5), for changes that leave everything
// else as it is: comments, order, indentation, encoding. Pure.

/** A property list as text that can go back into the bytes it came from. */
export interface PlistText {
  /** The whole text, with its byte order mark if it has one. */
  text: string;
  /** The bytes of a text, in the encoding of the file. */
  encode(text: string): Uint8Array;
  /** Character data as it may stand in that text. */
  escape(data: string): string;
  /** A text of this file as people read it. */
  show(text: string): string;
}

/** An element: where it stands in the text, and what is in it. */
export interface PlistNode {
  /** Its name. */
  tag: string;
  /** Where its opening tag begins. */
  start: number;
  /** Where its opening tag ends. */
  openEnd: number;
  /** Where its closing tag begins; equal to `openEnd` in `<array/>`. */
  closeStart: number;
  /** Where its closing tag ends. */
  end: number;
  /** The elements in it, in their order; comments are none. */
  children: PlistNode[];
}

/** A key of a dictionary with its value. */
export interface PlistEntry {
  /** The key's text. */
  name: string;
  /** The element `<key>`. */
  key: PlistNode;
  /** The element after it. */
  value: PlistNode;
}

/**
 * Reads a file so that an unchanged text encodes to the same bytes.
 *
 * UTF-8 and UTF-16, with and without a byte order mark, are decoded. Any other
 * encoding is taken byte by byte, since the markup is ASCII in all of them, and
 * what is added to it is written in ASCII.
 *
 * @throws {TypeError} If the bytes are not what their encoding demands.
 */
export function decodePlist(bytes: Uint8Array): PlistText {
  const [first, second] = bytes;
  const options = { fatal: true, ignoreBOM: true };
  const big = (first === 0xfe && second === 0xff) ||
    (first === 0 && second === 0x3c);
  const little = (first === 0xff && second === 0xfe) ||
    (first === 0x3c && second === 0);
  if (big || little) {
    const decoder = new TextDecoder(big ? "utf-16be" : "utf-16le", options);
    return {
      text: decoder.decode(bytes),
      encode: (text) => encodeUtf16(text, big),
      escape: escapeMarkup,
      show: withoutMark,
    };
  }
  const head = String.fromCharCode(...bytes.subarray(0, 200));
  const declared = /^[^>]*\bencoding\s*=\s*["']([\w-]+)["']/.exec(head)?.[1] ??
    "utf-8";
  if (/^utf-?(8|16)$/i.test(declared)) {
    return {
      text: new TextDecoder("utf-8", options).decode(bytes),
      encode: (text) => new TextEncoder().encode(text),
      escape: escapeMarkup,
      show: withoutMark,
    };
  }
  const decoder = new TextDecoder(declared);
  return {
    text: Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""),
    encode: encodeBytes,
    escape: (data) =>
      escapeMarkup(data).replace(
        /[^\0-\x7f]/gu,
        (character) => `&#${character.codePointAt(0)};`,
      ),
    show: (text) => decoder.decode(encodeBytes(text)),
  };
}

function withoutMark(text: string): string {
  return text.replace(/^\ufeff/, "");
}

/** Character data as XML. */
export function escapeMarkup(data: string): string {
  return data.replaceAll("&", "&amp;").replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}

function encodeBytes(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

function encodeUtf16(text: string, bigEndian: boolean): Uint8Array {
  const bytes = new Uint8Array(text.length * 2);
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < text.length; i++) {
    view.setUint16(i * 2, text.charCodeAt(i), !bigEndian);
  }
  return bytes;
}

/** Comments, character data, instructions and the document type; else a tag. */
const MARKUP =
  /<!--[\s\S]*?-->|<!\[CDATA\[[\s\S]*?\]\]>|<\?[\s\S]*?\?>|<!DOCTYPE[^>[]*(?:\[[^\]]*\]\s*)?>|<(?<close>\/?)(?<tag>[A-Za-z]+)(?<rest>(?:\s[^<>]*)?\/?)>/g;

/**
 * The entries of the dictionary at the root, in their order.
 *
 * @throws {SyntaxError} If there is none, or tags do not match.
 */
export function rootEntries(text: string): PlistEntry[] {
  const roots = nodes(text);
  const root = roots[0]?.tag === "plist" ? roots[0].children[0] : roots[0];
  if (root?.tag !== "dict") throw new SyntaxError("It holds no dictionary");
  const entries: PlistEntry[] = [];
  for (let i = 0; i < root.children.length; i += 2) {
    const [key, value] = root.children.slice(i, i + 2);
    if (key?.tag !== "key" || value === undefined || value.tag === "key") {
      throw new SyntaxError("A key of its dictionary has no value");
    }
    entries.push({ name: contentOf(text, key), key, value });
  }
  return entries;
}

function nodes(text: string): PlistNode[] {
  const roots: PlistNode[] = [];
  const open: PlistNode[] = [];
  for (const { 0: markup, index, groups = {} } of text.matchAll(MARKUP)) {
    const { tag, close, rest = "" } = groups;
    if (tag === undefined) continue;
    const end = index + markup.length;
    if (close === "/") {
      const node = open.pop();
      if (node?.tag !== tag) {
        throw new SyntaxError(`It has a </${tag}> that closes nothing`);
      }
      Object.assign(node, { closeStart: index, end });
      continue;
    }
    const node: PlistNode = {
      tag,
      start: index,
      openEnd: end,
      closeStart: end,
      end,
      children: [],
    };
    (open.at(-1)?.children ?? roots).push(node);
    if (!rest.endsWith("/")) open.push(node);
  }
  const unclosed = open.at(-1);
  if (unclosed !== undefined) {
    throw new SyntaxError(`Its <${unclosed.tag}> is not closed`);
  }
  return roots;
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
};

/** The character data in a leaf. */
export function contentOf(text: string, node: PlistNode): string {
  return text.slice(node.openEnd, node.closeStart).replace(
    /<!--[\s\S]*?-->|<!\[CDATA\[([\s\S]*?)\]\]>|&(?:#x([\da-f]+)|#(\d+)|(\w+));/gi,
    (whole, data?: string, hex?: string, decimal?: string, name?: string) => {
      if (hex) return String.fromCodePoint(parseInt(hex, 16));
      if (decimal) return String.fromCodePoint(Number(decimal));
      if (name) return ENTITIES[name] ?? whole;
      return data ?? "";
    },
  );
}

/** A change of a text. */
export interface Edit {
  /** Where it begins in the text. */
  start: number;
  /** Where it ends; equal to `start` for an insertion. */
  end: number;
  /** What stands there afterwards. */
  text: string;
}

/** The text after edits that do not overlap. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  return [...edits].sort((a, b) => b.start - a.start).reduce(
    (result, edit) =>
      result.slice(0, edit.start) + edit.text + result.slice(edit.end),
    text,
  );
}

/** The line break and the indentation before a place; "" if it does not begin its line. */
export function lineStart(text: string, at: number): string {
  return /(?:\r\n|\r|\n)[ \t]*$/.exec(text.slice(0, at))?.[0] ?? "";
}
