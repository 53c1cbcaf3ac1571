import { fromFileUrl } from "@std/path/from-file-url";
import { join } from "@std/path/join";
import { executable, textOf } from "../files.ts";

/** A request that the stand-in got. */
export interface Call {
  /** The name of the output that it gave. */
  output: string;
  /** All arguments, spaces between. */
  arguments: string;
  env: Record<string, string>;
}

/** A stand-in for claude whose outputs are set beforehand; see `claude`. */
export class ClaudeStandIn {
  /** Where `script`, `calls.log` and `other.log` are. */
  readonly folder: string;

  /** Makes the program `path`, which works in any environment. */
  constructor(folder: string, path: string) {
    this.folder = folder;
    Deno.mkdirSync(folder, { recursive: true });
    const program = fromFileUrl(new URL("claude", import.meta.url));
    executable(path, `CLAUDE_STAND_IN='${folder}' exec '${program}' "$@"`);
    this.script("ok");
  }

  /** What the next calls do; the last line stands for all further ones. */
  script(...lines: string[]): void {
    for (const { name } of Deno.readDirSync(this.folder)) {
      if (/^call/.test(name)) Deno.removeSync(join(this.folder, name));
    }
    Deno.writeTextFileSync(
      join(this.folder, "script"),
      lines.join("\n") + "\n",
    );
  }

  /** The requests since the script was set, oldest first. */
  calls(): Call[] {
    const log = textOf(join(this.folder, "calls.log"));
    return log.split("\n").slice(0, -1).map((line) => {
      const [n, , output = "", words = ""] = line.split("\t");
      const env = textOf(join(this.folder, `call.${n}`)).split("\n");
      return {
        output,
        arguments: words,
        env: Object.fromEntries(env.map((line) => line.split(/=(.*)/))),
      };
    });
  }
}
