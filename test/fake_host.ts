import type { Host } from "../lib/host.ts";

/** A host whose time stands still until it is moved or slept through. */
export interface FakeHost extends Host {
  /** Lines that were said, oldest first. */
  said: string[];
  /** Seconds of each sleep, oldest first. */
  slept: number[];
  /** Sets the wall clock alone, as the user or a time server does. */
  set(time: number | string): void;
  /** Lets time pass on both clocks. */
  advance(seconds: number): void;
  /** Lets time pass on the wall clock alone: the machine sleeps. */
  suspend(seconds: number): void;
  /** Called in each sleep after the time has passed. */
  onSleep: () => void | Promise<void>;
}

/**
 * A movable clock that implements {@linkcode Host}.
 *
 * @param start epoch seconds, or a Temporal.Instant as text
 */
export function fakeHost(
  start: number | string,
  options: { env?: Record<string, string>; timeZone?: string } = {},
): FakeHost {
  const { env = {}, timeZone = "UTC" } = options;
  let now = seconds(start);
  let monotonic = 1000;
  const host: FakeHost = {
    said: [],
    slept: [],
    now: () => now,
    monotonic: () => monotonic,
    async sleep(length): Promise<void> {
      host.slept.push(length);
      host.advance(length);
      await host.onSleep();
    },
    env: (name) => env[name] || undefined,
    timeZone: () => timeZone,
    say(line): void {
      host.said.push(line);
    },
    set(time): void {
      now = seconds(time);
    },
    advance(length): void {
      now += length;
      monotonic += length;
    },
    suspend(length): void {
      now += length;
    },
    onSleep(): void {},
  };
  return host;
}

function seconds(time: number | string): number {
  return typeof time === "number"
    ? time
    : Temporal.Instant.from(time).epochMilliseconds / 1000;
}
