/**
 * `starting.ts LIST FOLDER COMMAND`: starts the command for each item, one
 * after another, as a batch does, and does nothing else.
 */
const [list = "", folder = "", command = ""] = Deno.args;
for (const item of Deno.readTextFileSync(list).split("\n")) {
  if (item === "") continue;
  const { success } = await new Deno.Command(command, {
    args: [item],
    env: { QUOTA_PART: `${folder}/${item}` },
    stdin: "null",
    stdout: "inherit",
    stderr: "inherit",
  }).spawn().status;
  if (!success) throw new Error(`${command} ${item} failed`);
}
