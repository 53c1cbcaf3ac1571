import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import {
  type GuardOptions,
  guardOptions,
  isGuarded,
  type LaunchAgent,
  logPaths,
  parseLaunchAgent,
  plutilConverter,
  readLaunchAgents,
} from "../lib/launch_agent.ts";
import type { ToolResult } from "../lib/tool.ts";
import { TempFolder } from "./files.ts";
import { type PlistDict, plistXml } from "./plist_xml.ts";

const BINARY = new URL("./fixtures/plists/binary.plist", import.meta.url);

/** No other reader than the library. */
function noConverter(): Promise<null> {
  return Promise.resolve(null);
}

function read(plist: string | Uint8Array): Promise<LaunchAgent> {
  const bytes = typeof plist === "string"
    ? new TextEncoder().encode(plist)
    : plist;
  return parseLaunchAgent("/x.plist", bytes, noConverter);
}

function agent(keys: PlistDict): Promise<LaunchAgent> {
  return read(plistXml({ Label: "com.example.post", ...keys }));
}

/** A job with nothing but a label and an hour, as text to be spoilt. */
const PLAIN = plistXml({
  Label: "com.example.post",
  StartCalendarInterval: { Hour: 9 },
});

async function assertReadsPlain(plist: string | Uint8Array): Promise<void> {
  const { label, calendar } = await read(plist);
  assertEquals({ label, calendar }, {
    label: "com.example.post",
    calendar: { Hour: 9 },
  });
}

function utf16(text: string, littleEndian: boolean): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(text.length * 2));
  for (let index = 0; index < text.length; index++) {
    bytes.setUint16(index * 2, text.charCodeAt(index), littleEndian);
  }
  return new Uint8Array(bytes.buffer);
}

Deno.test("parseLaunchAgent() reads the keys that matter", async () => {
  assertEquals(
    await agent({
      ProgramArguments: ["/bin/sh", 5, true, ["a", "b"]],
      StandardOutPath: "/tmp/out",
      StandardErrorPath: "err",
      WorkingDirectory: "/Users/me",
      EnvironmentVariables: { A: "1", B: 2 },
      StartInterval: 1800,
      KeepAlive: { SuccessfulExit: false },
      RunAtLoad: true,
      Disabled: false,
    }),
    {
      path: "/x.plist",
      label: "com.example.post",
      program: null,
      arguments: ["/bin/sh", "5", "True", '["a","b"]'],
      stdoutPath: "/tmp/out",
      stderrPath: "err",
      workingDirectory: "/Users/me",
      environment: { A: "1" },
      calendar: undefined,
      hasStartInterval: true,
      startInterval: 1800,
      keepAlive: true,
      runAtLoad: true,
      disabled: false,
    },
  );
});

Deno.test("parseLaunchAgent() takes a value of a wrong type for absent", async () => {
  const odd = await agent({
    ProgramArguments: "quota_guard",
    StandardOutPath: 1,
    EnvironmentVariables: ["A"],
    StartInterval: "often",
    KeepAlive: false,
    RunAtLoad: "yes",
    label: "not a key",
  });
  assertEquals(odd.arguments, []);
  assertEquals(odd.stdoutPath, null);
  assertEquals(odd.environment, {});
  assertEquals([odd.hasStartInterval, odd.startInterval], [true, null]);
  assertEquals([odd.keepAlive, odd.runAtLoad, odd.disabled], [
    false,
    false,
    null,
  ]);
});

Deno.test("parseLaunchAgent() reads the binary form", async () => {
  const binary = await read(Deno.readFileSync(BINARY));
  assertEquals(binary.label, "com.example.朝");
  assertEquals(binary.arguments.length, 23);
  assertEquals(binary.startInterval, 200);
  assertEquals(binary.environment.NAME?.length, 300);
  assertEquals(binary.calendar, [
    { Hour: 8, Minute: 0 },
    { Hour: 10, Minute: 30, Weekday: -1 },
  ]);
});

