import type { CatchupWorld } from "./catchup_world.ts";
import type { Host } from "./host.ts";
import { pauseOrStop } from "./stop.ts";

/** So long launchd has after a wake to start what it makes up itself, in seconds. */
const LAUNCHD_FIRST = 60;
/** A shorter sleep hides no slot: those of the last minute are minded anyway. */
const SHORTEST_SLEEP = 60;

/** Notices that the machine slept: the wall clock ran ahead of the monotonic one. */
export class WakeWatch {
  #ahead: number;
  #justWoken: boolean;

  /**
   * Watches from now on.
   *
   * @param justWoken The machine seems to have slept until a moment ago
   */
  constructor(host: Host, justWoken: boolean) {
    this.#ahead = aheadOf(host);
    this.#justWoken = justWoken;
  }

  /**
   * Waits a minute if the machine has slept since the last call: launchd makes up
   * the slots of that time itself.
   */
  async letLaunchdGoFirst(
    { host, stop, tell, progress }: CatchupWorld,
  ): Promise<void> {
    while (this.#hasSlept(host) && !stop.aborted) {
      tell(`the machine slept; launchd goes first, for ${LAUNCHD_FIRST} s`);
      progress("launchd goes first");
      await pauseOrStop(host, stop, LAUNCHD_FIRST);
      progress(null);
    }
  }

  #hasSlept(host: Host): boolean {
    const ahead = aheadOf(host);
    const slept = this.#justWoken || ahead - this.#ahead > SHORTEST_SLEEP;
    this.#ahead = ahead;
    this.#justWoken = false;
    return slept;
  }
}

function aheadOf(host: Host): number {
  return host.now() - host.monotonic();
}
