import { assert, assertEquals } from "@std/assert";
import { denoHost } from "../lib/host.ts";
import {
  groupMembers,
  groupTools,
  killLeftovers,
} from "../lib/process_group.ts";
import { until } from "./harness.ts";

/** A group of its own: a shell and a child that ignores SIGTERM. */
async function group(): Promise<Deno.ChildProcess> {
  const shell = new Deno.Command("/bin/sh", {
    args: [
      "-c",
      `trap '' TERM; while :; do sleep 1; done & trap - TERM; echo up; wait`,
    ],
    detached: true,
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const reader = shell.stdout.getReader();
  await reader.read();
  await reader.cancel();
  return shell;
}

Deno.test("groupMembers() lists a group with the times of its starts, and no other", async () => {
  const tools = groupTools();
  const shell = await group();
  const members = await until(async () => {
    const found = await groupMembers(tools, shell.pid);
    return found.length >= 2 && found;
  }, "shell and child are up");
  assert(members.some((one) => one.pid === shell.pid));
  assert(members.every((one) => /^\w{3} \w{3} +\d+ \d\d:/.test(one.started)));
  Deno.kill(-shell.pid, "SIGKILL");
  await shell.status;
  await until(
    async () => (await groupMembers(tools, shell.pid)).length === 0,
    "no child of it is left",
  );
});

Deno.test("killLeftovers() kills a child that outlived its leader", async () => {
  const tools = groupTools();
  const shell = await group();
  const before = await groupMembers(tools, shell.pid);
  Deno.kill(-shell.pid, "SIGTERM");
  await shell.status;
  assert((await groupMembers(tools, shell.pid)).length > 0);
  const left = await killLeftovers(tools, denoHost(), shell.pid, before, 2);
  assert(left.killed > 0);
  assertEquals(left.alive, 0);
});

Deno.test("killLeftovers() leaves a group of strangers alone", async () => {
  const tools = groupTools();
  const shell = await group();
  const strangers = (await groupMembers(tools, shell.pid))
    .map((one) => ({ ...one, started: "Mon Nov 30 12:00:00 2026" }));
  const left = await killLeftovers(
    tools,
    denoHost(),
    shell.pid,
    strangers,
    0.1,
  );
  assertEquals(left, { killed: 0, alive: 0 });
  assert((await groupMembers(tools, shell.pid)).length > 0);
  Deno.kill(-shell.pid, "SIGKILL");
  await shell.status;
});
