// The catch-up is told to end: launchd at logout, `bootout`, Ctrl-C. A round then
// makes no new kick; the job that was kicked goes on.

import type { Host } from "./host.ts";

const SIGNALS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;

/**
 * Listens for the signals that end a program.
 *
 * @returns Aborted at the first one, with the exit code as its reason: 128 + n
 */
export function stopOnSignals(): AbortSignal {
  const controller = new AbortController();
  for (const [name, number] of Object.entries(SIGNALS)) {
    Deno.addSignalListener(
      name as keyof typeof SIGNALS,
      () => controller.abort(128 + number),
    );
  }
  return controller.signal;
}

/** The exit code of a stop; null if there was none. */
export function stopCode(stop: AbortSignal): number | null {
  return stop.aborted && typeof stop.reason === "number" ? stop.reason : null;
}

/** Sleeps, but not longer than until the stop. */
export async function pauseOrStop(
  host: Pick<Host, "sleep">,
  stop: AbortSignal,
  seconds: number,
): Promise<void> {
  if (stop.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const onStop = (): void => resolve();
  stop.addEventListener("abort", onStop, { once: true });
  await Promise.race([host.sleep(seconds), promise]);
  stop.removeEventListener("abort", onStop);
}
