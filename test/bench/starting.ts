/**
 * `starting.ts LIST FOLDER COMMAND [flushed]`: starts the command for each item,
 * one after another, as a batch does, and does nothing else. With `flushed` it
 * also gets each file and a marker of it to the disk, in the order that a batch
 * keeps.
 */
const [list = "", folder = "", command = "", flushed] = Deno.args;

function flush(path: string): void {
  using file = Deno.openSync(path, { read: true });
  file.syncSync();
}

/** Gives a file its name once it is on disk, and the name too. */
function keep(from: string, to: string, parent: string): void {
  flush(from);
  Deno.renameSync(from, to);
  flush(parent);
}

Deno.mkdirSync(`${folder}/done`);
for (const item of Deno.readTextFileSync(list).split("\n")) {
  if (item === "") continue;
  const part = `${folder}/${item}`;
  const { success } = await new Deno.Command(command, {
    args: [item],
    env: { QUOTA_PART: part },
    stdin: "null",
    stdout: "inherit",
    stderr: "inherit",
  }).spawn().status;
  if (!success) throw new Error(`${command} ${item} failed`);
  if (flushed === undefined) continue;
  keep(part, `${part}.out`, folder);
  Deno.writeTextFileSync(`${folder}/marker`, "{}\n");
  keep(`${folder}/marker`, `${folder}/done/${item}`, `${folder}/done`);
}