Deno.test("parseLaunchAgent() reads every encoding that is told or marked", async () => {
  await assertReadsPlain(`\ufeff${PLAIN}`);
  for (const littleEndian of [true, false]) {
    const declared = PLAIN.replace("UTF-8", "UTF-16");
    await assertReadsPlain(utf16(`\ufeff${declared}`, littleEndian));
    await assertReadsPlain(utf16(declared, littleEndian));
  }
  const latin = PLAIN.replace("UTF-8", "ISO-8859-1").replace(
    "post",
    "caf\u00e9",
  );
  const bytes = Uint8Array.from(latin, (character) => character.charCodeAt(0));
  assertEquals((await read(bytes)).label, "com.example.caf\u00e9");
});

Deno.test("parseLaunchAgent() reads what a strict XML parser refuses", async () => {
  const doctype = /<!DOCTYPE[^>]*>\n/;
  await assertReadsPlain(PLAIN.replaceAll("\n", "\r\n"));
  await assertReadsPlain(PLAIN.replace(doctype, ""));
  await assertReadsPlain(
    PLAIN.replace(doctype, "<!DOCTYPE plist PUBLIC http://x/y.dtd>"),
  );
  await assertReadsPlain(
    PLAIN.replace(doctype, "<!DOCTYPE plist [ <!ELEMENT a ANY> ]>"),
  );
  await assertReadsPlain(PLAIN.replace(/^.*\n/, ""));
  await assertReadsPlain(`\n# An agent\n${PLAIN}\nEOF\n`);
  await assertReadsPlain(
    PLAIN.replace("<dict>", "<dict><!-- a -- <dict> --- b -->"),
  );
  await assertReadsPlain(PLAIN.replace("<key>", "stray <key>"));
  await assertReadsPlain(PLAIN.replace(/<\/?plist[^>]*>/g, ""));
});

Deno.test("parseLaunchAgent() reads integers as launchd does", async () => {
  const hour = async (text: string): Promise<unknown> => {
    const plist = PLAIN.replace("<integer>9</integer>", text);
    return (await read(plist)).calendar;
  };
  assertEquals(await hour("<integer>0x0F</integer>"), { Hour: 15 });
  assertEquals(await hour("<integer>\n 08 </integer>"), { Hour: 8 });
  assertEquals(await hour("<integer>-1</integer>"), { Hour: -1 });
  // What is no integer stays a text, so that it can be reported.
  assertEquals(await hour("<integer>*</integer>"), { Hour: "*" });
  assertEquals(await hour("<real>9.0</real>"), { Hour: "9.0" });
  assertEquals(await hour("<string>9</string>"), { Hour: "9" });
});

Deno.test("parseLaunchAgent() keeps every character of a text", async () => {
  const text =
    "  two  spaces\n&amp;&#65;&lt;<!-- no --><![CDATA[<integer>0x1</integer> & ]]> ";
  const plist = PLAIN.replace("com.example.post", text);
  assertEquals(
    (await read(plist)).label,
    "  two  spaces\n&A<<integer>0x1</integer> &  ",
  );
});

Deno.test("parseLaunchAgent() refuses what is no agent, without a word on stderr", async () => {
  const { error } = console;
  const printed: unknown[] = [];
  console.error = (...words: unknown[]): void => void printed.push(words);
  try {
    for (
      const text of [
        "",
        "\0\0\0\0",
        "<html><p></html>",
        "bplist00",
        PLAIN.slice(0, 250),
      ]
    ) {
      await assertRejects(() => read(text), Error);
    }
    await assertRejects(() => read(plistXml(["a"])), Error, "no dictionary");
    await assertRejects(
      () => read(plistXml({ label: "a" })),
      Error,
      "no Label",
    );
    await assertRejects(() => read(plistXml({ Label: 4 })), Error, "no Label");
  } finally {
    console.error = error;
  }
  assertEquals(printed, []);
});

Deno.test("parseLaunchAgent() asks plutil about what the library refuses", async () => {
  const broken = new TextEncoder().encode("<plist><dict>");
  const calls: [string[], number][] = [];
  const answer = (result: Partial<ToolResult>): Promise<LaunchAgent> => {
    const convert = plutilConverter((args, seconds) => {
      calls.push([args, seconds]);
      return Promise.resolve({
        code: 0,
        stdout: PLAIN,
        stderr: "",
        timedOut: false,
        ...result,
      });
    });
    return parseLaunchAgent("/-x.plist", broken, convert);
  };
  assertEquals((await answer({})).label, "com.example.post");
  assertEquals(calls, [[
    ["-convert", "xml1", "-o", "-", "--", "/-x.plist"],
    10,
  ]]);
  // The library's reason stands if plutil has no answer.
  await assertRejects(() => answer({ code: 1 }), Error, "unclosed");
  await assertRejects(() => answer({ timedOut: true }), Error, "unclosed");
});

