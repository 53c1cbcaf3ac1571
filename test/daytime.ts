/**
 * A time zone in which it is noon or a little later now: for tests that need a
 * slot that has passed today and none that is near, whatever the hour.
 *
 * @param now Epoch seconds
 */
export function noonZone(now: number): string {
  const hour = Math.floor(now / 3600) % 24;
  const east = 12 - hour;
  // POSIX signs: Etc/GMT-3 lies three hours east of Greenwich.
  return east === 0
    ? "Etc/GMT"
    : `Etc/GMT${east > 0 ? "-" : "+"}${Math.abs(east)}`;
}
