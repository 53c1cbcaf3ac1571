/** The README as its tests read it. */
import { join } from "@std/path/join";
import { root } from "./script.ts";

/** Its text. */
export const readme = Deno.readTextFileSync(join(root, "README.md"));

/** The fenced blocks of a language, without the indent of a list around them. */
export function blocks(language: string, text: string = readme): string[] {
  const fence = new RegExp(
    `^([ ]*)\`\`\`${language}\\n([\\s\\S]*?)^\\1\`\`\`$`,
    "gm",
  );
  return [...text.matchAll(fence)].map(([, indent = "", body = ""]) =>
    body.replaceAll(new RegExp(`^${indent}`, "gm"), "")
  );
}

/** The text below a heading, up to the next heading of its level or above. */
export function section(heading: string): string {
  const level = /^#+/.exec(heading)?.[0].length ?? 0;
  const lines = readme.split("\n");
  const at = lines.indexOf(heading);
  if (at < 0) throw new Error(`The README has no heading "${heading}"`);
  let fenced = false;
  const end = lines.findIndex((line, i) => {
    if (i <= at) return false;
    if (/^ *```/.test(line)) fenced = !fenced;
    const next = /^#+(?= )/.exec(line)?.[0].length;
    return !fenced && next !== undefined && next <= level;
  });
  return lines.slice(at + 1, end < 0 ? undefined : end).join("\n");
}

/** The first block of a language below a heading. */
export function block(language: string, heading: string): string {
  const [first] = blocks(language, section(heading));
  if (first === undefined) {
    throw new Error(`"${heading}" has no block of ${language}`);
  }
  return first;
}

/** What stands in backquotes in the first column of the tables below a heading. */
export function tableNames(heading: string): string[] {
  return section(heading).split("\n").flatMap((line) => {
    const [, cell = ""] = line.split(/(?<!\\)\|/);
    return line.startsWith("|")
      ? [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name)
      : [];
  });
}

/** The whole property lists, by their label. */
export function plists(): Map<string, string> {
  return new Map(
    blocks("xml").filter((text) => text.includes("<plist")).map((text) => [
      /<key>Label<\/key>\s*<string>([^<]*)/.exec(text)?.[1] ?? "",
      text,
    ]),
  );
}
