import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { join } from "@std/path/join";
import { recordJob } from "../lib/books.ts";
import { openByHand } from "../lib/circuit.ts";
import {
  type Change,
  readBooks,
  readCircuit,
  type State,
  updateState,
} from "../lib/state.ts";
import {
  ensureFolder,
  openInFolder,
  stateFolder,
} from "../lib/state_folder.ts";
import { type FakeHost, fakeHost } from "./fake_host.ts";
import { TempFolder, textOf } from "./files.ts";
import { root } from "./script.ts";

const NOW = 1_796_056_215;

/** Opens by hand, as a change of the state. */
function open(
  host: FakeHost,
  reason = "drill",
): (state: State) => Change<null> {
  return ({ circuit }: State) => ({
    circuit: openByHand(circuit, host.now() + 600, reason, host.now()),
    result: null,
  });
}

Deno.test(
  "stateFolder() is CLAUDE_QUOTA_DIR, else under HOME, and nothing else",
  {
    permissions: { read: ["."] },
  },
  () => {
    const folder = (env: Record<string, string>): string =>
      stateFolder((name) => env[name]);
    assertEquals(
      folder({ HOME: "/h", XDG_STATE_HOME: "/x" }),
      "/h/.local/state/claude-quota",
    );
    assertEquals(folder({ HOME: "/h", CLAUDE_QUOTA_DIR: "/q/../r" }), "/r");
    assertEquals(
      folder({ HOME: "/h", CLAUDE_QUOTA_DIR: "rel" }),
      join(Deno.cwd(), "rel"),
    );
    assertEquals(
      folder({ HOME: "h" }),
      join(Deno.cwd(), "h/.local/state/claude-quota"),
    );
    assertThrows(() => folder({}), Error, "EnvironmentVariables");
  },
);

Deno.test("updateState() writes what has changed, and nothing else", async () => {
  using temp = new TempFolder();
  const folder = join(temp.path, "a", "state");
  const host = fakeHost(NOW);
  const seen = await updateState(folder, host, (state) => ({
    result: state.circuit.open_until,
  }));
  assertEquals(seen, { done: true, result: 0 });
  assertEquals([...Deno.readDirSync(folder)].map((e) => e.name), [
    "state.json.lock",
  ]);
  assertEquals((Deno.statSync(folder).mode ?? 0) & 0o777, 0o700);
  await updateState(folder, host, open(host));
  const circuit = await readCircuit(folder, host);
  assertEquals([circuit.open_until, circuit.reason], [NOW + 600, "drill"]);
  for (const name of ["state.json", "state.json.lock"]) {
    const { mode } = Deno.statSync(join(folder, name));
    assertEquals((mode ?? 0) & 0o777, 0o600);
  }
  assertEquals(textOf(join(folder, "jobs.json")), "");
  assertEquals(host.said, []);
});

Deno.test("updateState() keeps the fields that it does not know", async () => {
  using temp = new TempFolder();
  const host = fakeHost(NOW);
  Deno.chmodSync(temp.path, 0o700);
  const path = join(temp.path, "state.json");
  Deno.writeTextFileSync(path, '{"new": [1], "open_until": "x"}');
  await updateState(temp.path, host, open(host));
  const json = JSON.parse(Deno.readTextFileSync(path));
  assertEquals([json.new, json.open_until], [[1], NOW + 600]);
});

Deno.test("readCircuit() moves what is no JSON object aside, once, and keeps three", async () => {
  using temp = new TempFolder();
  Deno.chmodSync(temp.path, 0o700);
  const host = fakeHost(NOW);
  const path = join(temp.path, "state.json");
  const bad = ["", "{", "[]", "null", '"open"', "7", '{"open_until": NaN}'];
  for (const text of bad) {
    host.advance(1);
    Deno.writeTextFileSync(path, text);
    assertEquals((await readCircuit(temp.path, host)).open_until, 0);
    assertEquals(host.said.length, 1, text);
    assertMatch(host.said.pop() ?? "", /was unreadable; moved to/);
    await readCircuit(temp.path, host);
    assertEquals(host.said, []);
  }
  const kept = temp.names().filter((name) => name.includes(".bad-"));
  assertEquals(
    kept,
    [5, 6, 7].map((s) => `state.json.bad-${NOW + s}-${Deno.pid}`),
  );
  assertEquals(
    kept.map((name) => textOf(join(temp.path, name))),
    bad.slice(-3),
  );
});

