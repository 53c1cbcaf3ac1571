/** The sections of the torture, in full and in short. */
import { clocks } from "./clocks.ts";
import { failCalls } from "./faults.ts";
import { WAYS } from "./guard_scene.ts";
import { hostileInput } from "./hostile.ts";
import { intruders } from "./intruders.ts";
import { killBatches, killCatchups, killGuards } from "./kills.ts";
import { load } from "./load.ts";
import { badDays } from "./plain_faults.ts";
import type { Section } from "./report.ts";
import { signals } from "./signals.ts";

/** A kind of torture. */
export interface Kind {
  /** As the table has it. */
  title: string;
  /** What its cases are, in the plural. */
  unit: string;
  /** All of it, in minutes. */
  full(section: Section, seed: number): Promise<void>;
  /** A little of everything, in seconds, always the same. */
  short(section: Section): Promise<void>;
}

const SEED = 1;
const A_FEW = WAYS.filter(({ name }) =>
  ["skipped job", "job, at the limit", "probing call, answered"].includes(name)
);

/** By the names that the command line takes. */
export const KINDS: Readonly<Record<string, Kind>> = {
  guard: {
    title: "guard killed at a stop point",
    unit: "kill points",
    full: (s) => killGuards(s, WAYS, Infinity),
    short: (s) => killGuards(s, A_FEW, 8),
  },
  batch: {
    title: "batch killed at a stop point",
    unit: "kill points",
    full: (s) => killBatches(s, Infinity),
    short: (s) => killBatches(s, 5),
  },
  catchup: {
    title: "catch-up killed at a stop point",
    unit: "kill points",
    full: (s) => killCatchups(s, Infinity),
    short: (s) => killCatchups(s, 3),
  },
  faults: {
    title: "a system call fails",
    unit: "faults",
    full: (s) =>
      failCalls(s, WAYS, { calls: Infinity, batch: Infinity, rounds: 80 }),
    short: (s) => failCalls(s, A_FEW, { calls: 6, batch: 2, rounds: 1 }),
  },
  days: {
    title: "bad folders, disks and streams",
    unit: "ways",
    full: badDays,
    short: badDays,
  },
  load: {
    title: "load",
    unit: "guards at once",
    full: (s) => load(s, { guards: 200, updates: 50_000, agents: 1000 }),
    short: (s) => load(s, { guards: 16, updates: 1000, agents: 50 }),
  },
  signals: {
    title: "signals",
    unit: "signals",
    full: (s) =>
      signals(s, {
        names: Infinity,
        instants: 12,
        ways: Infinity,
        calls: Infinity,
        stops: 8,
        rounds: 24,
      }),
    short: (s) =>
      signals(s, {
        names: 1,
        instants: 2,
        ways: 1,
        calls: 3,
        stops: 1,
        rounds: 0,
      }),
  },
  input: {
    title: "hostile input",
    unit: "inputs",
    full: (s, seed) => hostileInput(s, 2000, seed),
    short: (s) => hostileInput(s, 60, SEED),
  },
  intruders: {
    title: "intruders",
    unit: "ways in",
    full: intruders,
    short: intruders,
  },
  clocks: {
    title: "clocks",
    unit: "histories",
    full: (s, seed) => clocks(s, { histories: 300, days: Infinity }, seed),
    short: (s) => clocks(s, { histories: 5, days: 2 }, SEED),
  },
};
