import { assert, assertEquals, assertThrows } from "@std/assert";
import { join } from "@std/path/join";
import {
  addCall,
  beginCall,
  endRun,
  readRun,
  renewRun,
  startRun,
  sweepRuns,
} from "../lib/run_file.ts";
import { fakeHost } from "./fake_host.ts";
import { TempFolder } from "./files.ts";
import { aCall } from "./samples.ts";

const NOW = 1_796_056_215;

Deno.test("startRun() begins a tally that calls add to until endRun()", () => {
  using temp = new TempFolder();
  const folder = join(temp.path, "state");
  const host = fakeHost(NOW);
  const id = startRun(folder, host, false);
  assertEquals(readRun(folder, id), { probe: false, calls: [] });
  addCall(folder, id, aCall("ok"));
  addCall(folder, id, aCall("limit", { owedFrom: NOW }));
  assertEquals(readRun(folder, id)?.calls, [
    aCall("ok"),
    aCall("limit", { owedFrom: NOW }),
  ]);
  const { mode } = Deno.statSync(join(folder, "runs", id));
  assertEquals((mode ?? 0) & 0o777, 0o600);
  endRun(folder, id);
  assertEquals(readRun(folder, id), null);
  // What comes too late makes no new file.
  addCall(folder, id, aCall("ok"));
  assertEquals(readRun(folder, id), null);
  endRun(folder, id);
});

Deno.test("renewRun() ends a run and begins another, with nothing of the first in it", () => {
  using temp = new TempFolder();
  const folder = join(temp.path, "state");
  const host = fakeHost(NOW);
  const first = startRun(folder, host, false);
  addCall(folder, first, aCall("limit"));
  const second = renewRun(folder, host, first);
  assert(first !== second);
  assertEquals(readRun(folder, first), null);
  assertEquals(readRun(folder, second), { probe: false, calls: [] });
  addCall(folder, first, aCall("limit"));
  addCall(folder, second, aCall("ok"));
  assertEquals(readRun(folder, second)?.calls, [aCall("ok")]);
  assertEquals([...Deno.readDirSync(join(folder, "runs"))].length, 1);
  assertThrows(() => renewRun(folder, host, first), Deno.errors.NotFound);
});

Deno.test("renewRun() keeps out what a call of the first run had yet to write", () => {
  using temp = new TempFolder();
  const folder = join(temp.path, "state");
  const host = fakeHost(NOW);
  const first = startRun(folder, host, false);
  const path = join(folder, "runs", first);
  beginCall(folder, first);
  addCall(folder, first, aCall("limit"));
  const late = Deno.readTextFileSync(path);
  // It has opened the file, and is no faster.
  using file = Deno.openSync(path, { append: true });
  const second = renewRun(folder, host, first);
  file.writeSync(new TextEncoder().encode(late));
  assertEquals(readRun(folder, second)?.calls, []);
  addCall(folder, second, aCall("ok"));
  assertEquals(readRun(folder, second)?.calls, [aCall("ok")]);
});

Deno.test("startRun() knows a run that holds the probe, and tells runs apart", () => {
  using temp = new TempFolder();
  const folder = join(temp.path, "state");
  const host = fakeHost(NOW);
  const probing = startRun(folder, host, true);
  const other = startRun(folder, host, false);
  assert(probing !== other);
  addCall(folder, probing, aCall("ok"));
  assertEquals(readRun(folder, probing), { probe: true, calls: [aCall("ok")] });
  assertEquals(readRun(folder, other), { probe: false, calls: [] });
});

Deno.test("sweepRuns() removes runs older than 32 days, and only those", () => {
  using temp = new TempFolder();
  const folder = join(temp.path, "state");
  const host = fakeHost(NOW);
  const old = startRun(folder, host, false);
  Deno.writeTextFileSync(join(folder, "runs", "notes"), "mine");
  host.advance(32 * 86_400);
  const young = startRun(folder, host, false);
  sweepRuns(folder, host);
  assert(readRun(folder, old) !== null);
  host.advance(1);
  sweepRuns(folder, host);
  assertEquals(readRun(folder, old), null);
  const names = [...Deno.readDirSync(join(folder, "runs"))].map((e) => e.name);
  assertEquals(names.sort(), [young, "notes"].sort());
});

