/**
 * The bad days of launchd, as the stand-in plays them, each with the right end.
 * The clock runs fast, so that a minute of waiting is over in a few seconds.
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path/join";
import { denoHost, type Host } from "../lib/host.ts";
import { kickAndWait, type KickEnd } from "../lib/kick.ts";
import { type Launchctl, launchctlStatus } from "../lib/launchctl.ts";
import { groupTools } from "../lib/process_group.ts";
import { toolRunner } from "../lib/tool.ts";
import { CatchupHome } from "./catchup_home.ts";
import { until } from "./harness.ts";

const SPEED = 50;
const LABEL = "com.me.job";

function fastHost(): Host {
  const host = denoHost();
  return {
    ...host,
    monotonic: () => host.monotonic() * SPEED,
    sleep: (seconds) => host.sleep(seconds / SPEED),
  };
}

/** One job of a home whose launchd has a bad day. */
class BadDay extends CatchupHome {
  readonly #run = toolRunner(join(this.bin, "launchctl"));

  /** Time-outs are real seconds: another one for the verb that never answers. */
  async kick(silent = "", timeout = 0): Promise<KickEnd> {
    const launchctl: Launchctl = {
      domain: `gui/${Deno.uid()}`,
      run: (args, seconds) =>
        this.#run(args, args[0] === silent ? timeout : seconds),
    };
    const before = await launchctlStatus(launchctl, LABEL);
    const host = fastHost();
    return await kickAndWait(
      {
        host,
        launchctl,
        group: groupTools(),
        stop: new AbortController().signal,
        timeout: 100,
        grace: 20,
      },
      LABEL,
      before,
      () => {},
    );
  }
}

async function onBadDay(
  script: string,
  day: string,
  value: string,
  test: (home: BadDay) => Promise<void>,
): Promise<void> {
  await using home = new BadDay();
  await home.job(LABEL, script);
  if (day !== "") home.launchd.badDay(LABEL, day, value);
  await test(home);
}

Deno.test("a kickstart that starts nothing and never returns is not seen to start", () =>
  onBadDay("true", "blocks", "", async (home) => {
    const end = await home.kick("kickstart", 2);
    assert(end.kind === "not-seen");
    assertMatch(end.why, /did not start it in 60 s; .* gave no answer/);
    assertEquals(home.starts(LABEL), 0);
  }));

Deno.test("a kickstart that starts the job and never returns is settled by the look at it", () =>
  onBadDay("sleep 0.3", "blocks-after", "", async (home) => {
    const end = await home.kick("kickstart", 2);
    assert(end.kind === "ended");
    assertEquals([end.status.runs, home.starts(LABEL)], [1, 1]);
  }));

Deno.test("a kickstart with an error that may pass is settled by the look at it", async () => {
  for (const code of ["5", "37"]) {
    await onBadDay("true", "error", code, async (home) => {
      const end = await home.kick();
      assert(end.kind === "not-seen");
      assertMatch(end.why, code === "5" ? /input\/output/ : /already/);
      assertEquals(home.starts(LABEL), 0);
    });
  }
});

Deno.test("a job that is gone after its kickstart returned 0 is said to be unknown", () =>
  onBadDay("true", "vanishes", "", async (home) => {
    const end = await home.kick();
    assert(end.kind === "ended");
    assertEquals(end.status.found, "no");
  }));

Deno.test("a start that launchd holds back for a while is waited for", () =>
  onBadDay("true", "spawn-scheduled", "", async (home) => {
    const kick = home.kick();
    await until(
      async () =>
        (await home.launchctl("print", `gui/${Deno.uid()}/${LABEL}`))
          .includes("spawn scheduled"),
      "it is scheduled",
    );
    home.launchd.goodDay(LABEL, "spawn-scheduled");
    const end = await kick;
    assertEquals([end.kind, home.starts(LABEL)], ["ended", 1]);
  }));

Deno.test("a start that launchd holds back for good is given up", () =>
  onBadDay("true", "spawn-scheduled", "", async (home) => {
    const end = await home.kick();
    assert(end.kind === "not-seen");
    assertMatch(end.why, /holds it back/);
    assertEquals(home.starts(LABEL), 0);
    home.launchd.goodDay(LABEL, "spawn-scheduled");
    await until(() => home.starts(LABEL) === 1, "the stand-in is done");
  }));

Deno.test("a job in xpcproxy or without a shown pid is waited for", async () => {
  for (const day of ["xpcproxy", "no-pid"]) {
    await onBadDay("sleep 0.5; exit 7", day, "", async (home) => {
      const end = await home.kick();
      assert(end.kind === "ended", day);
      assertEquals(end.status.runs, 1);
      assert(end.seconds >= 0.5 * SPEED, `${end.seconds}`);
    });
  }
});

Deno.test("a job that launchd starts once more is waited for twice", () =>
  onBadDay("sleep 0.2", "twice", "", async (home) => {
    const end = await home.kick();
    assert(end.kind === "ended");
    assertEquals([end.status.runs, home.starts(LABEL)], [2, 2]);
  }));

Deno.test("a launchd that falls silent ends the wait in bounded time", () =>
  onBadDay("true", "print-blocks", "", async (home) => {
    const end = await home.kick("print", 0.5);
    assert(end.kind === "unstoppable");
    assertMatch(end.why, /print gave no answer/);
  }));
