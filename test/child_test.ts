import { assert, assertEquals } from "@std/assert";
import { runInherited, SignalRelay } from "../lib/child.ts";
import { until } from "./harness.ts";

Deno.test("SignalRelay keeps a signal that comes before the child is there", async () => {
  using signals = new SignalRelay().listen();
  assertEquals([signals.code, signals.attached], [null, false]);
  Deno.kill(Deno.pid, "SIGHUP");
  await until(() => signals.code !== null, "the signal arrives");
  assertEquals(signals.code, 129);
  const end = await runInherited(["sleep", "600"], signals, { env: {} });
  assertEquals(end, { started: true, code: 129, timedOut: false });
  assert(signals.attached);
});

Deno.test("runInherited() says why a command cannot be started", async () => {
  using signals = new SignalRelay();
  const start = (program: string) =>
    runInherited([program], signals, { env: {} });
  assertEquals((await start("/no/such/program")).code, 127);
  assertEquals((await start(Deno.cwd())).code, 126);
  assertEquals(signals.attached, false);
});

Deno.test("runInherited() takes variables away and adds some", async () => {
  using signals = new SignalRelay();
  Deno.env.set("QUOTA_TEST_GONE", "1");
  Deno.env.set("QUOTA_TEST_KEPT", "a\nb");
  const line =
    '[ -z "$QUOTA_TEST_GONE" ] && [ "$QUOTA_TEST_NEW" = "x y" ] && ' +
    '[ "$QUOTA_TEST_KEPT" = "$(printf \'a\\nb\')" ] && exit 7';
  const { code } = await runInherited(["/bin/sh", "-c", line], signals, {
    env: { QUOTA_TEST_NEW: "x y" },
    unset: ["QUOTA_TEST_GONE"],
  });
  for (const name of ["GONE", "KEPT"]) Deno.env.delete(`QUOTA_TEST_${name}`);
  assertEquals(code, 7);
});
