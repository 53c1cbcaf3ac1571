/** Clocks that jump, days of 23 and 25 hours, zones that change, machines that sleep. */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path/join";
import { circuitStatus, claimProbe, openByHand } from "../../lib/circuit.ts";
import { refusedMarker } from "../../lib/marker.ts";
import { LOCK_WAIT, readCircuit, updateState } from "../../lib/state.ts";
import { Stage } from "../catchup_stage.ts";
import { Chance } from "./fuzz.ts";
import { spread } from "./pool.ts";
import { Broken, type Section } from "./report.ts";

const DAY = 86_400;
const HALF_HOUR = 1800;
const ZONES = [
  "UTC",
  "Asia/Tokyo",
  "America/New_York",
  "Europe/London",
  "Asia/Kolkata",
  "Australia/Lord_Howe",
  "Pacific/Kiritimati",
] as const;

function instant(milliseconds: number): string {
  return Temporal.Instant.fromEpochMilliseconds(milliseconds).toString();
}

/** So many random histories, then so many days on purpose. */
export async function clocks(
  section: Section,
  most: { histories: number; days: number },
  seed: number,
): Promise<void> {
  for (let i = 0; i < most.histories; i++) {
    await section.case(`history of seed ${seed + i}`, async () => {
      await history(new Chance(seed + i));
    });
  }
  await daysOfChange(section, most.days);
  await jumps(section);
  await sleeps(section);
  await asleepAtTheLock(section);
  await journeys(section);
}

/** The starts by the catch-up for each skip: never two. */
class Kicks {
  readonly #stage: Stage;
  readonly #skips = new Map<string, number>();
  readonly #made = new Map<string, number>();

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  skip(label: string, ts: number): void {
    this.#skips.set(label, ts);
  }

  ran(label: string): void {
    this.#skips.delete(label);
  }

