import { assertEquals } from "@std/assert";
import { formatDuration, parseDuration } from "../lib/duration.ts";

Deno.test("parseDuration() reads a bare number as seconds, and each unit", {
  permissions: "none",
}, () => {
  assertEquals(parseDuration("90"), 90);
  assertEquals(parseDuration("90s"), 90);
  assertEquals(parseDuration("15m"), 900);
  assertEquals(parseDuration("2h"), 7200);
  assertEquals(parseDuration("3d"), 259200);
  assertEquals(parseDuration("1h30m"), 5400);
  assertEquals(parseDuration("1d2h3m4s"), 93784);
  assertEquals(parseDuration("0"), 0);
});

Deno.test("parseDuration() refuses what is no length of time", {
  permissions: "none",
}, () => {
  const wrong = [
    "",
    "s",
    "h2",
    "-3",
    "1.5h",
    "2h 5m",
    " 2h",
    "30m1h",
    "1h1h",
    "2H",
  ];
  for (const text of [...wrong, "99999999999999999999"]) {
    assertEquals(parseDuration(text), null, `'${text}'`);
  }
});

Deno.test("formatDuration() shows two neighbouring units at most", {
  permissions: "none",
}, () => {
  assertEquals(formatDuration(45), "45 s");
  assertEquals(formatDuration(59.6), "1 min");
  assertEquals(formatDuration(310), "5 min 10 s");
  assertEquals(formatDuration(655), "10 min");
  assertEquals(formatDuration(7500), "2 h 5 min");
  assertEquals(formatDuration(3605), "1 h");
  assertEquals(formatDuration(3 * 86400 + 60), "3 d");
  assertEquals(formatDuration(3 * 86400 + 3660), "3 d 1 h");
});

Deno.test("formatDuration() takes what is no length for zero", {
  permissions: "none",
}, () => {
  assertEquals(formatDuration(0), "0 s");
  assertEquals(formatDuration(-5), "0 s");
  assertEquals(formatDuration(Number.NaN), "0 s");
});
