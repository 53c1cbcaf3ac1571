import { NOISE } from "./wording.ts";

/** Rules, empty lines, and the lines of a stack trace. */
const NO_WORDS = /^[-+=_*|#~ ]*$|^at \S.*:\d+:\d+\)?$/;

/**
 * A terminal's text as a reader sees it: without ANSI and OSC sequences, box
 * frames, bullets and marks at the start of a line, stack traces and control
 * characters; apostrophes straight, runs of white space single.
 */
export function plainText(raw: string): string {
  return stripEscapes(raw)
    .replace(/(?<=\w)[\u2018\u2019\u02bc\u0060\u00b4](?=\w)/g, "'")
    .replace(/[\u2500-\u257f]+/g, " ")
    .replace(/[\u200b-\u200f\u2060\ufeff\ufe0f]/g, "")
    .replace(/\r\n?/g, "\n")
    .split("\n")
    .map((line) =>
      // deno-lint-ignore no-control-regex -- control characters are what goes
      line.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, "")
        .replace(/^[\s⎿●⏺⚠✗✘✖❌✻⛔⛑ℹ🛑🚫⏳⌛⏱■]+/u, "")
        .replace(/^\|\s+(.*?)\s+\|$/, "$1")
        .replace(/[^\S\n]+/g, " ").trim()
    )
    .filter((line) => !NO_WORDS.test(line) && !NOISE.test(line))
    .join("\n");
}

/** Without ANSI (CSI) and OSC sequences; linear in the length of the text. */
export function stripEscapes(text: string): string {
  if (!text.includes("\x1b") && !text.includes("\x9b")) return text;
  // deno-lint-ignore no-control-regex -- escape sequences are what goes
  return text.replace(/\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)/g, "")
    // deno-lint-ignore no-control-regex -- escape sequences are what goes
    .replace(/(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]/g, "")
    // deno-lint-ignore no-control-regex -- escape sequences are what goes
    .replace(/\x1b[ -/]*[0-~]?/g, "");
}