  /** A round, and what it has started. */
  async round(): Promise<void> {
    const { starts } = this.#stage.launchd;
    const before = starts.length;
    await this.#stage.run();
    for (const label of starts.slice(before)) {
      const skip = this.#skips.get(label);
      if (skip === undefined) {
        throw new Broken("doubled", `${label} was not owed`);
      }
      const key = `${label} ${skip}`;
      const times = (this.#made.get(key) ?? 0) + 1;
      this.#made.set(key, times);
      if (times > 1) throw new Broken("doubled", `${key}, ${times} times`);
    }
  }
}

/** Skips, runs, rounds and jumps of the clock in any order; then a quiet day. */
async function history(chance: Chance): Promise<void> {
  using stage = new Stage(
    instant(Date.UTC(2026, chance.below(12), 1 + chance.below(28))),
    chance.of(ZONES),
  );
  const labels = ["one", "two", "three"];
  const kicks = new Kicks(stage);
  for (const label of labels) {
    stage.job(label, { log: [], end: "silent", takes: 1 + chance.below(4000) });
  }
  let stamp = 0;
  const skip = (label: string): void => {
    // Two skips of one second are one.
    const ts = Math.max(stage.before(0), stamp + 1);
    stamp = ts;
    kicks.skip(label, ts);
    log(stage, label, stage.skip(label, ts));
  };
  for (let step = 0; step < 40; step++) {
    const label = labels[chance.below(labels.length)] ?? "one";
    switch (chance.below(10)) {
      case 0:
        stage.host.set(stage.host.now() - chance.of([4, 3600, DAY]));
        break;
      case 1:
        stage.host.set(stage.host.now() + chance.of([3600, DAY, 365 * DAY]));
        break;
      case 2:
        stage.host.suspend(chance.below(2 * DAY));
        break;
      case 3: {
        const zone = chance.of(ZONES);
        stage.host.timeZone = () => zone;
        break;
      }
      case 4:
        await stage.openCircuit(chance.below(20_000));
        break;
      case 5:
        log(stage, label, stage.ran(label, Math.max(stage.before(0), stamp)));
        kicks.ran(label);
        break;
      case 6:
      case 7:
        skip(label);
        break;
      default:
        stage.host.advance(chance.below(4 * 3600));
        await kicks.round();
    }
  }
  // However wild it was: on a quiet day each skip is made up, once.
  stage.host.timeZone = () => "UTC";
  stage.host.set(
    Math.ceil((Math.max(stamp, stage.host.now()) + 3 * DAY) / DAY) * DAY +
      DAY / 2,
  );
  await stage.set(({ circuit }) => ({
    circuit: { ...circuit, open_until: 0, hold: 0 },
    result: null,
  }));
  for (const label of labels) skip(label);
  const before = stage.launchd.starts.length;
  await kicks.round();
  const made = stage.launchd.starts.slice(before);
  for (const label of labels) {
    if (!made.includes(label)) {
      throw new Broken("lost", `${label}: ${stage.told.slice(-9).join("; ")}`);
    }
  }
}

function log(stage: Stage, label: string, line: string): void {
  Deno.writeTextFileSync(stage.log(label), line + "\n", { append: true });
}

/** Days on which the clocks change, a round each half hour. */
async function daysOfChange(section: Section, most: number): Promise<void> {
  const days: [string, string][] = [
    ["America/New_York", "2026-03-08"],
    ["America/New_York", "2026-11-01"],
    ["Europe/London", "2026-03-29"],
    ["Europe/London", "2026-10-25"],
    ["Australia/Lord_Howe", "2026-04-05"],
    ["Australia/Lord_Howe", "2026-10-04"],
    ["America/Santiago", "2026-09-06"],
  ];
  for (const [zone, day] of spread(days, most)) {
    for (const hour of [0, 1, 2, 3]) {
      await section.case(`${zone}, ${day}, slot at ${hour}:30`, async () => {
        const midnight = Temporal.PlainDate.from(day).toZonedDateTime(zone);
        using stage = new Stage(instant(midnight.epochMilliseconds), zone);
        const calendar = { StartCalendarInterval: { Hour: hour, Minute: 30 } };
        stage.job("one", { log: [], keys: calendar });
        const slot = midnight.add({ hours: hour, minutes: 30 });
        stage.host.set(slot.epochMilliseconds / 1000 + 2);
        const ts = stage.before(0);
        log(stage, "one", refusedMarker("one", "quota-during-run", 1, ts));
        const end = midnight.add({ days: 1 }).epochMilliseconds / 1000;
        while (stage.host.now() < end - HALF_HOUR) {
          stage.host.advance(HALF_HOUR);
          await stage.run();
        }
        const { length } = stage.launchd.starts;
        if (length < 1) throw new Broken("lost", stage.told.join("; "));
        if (length > 1) throw new Broken("doubled", `${length} starts`);
      });
    }
  }
}

/** A circuit and its probe when the clock is set. */
async function jumps(section: Section): Promise<void> {
  for (
    const [name, by] of [
      ["back a day", -DAY],
      ["back a year", -365 * DAY],
      ["forward a day", DAY],
      ["forward a year", 365 * DAY],
    ] as const
  ) {
    await section.case(`the clock steps ${name}`, async () => {
      using stage = new Stage();
      await stage.openCircuit(7200);
      await stage.set(({ circuit }) => {
        const claimed = claimProbe(circuit, stage.host.now(), 1800);
        return { ...(claimed && { circuit: claimed }), result: null };
      });
      stage.host.set(stage.host.now() + by);
      const now = stage.host.now();
      const circuit = await readCircuit(stage.state, stage.host);
      const { is_open: open, remaining_seconds: left } = circuitStatus(
        circuit,
        now,
      );
      // A day back it is open for a day more; what is too far off is not believed.
      assertEquals(open, by === -DAY);
      assert(left <= 33 * DAY);
      // A probe far ahead counts as never: it does not bar the next for a day.
      assert(claimProbe(circuit, now, 1800) !== null);
      const held = openByHand(circuit, now + 60, "drill", now);
      assert(circuitStatus(held, now).is_open);
    });
  }
}

/** The machine sleeps in the middle of a wait. */
async function sleeps(section: Section): Promise<void> {
  for (const hours of [1, 5, 30]) {
    await section.case(`asleep for ${hours} h while a job runs`, async () => {
      using stage = new Stage();
      stage.job("long", { takes: 2000 });
      stage.job("next");
      let slept = false;
      stage.host.onSleep = () => {
        if (slept || stage.launchd.jobs.get("long")?.pid === null) return;
        slept = true;
        stage.host.suspend(hours * 3600);
      };
      const { failed } = await stage.run();
      assert(slept);
      assertEquals(failed, 0, stage.told.join("; "));
      // It was not stopped: asleep it had no time.
      const kills = stage.launchd.calls.filter((call) => /^kill/.test(call));
      assertEquals(kills, []);
      const { starts } = stage.launchd;
      assertEquals(starts.filter((label) => label === "long").length, 1);
      assert(starts.filter((label) => label === "next").length <= 1);
    });
  }
}

/** Asleep while others hold the lock: that is no time of waiting. */
async function asleepAtTheLock(section: Section): Promise<void> {
  for (const freed of [true, false]) {
    const end = freed ? "freed" : "held on";
    await section.case(`asleep while the lock is ${end}`, async () => {
      using stage = new Stage();
      await stage.openCircuit(7200);
      const before = await readCircuit(stage.state, stage.host);
      using lock = Deno.openSync(join(stage.state, "state.json.lock"), {
        write: true,
      });
      lock.lockSync(true);
      const begun = stage.host.monotonic();
      let naps = 0;
      stage.host.onSleep = () => {
        if (naps++ < 5) stage.host.suspend(3600);
        else if (freed && naps === 10) lock.unlockSync();
      };
      const { host } = stage;
      const done = await updateState(stage.state, host, ({ circuit }) => ({
        circuit: openByHand(circuit, host.now() + 60, "drill", host.now()),
        result: null,
      }));
      assertEquals(done.done, freed);
      const waited = host.monotonic() - begun;
      assert(freed ? waited < LOCK_WAIT : waited < LOCK_WAIT + 1, `${waited}`);
      if (!freed) {
        assertEquals(await readCircuit(stage.state, host), before);
      }
    });
  }
}

/** The zone changes between a skip and the rounds of the next hours. */
async function journeys(section: Section): Promise<void> {
  for (const from of ZONES) {
    await section.case(`from ${from} to all other zones`, async () => {
      for (const to of ZONES) {
        using stage = new Stage("2026-11-30T12:00:00Z", from);
        const local = (time: string): Temporal.ZonedDateTime =>
          Temporal.Instant.from(time).toZonedDateTimeISO(to);
        const there = local("2026-11-30T12:20:00Z");
        // A slot each hour, ten minutes before there: passed, and none is near.
        const hours = Array.from({ length: 24 }, (_, Hour) => ({
          Hour,
          Minute: (there.minute + 50) % 60,
        }));
        stage.job("one", { log: [], keys: { StartCalendarInterval: hours } });
        log(stage, "one", stage.skip("one", stage.before(60)));
        stage.host.timeZone = () => to;
        stage.host.set("2026-11-30T12:20:00Z");
        const sameDay = local("2026-11-30T11:59:00Z").toPlainDate()
          .equals(there.toPlainDate());
        for (let round = 0; round < 3; round++) {
          await stage.run();
          stage.host.advance(60);
        }
        const { length } = stage.launchd.starts;
        if (length > 1) throw new Broken("doubled", `${to}: ${length} starts`);
        if (sameDay && length < 1) {
          throw new Broken("lost", `${to}: ${stage.told.join("; ")}`);
        }
      }
    });
  }
}
