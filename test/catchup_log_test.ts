import { assert, assertEquals, assertThrows } from "@std/assert";
import { join } from "@std/path/join";
import { noteKick } from "../lib/catchup_log.ts";
import type { KickNote } from "../lib/catchup_world.ts";
import { textOf } from "./files.ts";

const NOTE: KickNote = {
  label: "com.me.post",
  skip_ts: 1796000000,
  kicked_at: 1796001800,
  seconds: 61,
  outcome: "ran, exit 0",
  exit: 0,
};

function inFolder(work: (folder: string) => void): void {
  const folder = Deno.makeTempDirSync({ prefix: "catchup log " });
  try {
    work(folder);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

Deno.test("noteKick() adds a line of JSON for each kick, for the user's eyes only", () => {
  inFolder((folder) => {
    noteKick(folder, NOTE);
    noteKick(folder, { ...NOTE, exit: null });
    const path = join(folder, "catchup.log");
    const lines = textOf(path).split("\n");
    assertEquals(lines.length, 3);
    assertEquals(JSON.parse(lines[0] ?? ""), NOTE);
    assertEquals((Deno.statSync(path).mode ?? 0) & 0o777, 0o600);
  });
});

Deno.test("noteKick() begins a new log at 1 MiB and keeps the old one", () => {
  inFolder((folder) => {
    const path = join(folder, "catchup.log");
    Deno.writeTextFileSync(`${path}.1`, "older");
    Deno.writeTextFileSync(path, "x".repeat(1024 * 1024 - 1));
    noteKick(folder, NOTE);
    assertEquals(textOf(`${path}.1`), "older");
    noteKick(folder, NOTE);
    assertEquals(textOf(path), JSON.stringify(NOTE) + "\n");
    assert(textOf(`${path}.1`).length > 1024 * 1024);
  });
});

Deno.test("noteKick() writes through no link", () => {
  inFolder((folder) => {
    Deno.symlinkSync(join(folder, "elsewhere"), join(folder, "catchup.log"));
    assertThrows(() => noteKick(folder, NOTE), Error, "is a link");
    assertEquals(textOf(join(folder, "elsewhere")), "");
  });
});