Deno.test("readBooks() moves a folder in place of the file aside", async () => {
  using temp = new TempFolder();
  Deno.chmodSync(temp.path, 0o700);
  const host = fakeHost(NOW);
  Deno.mkdirSync(join(temp.path, "jobs.json", "x"), { recursive: true });
  assertEquals((await readBooks(temp.path, host)).jobs.size, 0);
  assertEquals(host.said.length, 1);
  const done = await updateState(temp.path, host, (state) => ({
    books: recordJob(state.books, "a", {
      outcome: "ran",
      ts: NOW,
      exit: 0,
      reason: null,
      ending: null,
      calls: 0,
      seconds: null,
      owed_from: null,
    }),
    result: null,
  }));
  assert(done.done);
  assertEquals((await readBooks(temp.path, host)).jobs.size, 1);
});

Deno.test("updateState() gives up on a lock that is held, after its time, and writes nothing", async () => {
  using temp = new TempFolder();
  const folder = join(temp.path, "state");
  const host = fakeHost(NOW);
  await updateState(folder, host, open(host));
  const before = textOf(join(folder, "state.json"));
  using lock = Deno.openSync(join(folder, "state.json.lock"), { write: true });
  lock.lockSync(true);
  for (const seconds of [5, 1, 0]) {
    const start = host.monotonic();
    const held = await updateState(folder, host, open(host, "x"), seconds);
    assert(!held.done);
    assertMatch(held.why, /state\.json\.lock" was held by another process/);
    const waited = host.monotonic() - start;
    assert(waited >= seconds && waited < seconds + 0.1, `${waited} s`);
  }
  // What comes up meanwhile may cut the wait short.
  const start = host.monotonic();
  const patience = (): number => host.monotonic() < start + 2 ? 5 : 1;
  assert(!(await updateState(folder, host, open(host, "x"), patience)).done);
  const waited = host.monotonic() - start;
  assert(waited >= 2 && waited < 2.1, `${waited} s`);
  assertEquals(textOf(join(folder, "state.json")), before);
  // Reading needs no lock.
  assertEquals((await readCircuit(folder, host)).reason, "drill");
  host.onSleep = () => lock.unlockSync();
  assert((await updateState(folder, host, open(host, "y"))).done);
});

Deno.test("updateState() leaves no file open when waiting for the lock fails", async () => {
  using temp = new TempFolder();
  const host = fakeHost(NOW);
  using held = Deno.openSync(join(temp.path, "state.json.lock"), {
    write: true,
    create: true,
  });
  held.lockSync(true);
  host.onSleep = () => Promise.reject(new Error("no more"));
  const updated = await updateState(temp.path, host, open(host));
  assertMatch(updated.done ? "" : updated.why, /^no more/);
});

Deno.test("updateState() keeps the lock file, whatever happens", async () => {
  using temp = new TempFolder();
  const folder = join(temp.path, "state");
  const host = fakeHost(NOW);
  await updateState(folder, host, open(host));
  const { ino } = Deno.statSync(join(folder, "state.json.lock"));
  await updateState(folder, host, open(host));
  const failed = await updateState(folder, host, () => {
    throw new Error("on purpose");
  });
  assert(!failed.done && failed.why.startsWith("on purpose; see to"));
  assert((await updateState(folder, host, open(host), 0)).done, "freed");
  assertEquals(Deno.statSync(join(folder, "state.json.lock")).ino, ino);
});

Deno.test("updateState() sweeps what dead writers left, and nothing else", async () => {
  using temp = new TempFolder();
  Deno.chmodSync(temp.path, 0o700);
  const host = fakeHost(NOW);
  const mine = ["other.tmp", "state.json.old", "notes"];
  for (
    const name of [
      ...mine,
      "state.json.7-a.tmp",
      "jobs.json.7-b.tmp",
      "unknown.log.7-c.tmp",
    ]
  ) {
    Deno.writeTextFileSync(join(temp.path, name), "half");
  }
  Deno.mkdirSync(join(temp.path, "state.json.7-d.tmp", "sub"), {
    recursive: true,
  });
  await updateState(temp.path, host, () => ({ quick: true, result: null }));
  assertEquals(temp.names().length, mine.length + 5);
  await updateState(temp.path, host, () => ({ result: null }));
  assertEquals(temp.names(), [...mine, "state.json.lock"].sort());
});

Deno.test("ensureFolder() closes a folder that was open to others, and says so once", () => {
  using temp = new TempFolder();
  const host = fakeHost(NOW);
  Deno.chmodSync(temp.path, 0o755);
  ensureFolder(temp.path, host);
  ensureFolder(temp.path, host);
  assertEquals((Deno.statSync(temp.path).mode ?? 0) & 0o777, 0o700);
  assertEquals(host.said.length, 1);
});

Deno.test("openInFolder() follows no link", () => {
  using temp = new TempFolder();
  const outside = join(temp.path, "outside");
  const link = join(temp.path, "state.json.lock");
  Deno.symlinkSync(outside, link);
  assertThrows(
    () => openInFolder(link, { append: false, create: true }),
    Error,
    "is a link",
  );
  Deno.writeTextFileSync(outside, "");
  assertThrows(() => openInFolder(link, { append: true, create: false }));
});

Deno.test("updateState() in a folder that cannot be used says why", async () => {
  using temp = new TempFolder();
  const host = fakeHost(NOW);
  const file = join(temp.path, "file");
  Deno.writeTextFileSync(file, "");
  for (const folder of [file, join(file, "below")]) {
    const failed = await updateState(folder, host, open(host), 0);
    assert(!failed.done && failed.why !== "");
    assertEquals((await readCircuit(folder, host)).open_until, 0);
    assertEquals(host.said.splice(0).length, 1);
  }
});

Deno.test("updateState() leaves a file that cannot be read for now where it is", async () => {
  using temp = new TempFolder();
  Deno.chmodSync(temp.path, 0o700);
  const host = fakeHost(NOW);
  const path = join(temp.path, "state.json");
  Deno.symlinkSync(path, path); // a circle
  const failed = await updateState(temp.path, host, open(host), 0);
  assert(!failed.done);
  assertMatch(failed.why, /state\.json" cannot be read/);
  assertEquals((await readCircuit(temp.path, host)).open_until, 0);
  assertEquals(host.said.length, 1);
  assert(Deno.lstatSync(path).isSymlink);
});

Deno.test("updateState() loses no update of many at once", async () => {
  using temp = new TempFolder();
  const folder = join(temp.path, "state");
  const script = `
    import { updateState } from ${
    JSON.stringify(new URL("../lib/state.ts", import.meta.url).href)
  };
    import { denoHost } from ${
    JSON.stringify(new URL("../lib/host.ts", import.meta.url).href)
  };
    for (let made = 0; made < 20;) {
      const { done } = await updateState(Deno.args[0], denoHost(), (state) => ({
        circuit: { ...state.circuit, closed_at: state.circuit.closed_at + 1 },
        result: null,
      }));
      // One that had to wait for too long says that it was not made.
      if (done) made++;
    }`;
  const module = join(temp.path, "add.ts");
  Deno.writeTextFileSync(module, script);
  const config = join(root, "deno.json");
  const runs = Array.from(
    { length: 6 },
    () =>
      new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", "--no-check", `--config=${config}`, module, folder],
        stdout: "null",
      }).output(),
  );
  for (const { success } of await Promise.all(runs)) assert(success);
  const circuit = await readCircuit(folder, fakeHost(NOW));
  assertEquals(circuit.closed_at, 120);
});
