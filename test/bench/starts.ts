/** What a skip, a run and a call cost, in time and in memory. */
import { join } from "@std/path/join";
import { executable } from "../files.ts";
import { scriptCommand } from "../script.ts";
import {
  beside,
  type Command,
  compared,
  type Figure,
  installed,
  median,
  PYTHON,
  ratio,
  sample,
} from "./sample.ts";

const group = "start";
const empty = "empty script";

/** The words of an empty script under the flags of a bundle. */
function emptyScript(folder: string): string[] {
  const words = scriptCommand("quota_guard", "bundle", {});
  const file = join(folder, "empty.js");
  Deno.writeTextFileSync(file, "");
  return [...words.slice(0, -1), file];
}

/** Measures in a folder that is there for it. */
export async function starts(
  folder: string,
  rounds: number,
): Promise<Figure[]> {
  const claude = executable(join(folder, "claude"), "echo OK");
  /** One for each script: it writes the shim anew that another has written. */
  const state = (name: string, openFor: number): Record<string, string> => {
    const path = join(folder, name);
    Deno.mkdirSync(path, { mode: 0o700 });
    const open_until = openFor && Math.floor(Date.now() / 1000) + openFor;
    const file = join(path, "state.json");
    Deno.writeTextFileSync(file, JSON.stringify({ open_until }));
    return { CLAUDE_QUOTA_DIR: path };
  };
  const open = state("open", 86_400);
  const closed = state("closed", 0);
  const guard = (kind: "source" | "bundle", ...args: string[]): string[] => [
    ...scriptCommand("quota_guard", kind, {}),
    ...args,
  ];
  const job = ["--job", "x", "--", "true"];
  const calling = { ...closed, CLAUDE_REAL_BIN: claude };
  const python = [PYTHON, beside("wrapper.py"), ...job];
  const commands: Record<string, Command> = {
    [empty]: { words: emptyScript(folder) },
    "skip": { words: guard("bundle", ...job), env: open },
    "skip, from source": { words: guard("source", ...job), env: open },
    "run": { words: guard("bundle", ...job), env: closed },
    "run, from source": {
      words: guard("source", ...job),
      env: state("closed, source", 0),
    },
    "call": {
      words: guard("bundle", "--claude", "--", "-p", "hi"),
      env: calling,
    },
    "job that is only a call": {
      words: guard("bundle", "--job", "x", "--", "claude", "-p", "hi"),
      env: calling,
    },
    "Python skip": { words: python, env: open },
    "Python run": { words: python, env: state("closed, Python", 0) },
    "flock(1)": { words: ["flock", join(folder, "lock"), "true"] },
    "chronic": { words: ["chronic", "true"] },
  };
  for (const tool of ["flock", "chronic"]) {
    const name = tool === "flock" ? "flock(1)" : tool;
    if (!await installed(tool)) delete commands[name];
  }
  const samples = await sample(commands, rounds);
  const of = (name: string): NonNullable<typeof samples[string]> =>
    samples[name] ?? [];
  const line = (
    name: string,
    yardstick: string,
    goal: string | null = null,
  ): Figure =>
    compared({ group, name, yardstick, goal }, of(name), of(yardstick));
  const memory = (name: string): Figure => {
    const kib = median(of(name).map((one) => one.memory));
    return {
      group: "memory",
      name,
      yardstick: empty,
      ratio: ratio(of(name), of(empty), (one) => one.memory),
      cpu: null,
      goal: "<= 1.25",
      value: `${(kib / 1024).toFixed(0)} MiB`,
    };
  };
  const others = ["flock(1)", "chronic"].filter((name) => name in samples);
  return [
    line("skip", empty, "<= 1.2"),
    line("run", empty, "<= 1.5"),
    line("call", empty, "<= 2.0"),
    line("job that is only a call", empty),
    line("skip, from source", empty),
    line("run, from source", empty),
    line("skip", "Python skip", "<= 0.7"),
    line("run", "Python run", "<= 0.85"),
    ...others.map((name) => line("run", name)),
    ...["skip", "run", "call"].map(memory),
  ];
}
