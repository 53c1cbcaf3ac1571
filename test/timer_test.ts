import { assert, assertEquals } from "@std/assert";
import { after } from "../lib/timer.ts";
import { patiently } from "./harness.ts";

/** What two timers do that are set one after another, and the time they take. */
async function lateAndSoon(seconds: number): Promise<[string[], number]> {
  const begun = performance.now();
  const done: string[] = [];
  const late = new Promise<void>((resolve) =>
    after(seconds, () => {
      done.push("late");
      resolve();
    })
  );
  after(0.0001, () => done.push("soon"));
  await late;
  return [done, (performance.now() - begun) / 1000];
}

Deno.test("after() does its work in its time, the shorter first", async () => {
  const [done, took] = await patiently(
    (seconds) => lateAndSoon(0.03 * seconds),
    ([done]) => done[0] === "soon",
  );
  assertEquals(done, ["soon", "late"]);
  assert(took >= 0.029);
});

Deno.test("after() called off does nothing, and no process waits for it", async () => {
  const timer = new URL("../lib/timer.ts", import.meta.url);
  const code = `import { after } from "${timer}";
    after(600, () => console.log("never"))();
    const callOff = after(0, () => console.log("once"));
    await new Promise((resolve) => after(0.02, resolve));
    callOff();`;
  const { stdout, success } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", code],
    stderr: "inherit",
  }).output();
  assert(success);
  assertEquals(new TextDecoder().decode(stdout), "once\n");
});
