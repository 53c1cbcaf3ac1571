/** A little of everything that `deno task torture` does in full. */
import { assertEquals } from "@std/assert";
import { Section } from "./torture/report.ts";
import { KINDS } from "./torture/sections.ts";

for (const { title, short } of Object.values(KINDS)) {
  Deno.test(`torture in short: ${title}`, async () => {
    const section = new Section(title);
    await section.guarded(title, () => short(section));
    assertEquals(section.failures, []);
  });
}
