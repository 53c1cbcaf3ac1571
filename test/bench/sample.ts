/** Runs commands in turns, as pairs, and compares them. */
import { fromFileUrl } from "@std/path/from-file-url";

/** A command to be measured. */
export interface Command {
  words: readonly string[];
  /** Its whole environment, apart from PATH. */
  env?: Record<string, string>;
}

/** One run, by wait4(2). */
export interface Sample {
  /** Seconds. */
  wall: number;
  /** Seconds, user and system. */
  cpu: number;
  /** Maximum resident set, in KiB. */
  memory: number;
}

/** One line of the table: how something compares to a yardstick of the same run. */
export interface Figure {
  group: string;
  name: string;
  /** What it is compared to. */
  yardstick: string;
  /** Of the medians of wall-clock time, or of what the name says, in pairs. */
  ratio: number;
  /** Of the CPU time; null where that says nothing. */
  cpu: number | null;
  /** What the ratio has to be, such as `<= 1.5`; null for no goal. */
  goal: string | null;
  /** The median itself, with its unit. */
  value: string;
}

/** This machine's own Python, no shim. */
export const PYTHON = "/usr/bin/python3";

/** Path of a file in this folder. */
export function beside(name: string): string {
  return fromFileUrl(new URL(name, import.meta.url));
}

/** Runs a program to its end, with `input` as its standard input. */
export async function output(
  words: readonly string[],
  env: Record<string, string> = {},
  input = "",
): Promise<string> {
  const [program = "", ...args] = words;
  const child = new Deno.Command(program, {
    args,
    env,
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  await new Blob([input]).stream().pipeTo(child.stdin);
  const { success, stdout } = await child.output();
  if (!success) throw new Error(`${words.join(" ")} failed`);
  return new TextDecoder().decode(stdout);
}

/** Runs all commands once a round, `rounds` times. */
export async function sample<Name extends string>(
  commands: Record<Name, Command>,
  rounds: number,
): Promise<Record<Name, Sample[]>> {
  const names = Object.keys(commands) as Name[];
  const home = { PATH: Deno.env.get("PATH") ?? "", HOME: Deno.env.get("HOME") };
  const spec = {
    rounds,
    commands: names.map((name) => ({
      words: commands[name].words,
      env: { ...home, ...commands[name].env },
    })),
  };
  const text = await output(
    [PYTHON, beside("runner.py")],
    {},
    JSON.stringify(spec),
  );
  const results: [number, number, number][][] = JSON.parse(text);
  return Object.fromEntries(
    names.map((name, i) => [
      name,
      (results[i] ?? []).map(([wall, cpu, memory]) => ({ wall, cpu, memory })),
    ]),
  ) as Record<Name, Sample[]>;
}

/** The middle one. */
export function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? NaN;
}

/** The median of the ratios of each round. */
export function ratio(
  samples: readonly Sample[],
  yardstick: readonly Sample[],
  of: (sample: Sample) => number,
): number {
  return median(
    samples.map((sample, i) => {
      const other = yardstick[i];
      return other === undefined ? NaN : of(sample) / of(other);
    }),
  );
}

/** The line that compares two commands by their time. */
export function compared(
  about: Pick<Figure, "group" | "name" | "yardstick" | "goal">,
  samples: readonly Sample[],
  yardstick: readonly Sample[],
): Figure {
  return {
    ...about,
    ratio: ratio(samples, yardstick, ({ wall }) => wall),
    cpu: ratio(samples, yardstick, ({ cpu }) => cpu),
    value: milliseconds(samples),
  };
}

/** The median of the wall-clock times, as text. */
export function milliseconds(samples: readonly Sample[]): string {
  const ms = median(samples.map(({ wall }) => wall * 1000));
  return `${ms.toPrecision(3)} ms`;
}

/** Is there such a program? */
export async function installed(program: string): Promise<boolean> {
  const { success } = await new Deno.Command("/bin/sh", {
    args: ["-c", `command -v '${program}'`],
    stdout: "null",
  }).output();
  return success;
}