Deno.test("sweepRuns() takes whatever lies among the old ones, and no folder for a fault", () => {
  using temp = new TempFolder();
  const folder = join(temp.path, "state");
  const host = fakeHost(NOW);
  sweepRuns(folder, host);
  startRun(folder, host, false);
  const odd = join(folder, "runs", "1000000000-1-aaaaaaaa");
  Deno.mkdirSync(odd);
  Deno.writeTextFileSync(join(odd, "x"), "");
  sweepRuns(folder, host);
  assertEquals([...Deno.readDirSync(join(folder, "runs"))].length, 1);
});

Deno.test("readRun() takes no id for a path", () => {
  using temp = new TempFolder();
  const folder = join(temp.path, "state");
  startRun(folder, fakeHost(NOW), false);
  Deno.writeTextFileSync(join(folder, "x"), "probe\n");
  for (const id of ["", "../x", "x", ".", `${NOW}-1-abcdef01/../../x`]) {
    assertEquals(readRun(folder, id), null, id);
    addCall(folder, id, aCall("ok"));
  }
  assertEquals(Deno.readTextFileSync(join(folder, "x")), "probe\n");
});

Deno.test("startRun() goes through no link", () => {
  using temp = new TempFolder();
  const outside = join(temp.path, "outside");
  Deno.mkdirSync(outside);
  const folder = join(temp.path, "state");
  Deno.mkdirSync(folder, { mode: 0o700 });
  Deno.symlinkSync(outside, join(folder, "runs"));
  assertThrows(
    () => startRun(folder, fakeHost(NOW), false),
    Error,
    "is a link",
  );
  assertEquals([...Deno.readDirSync(outside)], []);
});

Deno.test("addCall() keeps a line that the run's file does not take", () => {
  using temp = new TempFolder();
  const host = fakeHost(NOW);
  const id = startRun(temp.path, host, true);
  const runs = join(temp.path, "runs");
  addCall(temp.path, id, aCall("turns"));
  // Nothing is written through a link.
  Deno.renameSync(join(runs, id), join(temp.path, "aside"));
  Deno.symlinkSync(join(temp.path, "aside"), join(runs, id));
  for (const met of ["limit", "ok", "limit"] as const) {
    addCall(temp.path, id, aCall(met, { owedFrom: NOW }));
  }
  const { probe, calls } = readRun(temp.path, id) ?? {};
  assertEquals([probe, calls?.map(({ met }) => met)], [
    true,
    ["turns", "limit", "ok", "limit"],
  ]);
  assertEquals(calls?.at(1)?.owedFrom, NOW);
  sweepRuns(temp.path, host);
  assertEquals(readRun(temp.path, id)?.calls.length, 4);
  endRun(temp.path, id);
  assertEquals(readRun(temp.path, id), null);
  sweepRuns(temp.path, host);
  assertEquals([...Deno.readDirSync(runs)], []);
});

Deno.test("addCall() begins a line of its own behind one that was cut", () => {
  using temp = new TempFolder();
  const id = startRun(temp.path, fakeHost(NOW), false);
  const path = join(temp.path, "runs", id);
  Deno.writeTextFileSync(path, "call lim", { append: true });
  addCall(temp.path, id, aCall("ok"));
  assertEquals(readRun(temp.path, id)?.calls, [aCall("ok")]);
});

Deno.test("sweepRuns() removes what an old run left beside its file", () => {
  using temp = new TempFolder();
  const host = fakeHost(NOW);
  const id = startRun(temp.path, host, false);
  Deno.writeTextFileSync(join(temp.path, "runs", `${id} call ok - -`), "");
  host.advance(33 * 86_400);
  const young = startRun(temp.path, host, false);
  sweepRuns(temp.path, host);
  const names = [...Deno.readDirSync(join(temp.path, "runs"))];
  assertEquals(names.map(({ name }) => name), [young]);
});
