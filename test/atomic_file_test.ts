import { assert, assertEquals, assertThrows } from "@std/assert";
import { join } from "@std/path/join";
import {
  replaceFile,
  syncFile,
  TEMP_SUFFIX,
  writeAllSync,
} from "../lib/atomic_file.ts";
import { TempFolder } from "./files.ts";

Deno.test("replaceFile() makes and replaces a file, 0600, and leaves nothing else", () => {
  using folder = new TempFolder();
  const path = join(folder.path, "a");
  replaceFile(path, "one", { sync: true });
  assertEquals(Deno.readTextFileSync(path), "one");
  assertEquals((Deno.statSync(path).mode ?? 0) & 0o777, 0o600);
  replaceFile(path, new Uint8Array([0, 255]), { mode: 0o700 });
  assertEquals([...Deno.readFileSync(path)], [0, 255]);
  assertEquals((Deno.statSync(path).mode ?? 0) & 0o777, 0o700);
  assertEquals(folder.names(), ["a"]);
});

Deno.test("replaceFile() replaces a link and leaves what it led to alone", () => {
  using folder = new TempFolder();
  const target = join(folder.path, "target");
  const link = join(folder.path, "link");
  Deno.writeTextFileSync(target, "mine");
  Deno.symlinkSync(target, link);
  replaceFile(link, "new");
  assertEquals(Deno.readTextFileSync(target), "mine");
  assert(!Deno.lstatSync(link).isSymlink);
});

Deno.test("replaceFile() that fails leaves the old content and no temporary file", () => {
  using folder = new TempFolder();
  const path = join(folder.path, "a");
  Deno.mkdirSync(path);
  Deno.writeTextFileSync(join(path, "inside"), "kept");
  assertThrows(() => replaceFile(path, "new"));
  assertEquals(folder.names(), ["a"]);
  assertThrows(
    () => replaceFile(join(folder.path, "no", "such"), "new"),
    Deno.errors.NotFound,
  );
  assertEquals(folder.names(), ["a"]);
});

Deno.test("replaceFile() writes to a name in the same folder that says it is temporary", () => {
  using folder = new TempFolder();
  const path = join(folder.path, "a");
  Deno.mkdirSync(path);
  const { message } = assertThrows(() => replaceFile(path, "new"));
  assert(message.includes(`${path}.${Deno.pid}-`), message);
  assert(message.includes(TEMP_SUFFIX), message);
});

Deno.test("writeAllSync() goes on after short writes", () => {
  const written: number[] = [];
  const file = {
    writeSync(bytes: Uint8Array): number {
      written.push(...bytes.subarray(0, 3));
      return Math.min(3, bytes.length);
    },
  };
  writeAllSync(file, Uint8Array.from({ length: 10 }, (_, i) => i));
  assertEquals(written, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});

Deno.test("syncFile() minds only a disk that fails, not one that knows no flush", () => {
  const flush = (code: string): void =>
    syncFile({
      syncSync: () => {
        throw Object.assign(new Error(code), { code });
      },
    });
  for (const code of ["ENOTSUP", "EINVAL"]) flush(code);
  for (const code of ["EIO", "ENOSPC"]) assertThrows(() => flush(code));
});
