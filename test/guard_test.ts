import { assertEquals } from "@std/assert";
import { join } from "@std/path/join";
import { SignalRelay } from "../lib/child.ts";
import { openByHand } from "../lib/circuit.ts";
import { claimPriorityProbe, type Guard } from "../lib/guard.ts";
import { denoHost, type Host } from "../lib/host.ts";
import { readCircuit, updateState } from "../lib/state.ts";
import { TempFolder } from "./files.ts";
import { until } from "./harness.ts";

Deno.test("claimPriorityProbe() gives one of all who wait for the lock the probe", async () => {
  using temp = new TempFolder();
  using signals = new SignalRelay();
  const folder = join(temp.path, "state");
  let waits = 0;
  const real = denoHost();
  const host: Host = {
    ...real,
    sleep(seconds): Promise<void> {
      waits++;
      return real.sleep(seconds);
    },
  };
  const guard: Guard = {
    host,
    signals,
    folder,
    troubled: false,
    self: { interpreter: "/opt/deno", script: null },
    policy: { probeInterval: 1800, cooldown: 21_600 },
  };
  const now = host.now();
  await updateState(folder, host, ({ circuit }) => ({
    circuit: openByHand(circuit, now + 600, "drill", now),
    result: null,
  }));
  const claims: Promise<boolean | null>[] = [];
  {
    using lock = Deno.openSync(join(folder, "state.json.lock"), {
      write: true,
    });
    lock.lockSync(true);
    for (let i = 0; i < 30; i++) claims.push(claimPriorityProbe(guard));
    // All have seen by then that the probe is due.
    await until(() => waits >= claims.length, "all wait for the lock");
  }
  const got = await Promise.all(claims);
  assertEquals(got.filter((claim) => claim === true).length, 1);
  assertEquals(got.filter((claim) => claim === false).length, 29);
  const { last_priority_probe } = await readCircuit(folder, host);
  assertEquals(last_priority_probe >= Math.floor(now), true);
  assertEquals(await claimPriorityProbe(guard), false);
});
