/**
 * One of many processes that record at the same time that an item is finished:
 * `recorder.ts WAY FOLDER NAME`. It waits for the file `go`, so that all of
 * them are at it together.
 */
import { join } from "@std/path/join";
import { readIndex } from "./naive.ts";

const [way, folder = "", name = ""] = Deno.args;
const index = join(folder, "index.json");

function replaceIndex(temp: string): void {
  const items = [...readIndex(folder).items, { name, bytes: 1 }];
  {
    using file = Deno.createSync(temp);
    file.writeSync(new TextEncoder().encode(JSON.stringify({ items })));
    file.syncSync();
  }
  Deno.renameSync(temp, index);
}

Deno.writeTextFileSync(join(folder, `${name}.ready`), "");
while (true) {
  try {
    Deno.statSync(join(folder, "go"));
    break;
  } catch {
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
Deno.writeTextFileSync(join(folder, `${name}.md`), "x");
switch (way) {
  case "fixed":
    replaceIndex(`${index}.part`);
    break;
  case "private":
    replaceIndex(`${index}.${Deno.pid}.part`);
    break;
  case "flock": {
    using lock = Deno.openSync(join(folder, "lock"), {
      write: true,
      create: true,
    });
    await lock.lock(true);
    replaceIndex(`${index}.${Deno.pid}.part`);
  }
}