Deno.test("readLaunchAgents() lists every plist by name, the unreadable with a reason", async () => {
  using folder = new TempFolder();
  const at = (name: string): string => `${folder.path}/${name}`;
  Deno.writeTextFileSync(at("b.plist"), PLAIN);
  Deno.writeTextFileSync(at("a.plist"), PLAIN.replace("</dict>", "</Dict>"));
  Deno.symlinkSync(at("b.plist"), at("c.plist"));
  Deno.symlinkSync("nowhere", at("d.plist"));
  Deno.mkdirSync(at("e.plist"));
  Deno.symlinkSync("/dev/zero", at("f.plist"));
  Deno.writeTextFileSync(at("g.plist"), "");
  Deno.truncateSync(at("g.plist"), 5 * 1024 * 1024);
  await new Deno.Command("mkfifo", { args: [at("h.plist")] }).output();
  for (const name of [".hidden.plist", "b.plist.bak", "b.PLIST"]) {
    Deno.writeTextFileSync(at(name), PLAIN);
  }
  const files = await readLaunchAgents(folder.path, noConverter);
  assertEquals(
    files.map(({ path }) => path),
    [..."abcdefgh"].map((name) => at(`${name}.plist`)),
  );
  const reasons = files.map((file) =>
    "error" in file ? file.error : file.agent.label
  );
  assertMatch(reasons[0] ?? "", /tag mismatch/);
  assertEquals(reasons.slice(1, 3), ["com.example.post", "com.example.post"]);
  assertMatch(reasons[3] ?? "", /No such file/);
  assertEquals(reasons.slice(4), [
    "It is not a regular file",
    "It is not a regular file",
    "It is larger than 4 MiB",
    "It is not a regular file",
  ]);
});

Deno.test("readLaunchAgents() gives reasons in one line without control characters", async () => {
  using folder = new TempFolder();
  const text = PLAIN.replace("</dict>", `</\x1b[31m\n${"dict".repeat(99)}>`);
  Deno.writeTextFileSync(`${folder.path}/a.plist`, text);
  const [file] = await readLaunchAgents(folder.path, noConverter);
  assert(file !== undefined && "error" in file);
  assertMatch(file.error, /^[ -~]{1,200}$/);
});

Deno.test("readLaunchAgents() finds nothing where there is no folder", async () => {
  using folder = new TempFolder();
  assertEquals(await readLaunchAgents(`${folder.path}/none`, noConverter), []);
  Deno.writeTextFileSync(`${folder.path}/file`, "");
  await assertRejects(
    () => readLaunchAgents(`${folder.path}/file`, noConverter),
    Error,
    "Cannot list the agents",
  );
});

Deno.test("isGuarded() looks for the guard's names in the arguments", async () => {
  const guarded = async (...words: string[]): Promise<boolean> =>
    isGuarded(await agent({ ProgramArguments: words }));
  assertEquals(
    await guarded("/usr/bin/python3", "/opt/claude-quota-guard.py"),
    true,
  );
  assertEquals(await guarded("deno", "run", "/opt/quota_guard.ts"), true);
  assertEquals(await guarded("/opt/quota-guard", "--job", "a"), true);
  assertEquals(
    await guarded("/bin/zsh", "-lc", "~/bin/quota_guard.js --job a"),
    true,
  );
  assertEquals(
    await guarded("/usr/bin/python3", "/opt/quota_catchup.py"),
    false,
  );
  assertEquals(await guarded(), false);
});

Deno.test("isGuarded() goes by ProgramArguments only", async () => {
  assertEquals(
    isGuarded(await agent({ Program: "/opt/quota_guard.js" })),
    false,
  );
  assertEquals(
    isGuarded(await agent({ ProgramArguments: "quota_guard" })),
    false,
  );
  assertEquals(
    isGuarded(await agent({ ProgramArguments: [["quota_guard"]] })),
    true,
  );
});

