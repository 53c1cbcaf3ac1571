/** The plain ways in which a state folder, or what the guard was started with, can be bad. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path/join";
import { textOf } from "../files.ts";
import { circuit, newest, openCircuit } from "../guard_steps.ts";
import { type Finished, Home, type RunOptions } from "../harness.ts";
import { JOB_EXIT, warningsOf } from "./guard_scene.ts";
import { links } from "./links.ts";
import { inParallel } from "./pool.ts";
import { Broken, type Section } from "./report.ts";
import { lines, runBounded } from "./run.ts";

/** How something is bad, and what is said about it. */
interface BadDay {
  name: string;
  /** Makes it bad; shell, in a namespace of its own if it mounts. */
  before?: string;
  mounts?: boolean;
  /** Behind the command of the guard. */
  redirect?: string;
  env?: RunOptions["env"];
  /** The one warning; null for none. */
  says: RegExp | null;
  /** What is left of the usual output. */
  output?: "no stdout" | "no stderr" | "neither";
}

const WATCHED = null;
const OPENED = /was open to others; now it is not$/;
const NOT_GUARDED = /^quota_guard: nothing is guarded: /;
const LOOK = /; see to "[^"]+": owner, permissions, room on the disk$/;
const MOVED = /was unreadable; moved to ".*", starting afresh$/;

/** `$S` is the state folder, `$OUT` one outside of it. */
const BAD_DAYS: readonly BadDay[] = [
  { name: "nothing", says: WATCHED },
  {
    name: "a folder that cannot be written",
    before: 'mkdir "$S"; mount -t tmpfs -o ro,mode=0700 tmpfs "$S"',
    mounts: true,
    says: LOOK,
  },
  {
    name: "one that cannot be written and is open to others",
    before: 'mkdir "$S"; mount -t tmpfs -o ro tmpfs "$S"',
    mounts: true,
    says: NOT_GUARDED,
  },
  {
    name: "a folder that cannot be made",
    before: 'mkdir "$S"; mount -t tmpfs -o ro tmpfs "$S"; S=$S/below',
    mounts: true,
    says: LOOK,
  },
  {
    name: "a full disk",
    before:
      'mkdir "$S"; mount -t tmpfs -o size=16k,mode=0700 tmpfs "$S"; head -c 1M /dev/zero > "$S/fill" 2> /dev/null',
    mounts: true,
    says: LOOK,
  },
  {
    name: "a disk with room for the run but not for the shim",
    before:
      'mkdir "$S"; mount -t tmpfs -o size=4k,mode=0700 tmpfs "$S"; : > "$S/state.json.lock"; mkdir -m 700 "$S/runs" "$S/bin"; echo x > "$S/fill"',
    mounts: true,
    says: LOOK,
  },
  {
    name: "no room for another file",
    before:
      'mkdir "$S"; mount -t tmpfs -o nr_inodes=2,mode=0700 tmpfs "$S"; : > "$S/a"',
    mounts: true,
    says: LOOK,
  },
  { name: "a file in its place", before: ': > "$S"', says: NOT_GUARDED },
  {
    name: "a file above it",
    before: ': > "$S"; S=$S/below',
    says: NOT_GUARDED,
  },
  { name: "a link to itself", before: 'ln -s "$S" "$S"', says: NOT_GUARDED },
  { name: "a link to nowhere", before: 'ln -s nowhere "$S"', says: LOOK },
  {
    name: "a link to a folder",
    before: 'mkdir -m 700 "$OUT"; ln -s "$OUT" "$S"',
    says: WATCHED,
  },
  {
    name: "too long a name",
    before: 'S="$S/$(printf %0300d 0)"',
    says: LOOK,
  },
  {
    name: "a folder that is open to others",
    before: 'mkdir -m 777 "$S"',
    says: OPENED,
  },
  ...["runs", "bin"].map((name): BadDay => ({
    name: `${name} is open to others`,
    before: `mkdir -m 700 "$S"; mkdir -m 777 "$S/${name}"`,
    says: OPENED,
  })),
  {
    name: "no HOME",
    env: { HOME: null, CLAUDE_QUOTA_DIR: null },
    before: "unset CLAUDE_QUOTA_DIR",
    says: NOT_GUARDED,
  },
  ...["state.json", "jobs.json"].flatMap((name): BadDay[] => [
    {
      name: `${name} is a folder`,
      before: `mkdir -m 700 "$S"; mkdir -p "$S/${name}/x"`,
      says: MOVED,
    },
    {
      name: `${name} is no JSON`,
      before: `mkdir -m 700 "$S"; printf '{"op' > "$S/${name}"`,
      says: MOVED,
    },
    {
      name: `${name} is a link to nowhere`,
      before: `mkdir -m 700 "$S"; ln -s "$OUT/x" "$S/${name}"`,
      says: WATCHED,
    },
    {
      name: `${name} is a link out of the folder`,
      before:
        `mkdir -m 700 "$S" "$OUT"; echo '{"mine":1}' > "$OUT/x"; ln -s "$OUT/x" "$S/${name}"`,
      says: WATCHED,
    },
  ]),
  ...["state.json.lock", "runs", "bin"].flatMap((name): BadDay[] => [
    {
      name: `${name} is a link out of the folder`,
      before: `mkdir -m 700 "$S" "$OUT"; ln -s "$OUT" "$S/${name}"`,
      says: /is a link; remove it; see to /,
    },
  ]),
  {
    name: "state.json.lock is a folder",
    before: 'mkdir -m 700 "$S"; mkdir "$S/state.json.lock"',
    says: LOOK,
  },
  ...["runs", "bin"].map((name): BadDay => ({
    name: `${name} is a file`,
    before: `mkdir -m 700 "$S"; : > "$S/${name}"`,
    says: LOOK,
  })),
  {
    name: "bin/claude is a folder",
    before: 'mkdir -m 700 "$S" "$S/bin" "$S/bin/claude"',
    says: LOOK,
  },
  { name: "no stdin", redirect: "<&-", says: WATCHED },
  { name: "no stdout", redirect: ">&-", says: WATCHED, output: "no stdout" },
  { name: "no stderr", redirect: "2>&-", says: null, output: "no stderr" },
  {
    name: "neither stdin, stdout nor stderr",
    redirect: "<&- >&- 2>&-",
    says: null,
    output: "neither",
  },
  {
    name: "a full disk under stdout",
    redirect: "> /dev/full",
    says: WATCHED,
    output: "no stdout",
  },
  {
    name: "a full disk under stderr",
    redirect: "2> /dev/full",
    says: null,
    output: "no stderr",
  },
  {
    name: "a full disk under both",
    redirect: "> /dev/full 2>&1",
    says: null,
    output: "neither",
  },
  { name: "few descriptors", before: "ulimit -n 40", says: WATCHED },
];

