/** How long the catch-up looks at many agents, and at long logs. */
import { join } from "@std/path/join";
import { plistXml } from "../plist_xml.ts";
import { scriptCommand } from "../script.ts";
import {
  beside,
  type Command,
  compared,
  type Figure,
  PYTHON,
  sample,
} from "./sample.ts";

const LINE =
  "2026-11-30 12:00:00 a line of a job that says what it does, at length\n";
const KIB = 1024;

/** Makes `agents` guarded agents, each with a log of its own, and returns their folder. */
function home(folder: string, agents: number, logBytes: number): string {
  const logs = join(folder, "logs");
  const plists = join(folder, "agents");
  for (const path of [logs, plists]) Deno.mkdirSync(path, { recursive: true });
  const text = LINE.repeat(
    Math.ceil(Math.min(logBytes, 1 << 20) / LINE.length),
  );
  for (let i = 0; i < agents; i++) {
    const label = `com.me.job-${i}`;
    const log = join(logs, `${label}.log`);
    Deno.writeTextFileSync(
      join(plists, `${label}.plist`),
      plistXml({
        Label: label,
        ProgramArguments: ["/opt/quota_guard.js", "--job", label, "--", "true"],
        StandardOutPath: log,
        StandardErrorPath: log,
        StartCalendarInterval: { Hour: 7, Minute: 30 },
      }),
    );
    using file = Deno.openSync(log, { write: true, create: true });
    const write = (words: string): void => {
      file.writeSync(new TextEncoder().encode(words));
    };
    write(text);
    // What lies far back is not read, so it may as well be a hole.
    file.seekSync(Math.max(0, logBytes - text.length), Deno.SeekMode.Current);
    const ts = Math.floor(Date.now() / 1000) - 60;
    write(`\nCLAUDE_QUOTA_JOB_RAN job=${label} exit=0 ts=${ts}\n`);
    write(LINE.repeat(10));
  }
  return plists;
}

/** Measures in a folder that is there for it. */
export async function scan(folder: string, rounds: number): Promise<Figure[]> {
  const catchup = (agents: string): Command => ({
    words: [
      ...scriptCommand("quota_catchup", "bundle", {}),
      ...["--dry-run", "--agents", agents],
    ],
    env: { CLAUDE_QUOTA_DIR: join(folder, "state") },
  });
  const python = (agents: string): Command => ({
    words: [PYTHON, beside("scan.py"), agents],
  });
  const short = home(join(folder, "short"), 1, 10 * KIB);
  const long = home(join(folder, "long"), 1, KIB ** 3);
  const logs = await sample(
    { short: catchup(short), long: catchup(long) },
    rounds,
  );
  const figures = [compared(
    {
      group: "scan",
      name: "a log of 1 GiB",
      yardstick: "one of 10 KiB",
      goal: "<= 1.5",
    },
    logs.long,
    logs.short,
  )];
  const sizes: [number, number][] = [
    [15, 10],
    [150, 10],
    [1000, 10],
    [1000, 1024],
  ];
  for (const [agents, kib] of sizes) {
    const at = join(folder, "agents");
    const plists = home(at, agents, kib * KIB);
    const { own, other } = await sample(
      { own: catchup(plists), other: python(plists) },
      rounds,
    );
    const size = kib < KIB ? `${kib} KiB` : `${kib / KIB} MiB`;
    figures.push(compared(
      {
        group: "scan",
        name: `${agents} agents, logs of ${size}`,
        yardstick: "Python, whole logs",
        goal: kib === KIB ? "<= 0.25" : null,
      },
      own,
      other,
    ));
    Deno.removeSync(at, { recursive: true });
  }
  return figures;
}
