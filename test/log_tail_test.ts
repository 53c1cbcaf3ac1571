import { assertEquals, assertThrows } from "@std/assert";
import { join } from "@std/path/join";
import { latestMarkerInLog, markersInLogSince } from "../lib/log_tail.ts";

const MARKER = "CLAUDE_QUOTA_JOB_RAN job=me exit=0 ts=1796000000";
const MIB = 1024 * 1024;

/** Writes `before` bytes of other lines, the marker, and `after` bytes more. */
function logOf(
  folder: string,
  before: number,
  after: number,
  marker = MARKER,
): string {
  const path = join(folder, "log");
  const line = "äöü: nothing that matters here\n";
  const bytes = new TextEncoder().encode(line).length;
  using file = Deno.openSync(path, {
    create: true,
    write: true,
    truncate: true,
  });
  const write = (text: string): void => {
    let rest = new TextEncoder().encode(text);
    while (rest.length > 0) rest = rest.subarray(file.writeSync(rest));
  };
  write(line.repeat(Math.ceil(before / bytes)));
  write(`${marker}\n`);
  write(line.repeat(Math.ceil(after / bytes)));
  return path;
}

function inFolder(work: (folder: string) => void): void {
  const folder = Deno.makeTempDirSync({ prefix: "log tail " });
  try {
    work(folder);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

Deno.test("latestMarkerInLog() finds a marker wherever it lies in the last 16 MiB", () => {
  inFolder((folder) => {
    for (const after of [0, 65_000, 65_536, 70_000, MIB, 5 * MIB, 15 * MIB]) {
      const path = logOf(folder, 3 * MIB, after);
      assertEquals(latestMarkerInLog(path, "me")?.ts, 1796000000, `${after}`);
    }
  });
});

Deno.test("latestMarkerInLog() gives up beyond 16 MiB", () => {
  inFolder((folder) => {
    const path = logOf(folder, 0, 17 * MIB);
    assertEquals(latestMarkerInLog(path, "me"), null);
  });
});

Deno.test("latestMarkerInLog() takes no marker that the block cuts off at its front", () => {
  inFolder((folder) => {
    const path = join(folder, "log");
    const rest = "x".repeat(65_536 - MARKER.length - 1);
    // The block of 64 KiB begins in the middle of the line, right at the marker.
    Deno.writeTextFileSync(path, `quoted: ${MARKER}\n${rest}`);
    assertEquals(latestMarkerInLog(path, "me"), null);
  });
});

Deno.test("latestMarkerInLog() goes on behind a line longer than a block", () => {
  inFolder((folder) => {
    const path = join(folder, "log");
    Deno.writeTextFileSync(path, `${MARKER}\n${"x".repeat(300_000)}`);
    assertEquals(latestMarkerInLog(path, "me")?.kind, "RAN");
  });
});

Deno.test("latestMarkerInLog() finds nothing in what is missing or no file", async () => {
  const folder = Deno.makeTempDirSync({ prefix: "log tail " });
  const fifo = join(folder, "fifo");
  await new Deno.Command("mkfifo", { args: [fifo] }).output();
  const empty = join(folder, "empty");
  Deno.writeTextFileSync(empty, "");
  for (
    const path of [fifo, folder, empty, join(folder, "no"), `${empty}/under`]
  ) {
    assertEquals(latestMarkerInLog(path, "me"), null, path);
  }
  Deno.removeSync(folder, { recursive: true });
});

Deno.test({
  name: "latestMarkerInLog() does not take a forbidden log for an empty one",
  permissions: "none",
  fn: () =>
    void assertThrows(() => latestMarkerInLog("/var/log/me", "me"), Error),
});

Deno.test("markersInLogSince() takes no end of a line but a newline", () => {
  const folder = Deno.makeTempDirSync();
  try {
    const path = join(folder, "log");
    const other = MARKER.replace("RAN", "SKIPPED");
    const quotes = ["\r", "\u2028", "\u2029", "\0", " "]
      .map((before) => `quoted:${before}${other}\n`);
    Deno.writeTextFileSync(path, `${quotes.join("")}${MARKER}\r\n`);
    const kinds = markersInLogSince(path, "me", 0).map(({ kind }) => kind);
    assertEquals(kinds, ["RAN"]);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
});
