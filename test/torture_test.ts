/** A little of everything that `deno task torture` does in full. */
import { assertEquals } from "@std/assert";
import { Broken, Section, table } from "./torture/report.ts";
import { KINDS } from "./torture/sections.ts";

for (const { title, short } of Object.values(KINDS)) {
  Deno.test(`torture in short: ${title}`, async () => {
    const section = new Section(title);
    await section.guarded(title, () => short(section));
    assertEquals(section.failures, []);
  });
}

Deno.test("table() has a row a section: what, how many, and how they failed", async () => {
  const good = new Section("load", "guards at once");
  for (let i = 0; i < 1200; i++) await good.case("", () => {});
  good.more.push("50,000 updates");
  const bad = new Section("clocks", "histories");
  for (const fault of ["lost", "hung"] as const) {
    await bad.case(fault, () => {
      throw new Broken(fault, "as it should be here");
    });
  }
  await bad.guarded("all of it", () => {
    throw new Error("as it should be here");
  });
  assertEquals(
    table([good, bad]),
    `| what   | how many                             |                    failures |
| ------ | ------------------------------------ | --------------------------: |
| load   | 1,200 guards at once, 50,000 updates |                           0 |
| clocks | 2 histories                          | 3 (1 lost, 1 hung, 1 wrong) |`,
  );
});
