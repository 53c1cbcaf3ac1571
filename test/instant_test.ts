import { assertEquals } from "@std/assert";
import { formatInstant, parseInstant } from "../lib/instant.ts";

const pure = { permissions: "none" } as const;
const TOKYO = "Asia/Tokyo";

function at(text: string): number {
  return Temporal.Instant.from(text).epochMilliseconds / 1000;
}

const NOW = at("2026-11-30T16:30:15Z");

Deno.test("parseInstant() reads a length of time from now", pure, () => {
  assertEquals(parseInstant("+5m", NOW, "UTC"), NOW + 300);
  assertEquals(parseInstant(" +1h30m ", NOW, "UTC"), NOW + 5400);
  assertEquals(parseInstant("+0", NOW, "UTC"), NOW);
  assertEquals(parseInstant("+", NOW, "UTC"), null);
  assertEquals(parseInstant("+soon", NOW, "UTC"), null);
});

Deno.test(
  "parseInstant() reads a clock as the next such one in the zone",
  pure,
  () => {
    assertEquals(parseInstant("17:30", NOW, "UTC"), at("2026-11-30T17:30Z"));
    assertEquals(parseInstant("3pm", NOW, "UTC"), at("2026-12-01T15:00Z"));
    // Half past one in the night there.
    assertEquals(parseInstant("17:30", NOW, TOKYO), at("2026-12-01T08:30Z"));
  },
);

Deno.test(
  "parseInstant() reads dates with and without a zone, and epochs",
  pure,
  () => {
    assertEquals(
      parseInstant("2026-12-01T08:00", NOW, TOKYO),
      at("2026-11-30T23:00Z"),
    );
    assertEquals(
      parseInstant("2026-12-01 08:00", NOW, "America/New_York"),
      at("2026-12-01T13:00Z"),
    );
    assertEquals(
      parseInstant("2026-12-01T08:00+02:00", NOW, TOKYO),
      at("2026-12-01T06:00Z"),
    );
    assertEquals(
      parseInstant("2026-12-01", NOW, TOKYO),
      at("2026-11-30T15:00Z"),
    );
    assertEquals(parseInstant("1796056215", NOW, TOKYO), 1_796_056_215);
    assertEquals(parseInstant("1796056215.5", NOW, TOKYO), 1_796_056_215.5);
  },
);

Deno.test("parseInstant() refuses what is no instant", pure, () => {
  for (
    const text of ["", "soon", "25:00", "2026-13-01", "2026-12-01T99", "-5m"]
  ) {
    assertEquals(parseInstant(text, NOW, "UTC"), null, text);
  }
});

Deno.test("formatInstant() shows the day only if it is another", pure, () => {
  const show = (text: string, zone: string): string =>
    formatInstant(at(text), NOW, zone);
  assertEquals(show("2026-11-30T18:05:59Z", "UTC"), "18:05");
  assertEquals(show("2026-12-01T00:00Z", "UTC"), "Tue 1 Dec 00:00");
  assertEquals(show("2026-12-01T00:00Z", TOKYO), "09:00");
  assertEquals(show("2026-11-30T14:59Z", TOKYO), "Mon 30 Nov 23:59");
  assertEquals(
    show("2026-11-01T05:30Z", "America/New_York"),
    "Sun 1 Nov 01:30",
  );
});
