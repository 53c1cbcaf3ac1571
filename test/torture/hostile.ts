/** Hostile input: random, and some on purpose. */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path/join";
import { latestMarkerInLog } from "../../lib/log_tail.ts";
import { skippedMarker } from "../../lib/marker.ts";
import { TempFolder } from "../files.ts";
import { fuzz } from "./fuzz.ts";
import type { Section } from "./report.ts";
import { targets } from "./targets.ts";

const NOW = 1_796_056_215;
const SKIP = skippedMarker("mail", { reason: "quota", remaining: 9 }, NOW);
const GIB = 2 ** 30;

/** So many random inputs for each reader, then the files that are none. */
export async function hostileInput(
  section: Section,
  times: number,
  seed: number,
): Promise<void> {
  using temp = new TempFolder();
  await fuzz(section, targets(temp.path), times, seed);
  await hugeLog(section, temp.path);
  await noLogs(section, temp.path);
  await logThatChanges(section, temp.path);
}

/** A line of 1 GiB, which takes no room on disk. */
async function hugeLog(section: Section, folder: string): Promise<void> {
  const path = join(folder, "huge");
  for (
    const [name, end, found] of [
      ["a marker behind a line of 1 GiB", `\n${SKIP}\n`, true],
      ["a marker before a line of 1 GiB", "", false],
      ["a marker within a line of 1 GiB", SKIP, false],
    ] as const
  ) {
    await section.case(name, () => {
      Deno.writeTextFileSync(path, `${SKIP}\n`);
      Deno.truncateSync(path, GIB);
      Deno.writeTextFileSync(path, end, { append: true });
      const before = Deno.memoryUsage().rss;
      const started = performance.now();
      const marker = latestMarkerInLog(path, "mail");
      const seconds = (performance.now() - started) / 1000;
      const grown = (Deno.memoryUsage().rss - before) / 2 ** 20;
      assertEquals(marker !== null, found);
      assert(seconds < 10, `${seconds} s`);
      assert(grown < 200, `${grown} MiB`);
    });
  }
  Deno.removeSync(path);
}

/** Pipes, devices and folders as logs. */
async function noLogs(section: Section, folder: string): Promise<void> {
  const pipe = join(folder, "pipe");
  new Deno.Command("mkfifo", { args: [pipe] }).outputSync();
  const loop = join(folder, "loop");
  Deno.symlinkSync(loop, loop);
  const paths = [
    pipe,
    "/dev/zero",
    "/dev/null",
    "/dev/full",
    folder,
    "/nowhere/x",
  ];
  for (const path of paths) {
    await section.case(`${path} as a log`, () => {
      assertEquals(latestMarkerInLog(path, "mail"), null);
    });
  }
  await section.case("a link to itself as a log", () => {
    try {
      assertEquals(latestMarkerInLog(loop, "mail"), null);
    } catch (error) {
      assert(String(error).includes("cannot be read"));
    }
  });
}

/** Written, cut, rotated and removed while it is read. */
async function logThatChanges(section: Section, folder: string): Promise<void> {
  const path = join(folder, "changing");
  const noise = join(folder, "noise");
  Deno.writeTextFileSync(noise, "x".repeat(99) + "\n" + SKIP + "\n");
  const writer = new Deno.Command("/bin/sh", {
    args: [
      "-c",
      `while :; do
         i=0; while [ $i -lt 50 ]; do cat "$1" "$1" "$1" >> "$2"; i=$((i + 1)); done
         : > "$2"; cat "$1" >> "$2"; mv "$2" "$2.1"; rm -f "$2.1"
       done`,
      "sh",
      noise,
      path,
    ],
    stderr: "null",
  }).spawn();
  await section.case("a log that changes while it is read", () => {
    const end = performance.now() + 2000;
    while (performance.now() < end) {
      const marker = latestMarkerInLog(path, "mail");
      assert(marker === null || marker.ts === NOW);
    }
  });
  writer.kill("SIGKILL");
  await writer.status;
}
