import { assert, assertEquals, assertRejects } from "@std/assert";
import { endWithin, toolRunner } from "../lib/tool.ts";
import { executable, TempFolder } from "./files.ts";
import { patiently } from "./harness.ts";

Deno.test("toolRunner() gives exit code and output, and a bare environment", async () => {
  using folder = new TempFolder();
  const tool = executable(
    `${folder.path}/tool`,
    'echo "$1 $HOME"; echo no >&2; cat; exit 113',
  );
  assertEquals(await toolRunner(tool)(["a b"], 10), {
    code: 113,
    stdout: "a b \n",
    stderr: "no\n",
    timedOut: false,
  });
});

Deno.test("toolRunner() kills what takes too long and keeps what it said", async () => {
  using folder = new TempFolder();
  const tool = executable(`${folder.path}/tool`, "echo early; exec sleep 600");
  const { timedOut, stdout } = await patiently(
    (seconds) => toolRunner(tool)([], seconds),
    ({ stdout }) => stdout !== "",
  );
  assertEquals([timedOut, stdout], [true, "early\n"]);
});

Deno.test("toolRunner() does not wait for a job that holds the output open", async () => {
  using folder = new TempFolder();
  const tool = executable(`${folder.path}/tool`, "sleep 600 & echo $!");
  const { code, stdout, timedOut } = await toolRunner(tool)([], 60);
  Deno.kill(Number(stdout), "SIGKILL");
  assertEquals([code, timedOut], [0, false]);
});

Deno.test("toolRunner() stops reading output without end", async () => {
  using folder = new TempFolder();
  const tool = executable(`${folder.path}/tool`, "exec yes");
  const { stdout, timedOut } = await toolRunner(tool)([], 60);
  assert(stdout.length > 4 * 1024 * 1024 && stdout.length < 8 * 1024 * 1024);
  assertEquals(timedOut, false);
});

Deno.test("toolRunner() rejects if the program is not there", async () => {
  await assertRejects(() => toolRunner("/nowhere/launchctl")([], 10));
});

Deno.test("endWithin() minds no child that ends just as its time is up", async () => {
  const { promise: status, resolve } = Promise.withResolvers<
    Deno.CommandStatus
  >();
  const kill = (): void => {
    resolve({ success: true, code: 0, signal: null });
    throw new TypeError("Child process has already terminated");
  };
  assertEquals(await endWithin({ kill, status }, 0), {
    code: 0,
    timedOut: true,
  });
});
