import { assertEquals } from "@std/assert";
import { join } from "@std/path/join";
import { callPath, findRealClaude } from "../lib/real_claude.ts";
import { shimText } from "../lib/shim.ts";
import { executable, TempFolder } from "./files.ts";

/** A folder with a shim, the guard's script, and programs called claude. */
class Place extends TempFolder {
  readonly guard = join(this.path, "guard.js");
  readonly shim = this.#program("shim/claude", this.#shimLines());

  constructor() {
    super();
    Deno.writeTextFileSync(this.guard, "");
  }

  #shimLines(): string {
    const self = { interpreter: "/opt/deno", script: this.guard };
    return shimText(self, this.path).replace("#!/bin/sh\n", "");
  }

  #program(path: string, text: string): string {
    const [folder = ""] = path.split("/");
    Deno.mkdirSync(join(this.path, folder), { recursive: true });
    return executable(join(this.path, path), text);
  }

  program(path: string, text = "echo hello"): string {
    return this.#program(path, text);
  }

  folder(name: string): string {
    return join(this.path, name);
  }

  find(env: Record<string, string>): string | null {
    return findRealClaude((name) => env[name], [this.shim, this.guard]);
  }
}

Deno.test("findRealClaude() goes by CLAUDE_REAL_BIN, CLAUDE_BIN, CLAUDE, PATH and the usual places, in that order", () => {
  using place = new Place();
  const env: Record<string, string> = { HOME: place.path, PATH: "/nowhere" };
  const usual = join(place.path, ".claude", "local");
  Deno.mkdirSync(usual, { recursive: true });
  const local = executable(join(usual, "claude"), "echo");
  assertEquals(place.find(env), local);
  const onPath = place.program("path/claude");
  env.PATH = `${place.folder("shim")}:${place.folder("path")}`;
  assertEquals(place.find(env), onPath);
  env.CLAUDE = place.program("c/claude");
  assertEquals(place.find(env), env.CLAUDE);
  env.CLAUDE_BIN = place.program("b/claude");
  assertEquals(place.find(env), env.CLAUDE_BIN);
  env.CLAUDE_REAL_BIN = place.program("r/claude-2");
  assertEquals(place.find(env), env.CLAUDE_REAL_BIN);
});

Deno.test("findRealClaude() never finds the guard: not its shim, its script, a link or a wrapper", () => {
  using place = new Place();
  const real = place.program("real/claude");
  Deno.mkdirSync(place.folder("link"));
  Deno.symlinkSync(place.shim, join(place.folder("link"), "claude"));
  place.program("old/claude", 'exec python3 ~/bin/claude-quota-guard.py "$@"');
  place.program(
    "wrap/claude",
    'exec "$HOME/bin/quota_guard.js" --claude -- "$@"',
  );
  Deno.mkdirSync(place.folder("other"));
  executable(
    join(place.folder("other"), "claude"),
    shimText({ interpreter: "/opt/guard", script: null }, "/other/state"),
  );
  const folders = ["shim", "link", "old", "wrap", "other", "real"];
  const path = folders.map((name) => place.folder(name)).join(":");
  assertEquals(place.find({ PATH: path }), real);
  for (const name of ["shim", "link", "old", "wrap", "other"]) {
    const claude = join(place.folder(name), "claude");
    const env = { PATH: place.folder("real"), CLAUDE: claude };
    assertEquals(place.find(env), real, name);
    assertEquals(place.find({ ...env, CLAUDE_REAL_BIN: claude }), real, name);
  }
});

Deno.test("findRealClaude() is not misled by a folder that is called like the guard", () => {
  using place = new Place();
  const real = place.program(
    "real/claude",
    "exec '/home/x/claude-quota-guard/bin/claude' \"$@\"",
  );
  assertEquals(place.find({ PATH: place.folder("real") }), real);
});

Deno.test("findRealClaude() passes over what cannot be run", () => {
  using place = new Place();
  Deno.mkdirSync(join(place.folder("dir"), "claude"), { recursive: true });
  Deno.chmodSync(place.program("plain/claude"), 0o644);
  Deno.mkdirSync(place.folder("dangling"));
  Deno.symlinkSync("/no/such", join(place.folder("dangling"), "claude"));
  const real = place.program("real/claude");
  const path = ["dir", "plain", "dangling", "", "real"]
    .map((name) => name === "" ? "" : place.folder(name)).join(":");
  assertEquals(place.find({ PATH: path, CLAUDE_BIN: "/no/such" }), real);
});

Deno.test("findRealClaude() takes no bare name from a variable", () => {
  using place = new Place();
  const real = place.program("real/claude");
  const env = {
    PATH: place.folder("real"),
    CLAUDE: "claude",
    CLAUDE_BIN: "sh",
  };
  assertEquals(place.find(env), real);
});

Deno.test("callPath() adds claude's folder and that of its real path, at the end", () => {
  using place = new Place();
  const real = place.program("lib/cli.js");
  Deno.mkdirSync(place.folder("bin"));
  const link = join(place.folder("bin"), "claude");
  Deno.symlinkSync(real, link);
  const path = (PATH: string): string => callPath(() => PATH, link);
  const lib = Deno.realPathSync(place.folder("lib"));
  assertEquals(path("/usr/bin"), `/usr/bin:${place.folder("bin")}:${lib}`);
  assertEquals(
    path(`${place.folder("bin")}:/x`),
    `${place.folder("bin")}:/x:${lib}`,
  );
  assertEquals(
    callPath(() => undefined, "/bin/claude").split(":").slice(0, 2),
    ["/usr/bin", "/bin"],
  );
});
