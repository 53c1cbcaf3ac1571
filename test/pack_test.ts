import { assertEquals, assertMatch } from "@std/assert";
import { join } from "@std/path/join";
import { pack, withEagerFunctions } from "../tools/pack.ts";
import { TempFolder, textOf } from "./files.ts";

async function deno(...args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args,
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

/** Splits and packs the sources as the bundles are made; main.ts starts. */
async function packed(
  folder: string,
  sources: Record<string, string>,
): Promise<string> {
  for (const [name, text] of Object.entries(sources)) {
    Deno.writeTextFileSync(join(folder, name), text);
  }
  const split = join(folder, "split");
  const bundle = ["bundle", "--quiet"];
  const entry = join(folder, "main.ts");
  await deno(...bundle, "--code-splitting", "--outdir", split, entry);
  const text = await pack(split, "main.js", async (from, to, external) => {
    const flags = external.flatMap((file) => ["--external", file]);
    await deno(...bundle, ...flags, "--output", to, from);
  });
  const file = join(folder, "packed.js");
  Deno.writeTextFileSync(file, text);
  return file;
}

Deno.test("withEagerFunctions() moves functions to the front, in parentheses", () => {
  const text = `const n = 1;
function a(x) {
  return x + n;
}
async function b() {
  await a(2);
}
class C {
  m() {
  }
}
function* d() {
  yield "}";
}
a(1);
`;
  assertEquals(
    withEagerFunctions(text),
    `var a = (function a(x) {
  return x + n;
});
var b = (async function b() {
  await a(2);
});
var d = (function* d() {
  yield "}";
});
const n = 1;
class C {
  m() {
  }
}
a(1);
`,
  );
});

Deno.test("pack() makes one file that runs what it imports lazily, once, and when it is needed", async () => {
  using temp = new TempFolder();
  const file = await packed(temp.path, {
    "main.ts": `#!/usr/bin/env -S deno run
import { told, tell } from "./base.ts";
tell("main");
if (import.meta.main) {
  queueMicrotask(async () => {
    const { run } = await import("./lazy.ts");
    const again = await import("./lazy.ts");
    const other = await import("./other.ts");
    run();
    tell(String(again.run === run && other.value === 42));
    console.log(told.join(" "));
  });
}
`,
    "base.ts": `export const told: string[] = [];
export function tell(word: string): void { told.push(word); }
`,
    // Names that are taken elsewhere, at the top level and in another part.
    "lazy.ts": `import { tell as said } from "./base.ts";
import { shared } from "./shared.ts";
const tell = "lazy's own";
said("lazy");
export function run(): void { said(tell); said(shared()); }
`,
    "other.ts": `import { tell } from "./base.ts";
import { shared } from "./shared.ts";
tell("other");
const told = shared();
export const value = told === "shared" ? 42 : 0;
`,
    "shared.ts": `import { tell } from "./base.ts";
tell("once");
export function shared(): string { return "shared"; }
`,
  });
  const text = textOf(file);
  assertMatch(text, /^#!\/usr\/bin\/env -S deno run\n/);
  assertEquals(text.match(/\b(import|export)\b(?!\.meta)/g), null, text);
  assertMatch(text, /^function part_lazy\(\) \{$/m);
  assertEquals(
    await deno("run", "--no-config", "--quiet", file),
    "main once lazy other lazy's own shared true\n",
  );
});

Deno.test("pack() leaves a script alone that imports nothing lazily", async () => {
  using temp = new TempFolder();
  const file = await packed(temp.path, {
    "main.ts": `#!/usr/bin/env -S deno run
import { word } from "./base.ts";
console.log(word());
`,
    "base.ts": `export function word(): string { return "word"; }\n`,
  });
  assertEquals(textOf(file).includes("part_"), false);
  assertEquals(await deno("run", "--no-config", "--quiet", file), "word\n");
});