/** Goes through all of them. */
export async function badDays(section: Section): Promise<void> {
  const mounts = canMount();
  if (!mounts) section.skip("mounted state folders: unshare -rm is refused");
  const days = BAD_DAYS.filter((day) => mounts || !day.mounts);
  await inParallel(days, (day) =>
    section.case(day.name, async () => {
      await using home = new Home();
      await checkJob(home, day);
      if (day.before === undefined) await checkSkip(home, day);
    }));
  if (mounts) await fullDisks(section);
  await links(section);
}

/** What a job meets on a disk that is full, and what its marker says of it. */
const FULL_DISKS: readonly {
  name: string;
  claude: [string, ...string[]];
  job: string;
  marker: RegExp;
}[] = [
  {
    name: "full, and the job meets the limit",
    claude: ["limit"],
    job: `$FILL; $GUARD -- /bin/sh -c 'claude -p 1; exit 3'`,
    marker: /^CLAUDE_QUOTA_JOB_SKIPPED .*exit=3/m,
  },
  {
    name: "full, and the job that is a call meets the limit",
    claude: ["limit"],
    job: `$FILL; $GUARD -- claude -p 1`,
    marker: /^CLAUDE_QUOTA_JOB_SKIPPED .*exit=1/m,
  },
  {
    name: "full, and the job is answered before it meets the limit",
    claude: ["ok", "limit"],
    job: `$FILL; $GUARD -- /bin/sh -c 'claude -p 1; claude -p 2; exit 3'`,
    marker: /^CLAUDE_QUOTA_JOB_RAN .*exit=3 end=limit/m,
  },
  {
    name: "full, and a resumable job is answered before it meets the limit",
    claude: ["ok", "limit"],
    job:
      `$FILL; $GUARD --resumable -- /bin/sh -c 'claude -p 1; claude -p 2; exit 3'`,
    marker: /^CLAUDE_QUOTA_JOB_SKIPPED .*exit=3/m,
  },
  {
    name: "filled by the job, which meets the limit",
    claude: ["limit"],
    job: `$GUARD -- /bin/sh -c '$FILL; claude -p 1; exit 3'`,
    marker: /^CLAUDE_QUOTA_JOB_SKIPPED .*exit=3/m,
  },
  {
    name: "filled by the job between an answer and the limit",
    claude: ["ok", "limit"],
    job: `$GUARD -- /bin/sh -c 'claude -p 1; $FILL; claude -p 2; exit 3'`,
    marker: /^CLAUDE_QUOTA_JOB_RAN .*exit=3 end=limit/m,
  },
];

