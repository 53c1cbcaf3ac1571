import { assertEquals, assertMatch } from "@std/assert";
import { dirname } from "@std/path/dirname";
import { join } from "@std/path/join";
import { passingPlace, stableInterpreter } from "../lib/setup/interpreter.ts";

const HOME = "/Users/me";

function env(
  home = HOME,
  path = "/usr/bin",
): (name: string) => string | undefined {
  return (name) => ({ HOME: home, PATH: path })[name];
}

Deno.test(
  "passingPlace() knows what does not last",
  { permissions: "none" },
  () => {
    const passing = [
      "/Users/me/.npm/_npx/1234abcd/node_modules/deno/deno",
      "/opt/homebrew/Cellar/deno/2.9.6/bin/deno",
      "/usr/local/Cellar/deno/2.9.6/bin/deno",
      "/Users/me/Library/Caches/deno/deno",
      "/Users/me/.cache/deno/deno",
      "/Users/me/.local/state/fnm_multishells/1_2/bin/deno",
      "/tmp/deno",
      "/private/tmp/x/deno",
      "/var/folders/ab/cd/T/deno",
      "/private/var/folders/ab/cd/T/deno",
      "/Users/me/.Trash/deno",
    ];
    const lasting = [
      "/opt/homebrew/bin/deno",
      "/usr/local/bin/deno",
      "/Users/me/.deno/bin/deno",
      "/Users/me/tmp/deno",
      "/Users/me/.nvm/versions/node/v22.1.0/lib/node_modules/deno/deno",
    ];
    for (const path of passing) {
      assertEquals(passingPlace(path, env()) !== null, true, path);
    }
    for (const path of lasting) {
      assertEquals(passingPlace(path, env()), null, path);
    }
  },
);

Deno.test("passingPlace() judges a home by what is in it", {
  permissions: "none",
}, () => {
  const home = "/private/var/folders/x/home";
  assertEquals(passingPlace(`${home}/.deno/bin/deno`, env(home)), null);
  assertEquals(
    passingPlace(`${home}/.cache/deno`, env(home)),
    "a cache",
  );
});

Deno.test("stableInterpreter() takes a link that lasts, or names what to run", () => {
  const home = Deno.realPathSync(Deno.makeTempDirSync());
  try {
    const make = (path: string): string => {
      Deno.mkdirSync(dirname(path), { recursive: true });
      Deno.writeTextFileSync(path, path);
      return path;
    };
    const kept = make(join(home, ".deno/bin/deno"));
    assertEquals(stableInterpreter(kept, env(home)), { path: kept });
    const passing = make(join(home, ".npm/_npx/1/deno"));
    const other = stableInterpreter(passing, env(home, join(home, "none")));
    assertMatch(
      "problem" in other ? other.problem : "",
      /npx's cache and will vanish: run this with \S+\/deno$/,
    );
    const bin = join(home, "bin");
    Deno.mkdirSync(bin);
    Deno.symlinkSync(passing, join(bin, "deno"));
    assertEquals(stableInterpreter(passing, env(home, bin)), {
      path: join(bin, "deno"),
    });
  } finally {
    Deno.removeSync(home, { recursive: true });
  }
});