async function options(
  words: string[],
  keys: PlistDict = {},
): Promise<Partial<GuardOptions>> {
  return guardOptions(await agent({ ProgramArguments: words, ...keys }));
}

const DEFAULTS: GuardOptions = {
  label: "com.example.post",
  priority: false,
  expires: null,
  once: false,
  resumable: false,
};

Deno.test("guardOptions() reads what stands before the two dashes", async () => {
  const guard = ["deno", "run", "--once", "/opt/quota_guard.js"];
  assertEquals(
    await options([
      ...guard,
      "--job",
      "a",
      "--priority",
      "--expires",
      "2h",
      "--",
      "x",
      "--once",
    ]),
    { ...DEFAULTS, label: "a", priority: true, expires: 7200 },
  );
  assertEquals(
    await options([
      ...guard,
      "--job=b",
      "--expires=90",
      "--resumable",
      "--",
      "--job",
      "c",
    ]),
    { ...DEFAULTS, label: "b", expires: 90, resumable: true },
  );
  assertEquals(await options([...guard, "--once", "--job"]), {
    ...DEFAULTS,
    once: true,
  });
  assertEquals(await options(["/bin/sh", "--job", "c"]), DEFAULTS);
});

Deno.test("guardOptions() reads the command line of a shell", async () => {
  const shell = (
    line: string,
    keys: PlistDict = {},
  ): Promise<Partial<GuardOptions>> => options(["/bin/zsh", "-lc", line], keys);
  assertEquals(
    await shell(
      "exec ~/bin/quota_guard.js --job com.me.post --priority -- claude -p '--once'",
    ),
    { ...DEFAULTS, label: "com.me.post", priority: true },
  );
  assertEquals(
    await shell(
      `cd "/x y" && "/My Tools/quota_guard.js" --job='a.b' -- claude --resumable`,
    ),
    { ...DEFAULTS, label: "a.b" },
  );
  // The name may come up before the guard is run.
  assertEquals(
    await shell(
      ". ~/quota-guard.env; G=~/quota_guard.js\ndeno run $G --job a \\\n --once -- x",
    ),
    { ...DEFAULTS, label: "a", once: true },
  );
  assertEquals(
    await shell("quota_guard.js --claude -- -v; quota_guard.js --job a -- x"),
    { ...DEFAULTS, label: "a" },
  );
  assertEquals(
    await shell('quota_guard.js --job "$NAME" -- x', {
      EnvironmentVariables: { NAME: "n" },
    }),
    { ...DEFAULTS, label: "n" },
  );
  // launchd sets this one to the label.
  assertEquals(await shell("quota_guard.js --job $XPC_SERVICE_NAME.2 -- x"), {
    ...DEFAULTS,
    label: "com.example.post.2",
  });
  assertEquals(await shell("quota_guard.js --job $(hostname) -- x"), DEFAULTS);
  assertEquals(await shell("echo quota_guard # --job a"), DEFAULTS);
});

Deno.test("guardOptions() takes a path with a space for a word, not for a line", async () => {
  assertEquals(
    await options([
      "deno",
      "/My Tools/quota_guard.js",
      "--job",
      "a",
      "--",
      "x",
    ]),
    { ...DEFAULTS, label: "a" },
  );
});

Deno.test("logPaths() resolves as launchd does, standard error first", async () => {
  const paths = async (keys: PlistDict): Promise<string[]> =>
    logPaths(await agent(keys));
  assertEquals(
    await paths({ StandardOutPath: "/l/out", StandardErrorPath: "/l/err" }),
    [
      "/l/err",
      "/l/out",
    ],
  );
  assertEquals(
    await paths({ StandardOutPath: "/l/a", StandardErrorPath: "/l/../l/a" }),
    ["/l/a"],
  );
  assertEquals(
    await paths({ StandardOutPath: "log", WorkingDirectory: "/w" }),
    ["/w/log"],
  );
  assertEquals(await paths({ StandardErrorPath: "~/log" }), ["/~/log"]);
  assertEquals(await paths({}), []);
});
