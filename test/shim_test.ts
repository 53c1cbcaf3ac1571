import { assert, assertEquals, assertThrows } from "@std/assert";
import { join } from "@std/path/join";
import { ensureShim, guardCommand, shimText } from "../lib/shim.ts";
import { fakeHost } from "./fake_host.ts";
import { executable, TempFolder } from "./files.ts";

const NOW = 1_796_056_215;

Deno.test("shimText() names all by absolute path and ends in --claude", {
  permissions: "none",
}, () => {
  const self = { interpreter: "/opt/deno", script: "/opt/quota_guard.js" };
  const text = shimText(self, "/state");
  assert(text.startsWith("#!/bin/sh\n"));
  assert(text.endsWith(' --claude -- "$@"\n'));
  assertEquals(guardCommand(self, "/state"), [
    "/opt/deno",
    "run",
    "--no-config",
    "--no-remote",
    "--no-npm",
    "--no-prompt",
    "--quiet",
    "--allow-read",
    "--allow-write=/state",
    "--allow-run",
    "--allow-env",
    "/opt/quota_guard.js",
  ]);
  // From source the packages come by the configuration beside it.
  const source = guardCommand({ ...self, script: "/src/quota_guard.ts" }, "/s");
  assert(!source.includes("--no-config"));
  assertEquals(guardCommand({ ...self, script: null }, "/s"), ["/opt/deno"]);
});

Deno.test(
  "guardCommand() grants all of the disk where a comma would split the path",
  {
    permissions: "none",
  },
  () => {
    const self = { interpreter: "/opt/deno", script: "/opt/quota_guard.js" };
    assert(guardCommand(self, "/a,b").includes("--allow-write"));
  },
);

Deno.test("ensureShim() makes a program that passes its arguments on as they are", async () => {
  using temp = new TempFolder();
  const folder = join(temp.path, `it's a "folder" $HOME`);
  const program = executable(
    join(temp.path, "it's deno"),
    'for word; do printf "%s|" "$word"; done',
  );
  const path = ensureShim(
    { interpreter: program, script: null },
    folder,
    fakeHost(NOW),
  );
  const { stdout } = await new Deno.Command(path, {
    args: ["-p", "a  b", "", "$(echo x)", 'c"d', "e'f"],
    clearEnv: true,
  }).output();
  assertEquals(
    new TextDecoder().decode(stdout),
    `--claude|--|-p|a  b||$(echo x)|c"d|e'f|`,
  );
});

Deno.test("ensureShim() writes a stale shim anew, and leaves one alone that is right", () => {
  using temp = new TempFolder();
  const folder = join(temp.path, "state");
  const host = fakeHost(NOW);
  const self = { interpreter: "/opt/deno", script: "/opt/quota_guard.js" };
  const path = ensureShim(self, folder, host);
  const { ino } = Deno.statSync(path);
  assertEquals((Deno.statSync(path).mode ?? 0) & 0o777, 0o700);
  ensureShim(self, folder, host);
  assertEquals(Deno.statSync(path).ino, ino);
  Deno.chmodSync(path, 0o600);
  ensureShim(self, folder, host);
  assertEquals((Deno.statSync(path).mode ?? 0) & 0o777, 0o700);
  ensureShim({ ...self, interpreter: "/new/deno" }, folder, host);
  assert(Deno.readTextFileSync(path).includes("/new/deno"));
  assertEquals([...Deno.readDirSync(join(folder, "bin"))].length, 1);
});

Deno.test("ensureShim() sweeps what a dead writer left, not what a living one writes", () => {
  using temp = new TempFolder();
  const folder = join(temp.path, "state");
  const host = fakeHost(NOW);
  const self = { interpreter: "/opt/deno", script: "/opt/quota_guard.js" };
  const bin = join(ensureShim(self, folder, host), "..");
  for (const [name, age] of [["old", 100], ["young", 1]] as const) {
    const path = join(bin, `claude.7-${name}.tmp`);
    Deno.writeTextFileSync(path, "#!/bin");
    Deno.utimeSync(path, NOW - age, NOW - age);
  }
  ensureShim({ ...self, interpreter: "/new/deno" }, folder, host);
  assertEquals([...Deno.readDirSync(bin)].map((entry) => entry.name).sort(), [
    "claude",
    "claude.7-young.tmp",
  ]);
});

Deno.test("ensureShim() minds no temporary file that goes while it looks", () => {
  using temp = new TempFolder();
  const folder = join(temp.path, "state");
  const host = fakeHost(NOW);
  const self = { interpreter: "/opt/deno", script: "/opt/quota_guard.js" };
  const path = ensureShim(self, folder, host);
  // It is listed, and to a look it is not there: as a file renamed in between.
  Deno.symlinkSync("gone", `${path}.7-12345678.tmp`);
  const anew = { ...self, interpreter: "/new/deno" };
  assertEquals(ensureShim(anew, folder, host), path);
});

Deno.test("ensureShim() goes through no link", () => {
  using temp = new TempFolder();
  const outside = join(temp.path, "outside");
  Deno.mkdirSync(outside);
  const folder = join(temp.path, "state");
  Deno.mkdirSync(folder, { mode: 0o700 });
  Deno.symlinkSync(outside, join(folder, "bin"));
  const self = { interpreter: "/opt/deno", script: null };
  assertThrows(() => ensureShim(self, folder, fakeHost(NOW)), Error, "a link");
  assertEquals([...Deno.readDirSync(outside)], []);
});