/** What is owed is known by the log, and the next job that runs leaves nothing of it. */
async function fullDisks(section: Section): Promise<void> {
  await inParallel(
    FULL_DISKS,
    ({ name, claude, job, marker }) =>
      section.case(`a disk ${name}`, async () => {
        await using home = new Home();
        home.claude.script(...claude);
        const guard = home.words("quota_guard", { kind: "bundle" })
          .map((word) => `'${word}'`).join(" ");
        const fill = 'head -c 1M /dev/zero > "$CLAUDE_QUOTA_DIR/fill"';
        const lines = [
          'mkdir "$CLAUDE_QUOTA_DIR"',
          'mount -t tmpfs -o size=64k,mode=0700 tmpfs "$CLAUDE_QUOTA_DIR"',
          `${guard} --job warm -- true 2> /dev/null`,
          job.replace("$FILL", fill)
            .replace("$GUARD", `${guard} --job mail`),
          'rm "$CLAUDE_QUOTA_DIR/fill"',
          `${guard} --job next --skip-exit 0 -- true 2> /dev/null`,
          'ls "$CLAUDE_QUOTA_DIR/runs"',
        ];
        const run = await runBounded(home, [
          ...["unshare", "-rm", "/bin/sh", "-c", lines.join("\n")],
        ]);
        const finals = run.stderr.match(/^CLAUDE_QUOTA_JOB_.*$/gm) ?? [];
        assertEquals(finals.length, 1, run.stderr);
        if (!marker.test(run.stderr)) throw new Broken("lost", run.stderr);
        assertMatch(run.stderr, /No space left on device.*; see to "/);
        const left = run.stdout.split("\n").filter((line) => /^\d/.test(line));
        assertEquals(left, [], "left in runs");
      }),
  );
}

function canMount(): boolean {
  try {
    return new Deno.Command("unshare", { args: ["-rm", "true"] }).outputSync()
      .success;
  } catch {
    return false;
  }
}

/** Runs the guard with a job on such a day. */
async function runOn(
  home: Home,
  day: BadDay,
  script: string,
): Promise<Finished> {
  const guard = home.words("quota_guard", { kind: "bundle" });
  const line = [
    `S='${home.state}' OUT='${home.path}/outside'`,
    day.before ?? ":",
    ...(day.env === undefined ? ['export CLAUDE_QUOTA_DIR="$S"'] : []),
    `exec "$@" ${day.redirect ?? ""}`,
  ].join("\n");
  return await runBounded(home, [
    ...(day.mounts ? ["unshare", "-rm"] : []),
    ...["/bin/sh", "-c", line, "sh", ...guard],
    ...["--job", "mail", "--", "/bin/sh", "-c", script],
  ], {
    env: {
      ...day.env,
      DENO_DIR: join(home.path, ".cache", "deno"),
    },
  });
}

/** The job runs once, with its output and exit code, and one warning is said. */
async function checkJob(home: Home, day: BadDay): Promise<void> {
  const ran = join(home.path, "ran");
  const script =
    `echo >> '${ran}'; echo out; "\${CLAUDE:-claude}" -p hi; exit ${JOB_EXIT}`;
  const run = await runOn(home, day, script);
  if (lines(ran) < 1) throw new Broken("lost", `it did not run: ${run.stderr}`);
  if (lines(ran) > 1) throw new Broken("doubled", "it ran twice");
  assertEquals(run.code, JOB_EXIT, run.stderr);
  assertEquals(home.claude.calls().length, 1, "claude was not asked");
  const { output } = day;
  if (output === undefined || output === "no stderr") {
    assertEquals(run.stdout, "out\nhello\n");
  }
  if (output === "no stderr" || output === "neither") return;
  assertEquals(newest(run.stderr, "mail"), "RAN");
  const said = warningsOf(run);
  if (output === "no stdout") {
    // What the job itself says of its closed output is no warning of the guard's.
    assertEquals(said.filter((line) => line.includes("quota")), []);
    return;
  }
  assertEquals(said.length, day.says === null ? 0 : 1, said.join("\n"));
  if (day.says !== null) assertMatch(said[0] ?? "", day.says);
  if (day.says === OPENED) {
    for (const folder of ["", "runs", "bin"]) {
      const { mode } = Deno.statSync(join(home.state, folder));
      assertEquals((mode ?? 0) & 0o777, 0o700, folder);
    }
  }
  const outside = join(home.path, "outside", "x");
  if (textOf(outside) !== "") assertEquals(textOf(outside), '{"mine":1}\n');
}

/** An open circuit skips whatever becomes of the output. */
async function checkSkip(home: Home, day: BadDay): Promise<void> {
  if (day.env !== undefined) return;
  openCircuit(home);
  const before = circuit(home);
  const ran = join(home.path, "ran in vain");
  const run = await runOn(home, day, `echo >> '${ran}'`);
  assertEquals([run.code, lines(ran)], [0, 0], run.stderr);
  assertEquals(circuit(home), before);
  assert(textOf(join(home.state, "jobs.json")).includes('"skipped"'));
}
