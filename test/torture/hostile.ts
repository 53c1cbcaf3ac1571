/** Hostile input: random, and some on purpose. */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path/join";
import { latestMarkerInLog } from "../../lib/log_tail.ts";
import { ranMarker, skippedMarker } from "../../lib/marker.ts";
import { CatchupHome } from "../catchup_home.ts";
import { executable, TempFolder } from "../files.ts";
import { newest } from "../guard_steps.ts";
import { Home } from "../harness.ts";
import { fuzz, textFrom } from "./fuzz.ts";
import type { Section } from "./report.ts";
import { runBounded } from "./run.ts";
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
  await cutMarkers(section, temp.path);
  await betweenTwoReads(section, temp.path);
  await logThatChanges(section, temp.path);
  await roundOverBadLogs(section);
  await endlessAnswer(section);
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
      `while [ -e "$1" ]; do
         i=0; while [ $i -lt 50 ]; do cat "$1" "$1" "$1" >> "$2"; i=$((i + 1)); done
         : > "$2"; cat "$1" >> "$2"; mv "$2" "$2.1"; rm -f "$2.1"
       done`,
      "sh",
      noise,
      path,
    ],
    stderr: "null",
  }).spawn();
  // It ends once it has nothing to write any more, and with all it has started.
  await section.case("a log that changes while it is read", () => {
    const end = performance.now() + 2000;
    while (performance.now() < end) {
      const marker = latestMarkerInLog(path, "mail");
      assert(marker === null || marker.ts === NOW);
    }
  });
  Deno.removeSync(noise);
  await writer.status;
}

/** A marker that is being written counts once it is whole, and no sooner. */
async function cutMarkers(section: Section, folder: string): Promise<void> {
  const path = join(folder, "cut");
  const ran = ranMarker("mail", 0, "budget", NOW + 1);
  for (const end of ["", "\n", "\r\n"]) {
    await section.case(`a marker cut anywhere before ${end.length}`, () => {
      for (let cut = 0; cut <= ran.length; cut++) {
        const part = ran.slice(0, cut);
        Deno.writeTextFileSync(path, `${SKIP}\n${part}${end}`);
        const whole = part === ran;
        const marker = latestMarkerInLog(path, "mail");
        assertEquals(marker?.kind, whole ? "RAN" : "SKIPPED", part);
        assertEquals(marker?.ts, whole ? NOW + 1 : NOW);
      }
    });
  }
}

/** Whatever becomes of a log between any two reads of it. */
async function betweenTwoReads(
  section: Section,
  folder: string,
): Promise<void> {
  const path = join(folder, "between");
  const ran = ranMarker("mail", 0, null, NOW + 1);
  const log = `${SKIP}\n${"x".repeat(99)}\n`.repeat(3000);
  const accidents: Record<string, () => void> = {
    "is emptied": () => Deno.truncateSync(path, 0),
    "is cut to a half": () => Deno.truncateSync(path, log.length / 2),
    "is emptied and written anew": () =>
      Deno.writeTextFileSync(path, `${ran}\n`),
    "is rotated": () => {
      Deno.renameSync(path, `${path}.1`);
      Deno.writeTextFileSync(path, `${ran}\n`);
    },
    "is removed": () => Deno.removeSync(path),
    "grows": () => Deno.writeTextFileSync(path, `${ran}\n`, { append: true }),
  };
  const prototype = Deno.FsFile.prototype;
  const { readSync } = prototype;
  for (const [name, accident] of Object.entries(accidents)) {
    await section.case(`a log that ${name} between two reads`, () => {
      for (let at = 1; at <= 6; at++) {
        // No marker of this job in what is read first.
        Deno.writeTextFileSync(path, log + "y\n".repeat(60_000));
        let reads = 0;
        prototype.readSync = function (buffer): number | null {
          if (++reads === at) accident();
          return readSync.call(this, buffer);
        };
        try {
          for (
            const marker of [
              latestMarkerInLog(path, "mail"),
              latestMarkerInLog(path, "mail"),
            ]
          ) {
            assert(
              marker === null || marker.ts === NOW || marker.ts === NOW + 1,
            );
          }
          assertEquals(latestMarkerInLog(path, "other"), null);
        } finally {
          prototype.readSync = readSync;
        }
      }
    });
  }
}

/** The catch-up among agents whose logs are no logs: it does what it can, in time. */
async function roundOverBadLogs(section: Section): Promise<void> {
  const bundle = { kind: "bundle" } as const;
  await section.case("a round over pipes, devices and huge logs", async () => {
    await using home = new CatchupHome();
    const pipe = join(home.path, "pipe");
    const huge = join(home.path, "huge");
    const loop = join(home.path, "loop");
    new Deno.Command("mkfifo", { args: [pipe] }).outputSync();
    Deno.writeTextFileSync(huge, "x");
    Deno.truncateSync(huge, GIB);
    Deno.symlinkSync(loop, loop);
    const logs = [pipe, "/dev/zero", "/dev/tty", home.path, huge, loop];
    await home.job("com.me.owed", "true");
    for (const [i, path] of logs.entries()) {
      await home.job(`com.me.bad${i}`, "true", {
        StandardErrorPath: path,
        StandardOutPath: path,
      });
    }
    for (
      const flags of [
        ["--dry-run", "--all"],
        ["--dry-run", "--json"],
        ...logs.map((_, i) => ["--explain", `com.me.bad${i}`]),
        ["--doctor"],
        [],
      ]
    ) {
      const words = home.words("quota_catchup", bundle);
      const { code, stderr } = await runBounded(home, [...words, ...flags]);
      assert(code === 0 || code === 1, `${flags}: ${code} ${stderr}`);
      assert(!/\n +at /.test(stderr), stderr);
    }
    assertEquals(home.starts("com.me.owed"), 1);
  });
}

/** What a call prints without end and without a line goes through, and is not kept. */
async function endlessAnswer(section: Section): Promise<void> {
  await section.case("a claude that prints 400 MB in one line", async () => {
    await using home = new Home();
    executable(
      join(home.bin, "claude"),
      "head -c 400000000 /dev/zero; echo end >&2",
    );
    const guard = home.words("quota_guard", { kind: "bundle" });
    const child = home.start([
      ...["/bin/sh", "-c", '"$@" | wc -c', "sh"],
      ...["python3", "-c", PEAK, ...guard],
      ...["--job", "mail", "--", "claude", "-p", "hi"],
    ]);
    const { stdout, stderr } = await child.output();
    const [out, err] = [stdout, stderr].map((b) => textFrom(b));
    assertEquals(out?.trim(), "400000000", err);
    const peak = Number(/peak=(\d+)/.exec(err ?? "")?.[1]) / 1024;
    assert(peak > 10 && peak < 400, `${peak} MiB`);
    assertEquals(newest(err ?? "", "mail"), "RAN");
  });
}

/** Runs a command and tells how much memory the largest of its processes took, in KiB. */
const PEAK = `
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print("peak=%d" % peak, file=sys.stderr)
sys.exit(code)
`;
