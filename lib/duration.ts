// Lengths of time as people write and read them. Pure.

interface Unit {
  /** After the number when it is written, as in `15m`. */
  letter: string;
  /** After the number when it is shown, as in `15 min`. */
  name: string;
  seconds: number;
}

/** Largest first, which is also the order they are written in. */
const UNITS: readonly Unit[] = [
  { letter: "d", name: "d", seconds: 86400 },
  { letter: "h", name: "h", seconds: 3600 },
  { letter: "m", name: "min", seconds: 60 },
  { letter: "s", name: "s", seconds: 1 },
];

const SPELLING = new RegExp(
  `^(?=\\d)${UNITS.map((unit) => `(?:(\\d+)${unit.letter})?`).join("")}$`,
);

/**
 * Reads a length of time: `90` (seconds), `90s`, `15m`, `2h`, `3d`, `1h30m`.
 * Whole numbers; units from large to small, each at most once.
 *
 * @param text What the user wrote, without white space around it
 * @returns Seconds, or null if the text is no length of time
 */
export function parseDuration(text: string): number | null {
  const counts = SPELLING.exec(/^\d+$/.test(text) ? `${text}s` : text);
  if (!counts) return null;
  const total = UNITS.reduce(
    (sum, unit, index) => sum + Number(counts[index + 1] ?? 0) * unit.seconds,
    0,
  );
  // More than can be counted exactly is a typing error, not a length of time.
  return Number.isSafeInteger(total) ? total : null;
}

/**
 * A length of time for people: `45 s`, `5 min 10 s`, `2 h 5 min`, `3 d`. Two
 * units at most; what is smaller is cut off, and so are the seconds from ten
 * minutes on.
 *
 * @param seconds A length in seconds; below zero or no number counts as zero
 */
export function formatDuration(seconds: number): string {
  let rest = Math.max(0, Math.round(seconds) || 0);
  if (rest >= 600) rest -= rest % 60;
  const largest = UNITS.findIndex((unit) => rest >= unit.seconds);
  if (largest < 0) return "0 s";
  const parts: string[] = [];
  for (const unit of UNITS.slice(largest, largest + 2)) {
    const count = Math.floor(rest / unit.seconds);
    rest -= count * unit.seconds;
    if (count > 0) parts.push(`${count} ${unit.name}`);
  }
  return parts.join(" ");
}
