/**
 * Does something after so many seconds, unless it is called off. `setTimeout`
 * would do, but the first one loads Deno's timers for Node, which takes a third
 * as long as starting Deno.
 *
 * @returns Calls it off; a process does not wait for what was called off
 */
export function after(seconds: number, work: () => void): () => void {
  const signal = AbortSignal.timeout(Math.ceil(seconds * 1000));
  const onTime = (): void => work();
  signal.addEventListener("abort", onTime, { once: true });
  return () => signal.removeEventListener("abort", onTime);
}
