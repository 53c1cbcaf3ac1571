import { assertEquals } from "@std/assert";
import { join } from "@std/path/join";
import { brokenRuns, holdRun, settleBrokenRuns } from "../lib/broken_run.ts";
import { addCall, openRun, readRun } from "../lib/run_file.ts";
import { readBooks } from "../lib/state.ts";
import type { CallRecord } from "../lib/tally.ts";
import { fakeHost } from "./fake_host.ts";
import { TempFolder } from "./files.ts";

const NOW = 1_790_000_000;
const JOB = { label: "mail", once: false, resumable: false };

function call(met: CallRecord["met"]): CallRecord {
  return { met, owedFrom: null, cost: null };
}

/** A run with these calls; held until the handle is closed. */
function run(
  folder: string,
  job: typeof JOB,
  ...met: CallRecord["met"][]
): { id: string; held: Deno.FsFile } {
  const { id, file: held } = openRun(folder, fakeHost(NOW), false);
  holdRun(folder, id, held, job);
  for (const one of met) addCall(folder, id, call(one));
  return { id, held };
}

Deno.test("brokenRuns() sees a run once nobody holds it", () => {
  using temp = new TempFolder();
  const { id, held } = run(temp.path, JOB, "ok");
  const later = fakeHost(NOW + 60);
  assertEquals(brokenRuns(temp.path, later), []);
  held.close();
  assertEquals(brokenRuns(temp.path, fakeHost(NOW + 5)), []);
  const [broken] = brokenRuns(temp.path, later);
  assertEquals([broken?.id, broken?.job], [id, "mail"]);
  assertEquals(broken?.startedAt, NOW);
  assertEquals(broken?.tally.calls.length, 1);
});

Deno.test("holdRun() names the job also where its line finds no room", () => {
  using temp = new TempFolder();
  const { id, file } = openRun(temp.path, fakeHost(NOW), false);
  file.close();
  // Open for reading alone: it takes no line, as on a full disk.
  const held = Deno.openSync(join(temp.path, "runs", id), { read: true });
  holdRun(temp.path, id, held, { ...JOB, resumable: true });
  const later = fakeHost(NOW + 60);
  assertEquals(brokenRuns(temp.path, later), []);
  held.close();
  const [broken] = brokenRuns(temp.path, later);
  assertEquals([broken?.job, broken?.resumable], ["mail", true]);
});

Deno.test("settleBrokenRuns() owes a refused run whose guard was killed", async () => {
  using temp = new TempFolder();
  const { id, held } = run(temp.path, JOB, "limit", "refused");
  held.close();
  const later = fakeHost(NOW + 60);
  await settleBrokenRuns(temp.path, later);
  const entry = (await readBooks(temp.path, later)).jobs.get("mail");
  assertEquals(
    [entry?.outcome, entry?.ts, entry?.reason, entry?.calls],
    ["skipped", NOW, "quota-during-run", 2],
  );
  assertEquals(readRun(temp.path, id), null);
});

Deno.test("settleBrokenRuns() owes nothing that was answered, is --once, or lives", async () => {
  using temp = new TempFolder();
  const answered = run(temp.path, JOB, "ok", "limit");
  answered.held.close();
  const once = run(temp.path, { ...JOB, label: "post", once: true }, "limit");
  once.held.close();
  using _alive = run(temp.path, { ...JOB, label: "digest" }, "limit").held;
  const later = fakeHost(NOW + 60);
  await settleBrokenRuns(temp.path, later);
  assertEquals((await readBooks(temp.path, later)).jobs.size, 0);
  assertEquals(
    brokenRuns(temp.path, later).map((one) => one.job).sort(),
    ["mail", "post"],
  );
});

Deno.test("settleBrokenRuns() leaves a newer outcome on the books", async () => {
  using temp = new TempFolder();
  for (const _ of [1, 2]) run(temp.path, JOB, "limit").held.close();
  const later = fakeHost(NOW + 60);
  await settleBrokenRuns(temp.path, later);
  const jobs = (await readBooks(temp.path, later)).jobs;
  assertEquals(jobs.get("mail")?.ts, NOW);
  assertEquals(brokenRuns(temp.path, later), []);
});

Deno.test("brokenRuns() sees a run beside others that cannot be read", () => {
  using temp = new TempFolder();
  run(temp.path, JOB, "limit").held.close();
  // So many that one of them comes first.
  for (let n = 10; n < 60; n++) {
    Deno.mkdirSync(join(temp.path, "runs", `${NOW}-1-000000${n}`));
  }
  const [broken, ...more] = brokenRuns(temp.path, fakeHost(NOW + 60));
  assertEquals([broken?.job, more], ["mail", []]);
});
