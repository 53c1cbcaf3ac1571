/**
 * Property lists as XML, written and read. Small and on purpose not the reader
 * of the product: what the tests write is read by two independent readers.
 */

/** What a property list holds, as far as the tests need it. */
export type PlistValue =
  | string
  | number
  | boolean
  | PlistValue[]
  | { [key: string]: PlistValue };

/** A dictionary. */
export type PlistDict = { [key: string]: PlistValue };

const heading = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
`;

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
}

function lines(value: PlistValue, indent: string): string {
  const inner = indent + "  ";
  if (typeof value === "string") {
    return `${indent}<string>${escaped(value)}</string>\n`;
  }
  if (typeof value === "number") {
    const kind = Number.isInteger(value) ? "integer" : "real";
    return `${indent}<${kind}>${value}</${kind}>\n`;
  }
  if (typeof value === "boolean") return `${indent}<${value}/>\n`;
  if (Array.isArray(value)) {
    const items = value.map((item) => lines(item, inner)).join("");
    return `${indent}<array>\n${items}${indent}</array>\n`;
  }
  const entries = Object.entries(value).map(([key, item]) =>
    `${inner}<key>${escaped(key)}</key>\n${lines(item, inner)}`
  ).join("");
  return `${indent}<dict>\n${entries}${indent}</dict>\n`;
}

/** The XML text of a property list with `value` as its root. */
export function plistXml(value: PlistValue): string {
  return `${heading}<plist version="1.0">\n${lines(value, "")}</plist>\n`;
}

const entities: Record<string, string> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
};

function unescaped(text: string): string {
  return text.replace(
    /&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi,
    (whole, hex, decimal, name) => {
      if (hex) return String.fromCodePoint(parseInt(hex, 16));
      if (decimal) return String.fromCodePoint(Number(decimal));
      return entities[name] ?? whole;
    },
  );
}

/**
 * The root value of an XML property list.
 *
 * @throws {SyntaxError} if the text is none that {@linkcode plistXml} could
 * have written, comments and white space aside
 */
export function readPlistXml(text: string): PlistValue {
  const tokens =
    text.replace(/<!--[\s\S]*?-->|<\?[\s\S]*?\?>|<!DOCTYPE[^>]*>/g, "")
      .match(/<[^>]+>|[^<]+/g) ?? [];
  let at = 0;

  function next(): string {
    while (/^\s*$/.test(tokens[at] ?? "x")) at++;
    const token = tokens[at++];
    if (token === undefined) throw new SyntaxError("The list ends early");
    return token;
  }

  function textUntil(end: string): string {
    let content = "";
    for (let token = tokens[at++]; token !== end; token = tokens[at++]) {
      if (token === undefined || token.startsWith("<")) {
        throw new SyntaxError(`Expected '${end}', found '${token}'`);
      }
      content += unescaped(token);
    }
    return content;
  }

  function value(token: string): PlistValue {
    switch (token) {
      case "<string>":
      case "<date>":
      case "<data>":
        return textUntil(token.replace("<", "</"));
      case "<integer>":
      case "<real>":
        return Number(textUntil(token.replace("<", "</")));
      case "<true/>":
      case "<false/>":
        return token === "<true/>";
      case "<string/>":
        return "";
      case "<array/>":
        return [];
      case "<dict/>":
        return {};
      case "<array>": {
        const items: PlistValue[] = [];
        for (let t = next(); t !== "</array>"; t = next()) items.push(value(t));
        return items;
      }
      case "<dict>": {
        const dict: PlistDict = {};
        for (let t = next(); t !== "</dict>"; t = next()) {
          if (t !== "<key>") throw new SyntaxError(`Expected a key: '${t}'`);
          const key = textUntil("</key>");
          dict[key] = value(next());
        }
        return dict;
      }
      default:
        throw new SyntaxError(`Not a value: '${token}'`);
    }
  }

  if (!next().startsWith("<plist")) throw new SyntaxError("No <plist>");
  return value(next());
}
