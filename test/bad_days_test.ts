/**
 * The bad days of launchd, as the stand-in plays them, each with the right end.
 * A minute of waiting is over in a few seconds, and what processes take on a busy
 * machine does not count.
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path/join";
import { denoHost, type Host } from "../lib/host.ts";
import { kickAndWait, type KickEnd } from "../lib/kick.ts";
import { type Launchctl, launchctlStatus } from "../lib/launchctl.ts";
import { groupTools } from "../lib/process_group.ts";
import { toolRunner } from "../lib/tool.ts";
import { CatchupHome } from "./catchup_home.ts";
import { isThere, textOf } from "./files.ts";
import { patiently, until } from "./harness.ts";

const LABEL = "com.me.job";
/** Of this clock go by while somebody sleeps for one. */
const SECONDS_A_SECOND = 10;
/** How much shorter that sleep is. */
const SPEED = 50;

/** A host whose time passes only while somebody sleeps. */
function fastHost(onSleep: (times: number) => Promise<void>): Host {
  const host = denoHost();
  let time = 0;
  let times = 0;
  return {
    ...host,
    monotonic: () => time,
    async sleep(seconds): Promise<void> {
      time += seconds * SECONDS_A_SECOND;
      await host.sleep(seconds / SPEED);
      await onSleep(++times);
    },
  };
}

/** One job of a home whose launchd has a bad day. */
class BadDay extends CatchupHome {
  readonly #run = toolRunner(join(this.bin, "launchctl"));

  /** When the kick has slept so many times, after a look each. */
  onSleep: (times: number) => Promise<void> = async () => {};
  /** Of the job, in seconds of the fast clock. */
  timeout = 3000;

  /** Time-outs are real seconds: another one for the verb that never answers. */
  async kick(silent = "", timeout = 0): Promise<KickEnd> {
    const launchctl: Launchctl = {
      domain: `gui/${Deno.uid()}`,
      run: (args, seconds) =>
        this.#run(args, args[0] === silent ? timeout : seconds),
    };
    const before = await launchctlStatus(launchctl, LABEL);
    const host = fastHost((times) => this.onSleep(times));
    return await kickAndWait(
      {
        host,
        launchctl,
        group: groupTools(),
        stop: new AbortController().signal,
        timeout: this.timeout,
        grace: 5,
      },
      LABEL,
      before,
      () => {},
    );
  }

  /** The stand-in has written down how a run ended. */
  async ended(): Promise<void> {
    const service = join(this.launchd.folder, LABEL, "service.json");
    await until(() => textOf(service).includes('"last"'), "the job has ended");
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

Deno.test("a kickstart that starts the job and never returns is settled by the look at it", async () => {
  const kick = async (seconds: number): Promise<unknown[]> => {
    let result: unknown[] = [];
    await onBadDay("sleep 0.3", "blocks-after", "", async (home) => {
      const end = await home.kick("kickstart", seconds);
      const runs = end.kind === "ended" && end.status.runs;
      result = [end.kind, runs, home.starts(LABEL)];
    });
    return result;
  };
  const result = await patiently(kick, ([kind]) => kind === "ended");
  assertEquals(result, ["ended", 1, 1]);
});

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
    home.onSleep = async (times) => {
      if (times === 2) home.launchd.goodDay(LABEL, "spawn-scheduled");
      if (times >= 2) await home.ended();
    };
    const end = await home.kick();
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
    const script = 'until [ -e "$HOME/go" ]; do sleep 0.02; done; exit 7';
    await onBadDay(script, day, "", async (home) => {
      const go = join(home.path, "go");
      let looks = 0;
      home.onSleep = async (times) => {
        looks = times;
        if (times === 3) Deno.writeTextFileSync(go, "");
        if (times >= 3) await home.ended();
      };
      const end = await home.kick();
      assert(end.kind === "ended", day);
      assertEquals(end.status.runs, 1);
      assert(looks >= 3, `${looks} looks`);
    });
  }
});

Deno.test("a job that launchd starts once more is waited for twice", () =>
  onBadDay("true", "twice", "", async (home) => {
    home.onSleep = async () => {
      const folder = join(home.launchd.folder, LABEL);
      const service = (): string => textOf(join(folder, "service.json"));
      const ended = service().includes('"last"');
      if (!ended || isThere(join(folder, "unseen"))) return;
      // It was seen not to run: the next look comes once it runs again.
      await until(() => service().includes('"runs":2'), "it runs again");
    };
    const end = await home.kick();
    assert(end.kind === "ended");
    assertEquals([end.status.runs, home.starts(LABEL)], [2, 2]);
  }));

Deno.test("a launchd that falls silent ends the wait in bounded time", () =>
  onBadDay("true", "print-blocks", "", async (home) => {
    home.timeout = 20;
    const end = await home.kick("print", 0.5);
    assert(end.kind === "unstoppable");
    assertMatch(end.why, /print gave no answer/);
  }));
