/** Which cases, and how many at a time. */
import type { SystemCall } from "./strace.ts";

/** Works through a list, a few at a time: a case waits for processes most of its time. */
export async function inParallel<T>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
  width = 3,
): Promise<void> {
  const queue = [...items];
  const worker = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
      await work(item);
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
}

/** All calls, or of those after which most is different at most so many. */
export function chosen(
  calls: readonly SystemCall[],
  most: number,
): SystemCall[] {
  if (most === Infinity) return [...calls];
  const telling = /^(rename|write|unlink)/;
  return spread(calls.filter(({ name }) => telling.test(name)), most);
}

/** At most so many of them, evenly spread, the last one always. */
export function spread<T>(items: readonly T[], most: number): T[] {
  if (items.length <= most) return [...items];
  if (most === 0) return [];
  const step = (items.length - 1) / Math.max(1, most - 1);
  return Array.from({ length: most }, (_, i) => items[Math.round(i * step)])
    .filter((item) => item !== undefined);
}
