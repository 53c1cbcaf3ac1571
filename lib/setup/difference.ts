import { createTwoFilesPatch } from "diff";

/**
 * What differs between two texts, in the unified form of diff(1), three lines
 * of context around each change.
 */
export function difference(
  before: string,
  after: string,
  options: { name: string; colour: boolean },
): string {
  const patch = createTwoFilesPatch(
    options.name,
    `${options.name} (new)`,
    before.replaceAll("\r\n", "\n"),
    after.replaceAll("\r\n", "\n"),
  );
  const lines = patch.trimEnd().split("\n").filter((line) =>
    !/^=+$/.test(line)
  );
  return lines.map((line) => options.colour ? coloured(line) : line).join("\n");
}

function coloured(line: string): string {
  if (/^(---|\+\+\+) /.test(line)) return `\x1b[1m${line}\x1b[0m`;
  if (line.startsWith("+")) return `\x1b[32m${line}\x1b[0m`;
  if (line.startsWith("-")) return `\x1b[31m${line}\x1b[0m`;
  return line.startsWith("@@") ? `\x1b[36m${line}\x1b[0m` : line;
}
