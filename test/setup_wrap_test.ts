import {
  assertEquals,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
} from "@std/assert";
import { join } from "@std/path/join";
import { parsePropertyList } from "../lib/property_list.ts";
import { readPlistXml } from "./plist_xml.ts";
import { Stage } from "./setup_stage.ts";

const LABEL = "com.me.post";
const JOB = {
  ProgramArguments: ["/bin/bash", "/Users/me/jobs/post.sh"],
  StartCalendarInterval: { Hour: 8, Minute: 0 },
};

function argumentsOf(path: string): unknown {
  const plist = parsePropertyList(Deno.readFileSync(path)) as Record<
    string,
    unknown
  >;
  return plist.ProgramArguments;
}

Deno.test("--wrap puts the guard in front, shows it and says what is next", async () => {
  using stage = new Stage();
  const path = stage.agent(LABEL, JOB);
  const before = Deno.readTextFileSync(path);
  const { code, text } = await stage.run(
    ...["--wrap", LABEL, "--priority", "--expires", "6h"],
  );
  assertEquals(code, 0);
  assertEquals(argumentsOf(path), [
    ...stage.guardWords,
    ...["--job", LABEL, "--priority", "--expires", "6h", "--"],
    ...JOB.ProgramArguments,
  ]);
  assertStringIncludes(text, "\n+    <string>--priority</string>\n");
  assertNotMatch(text, /^-[^-]/m);
  assertStringIncludes(text, `launchctl bootstrap gui/${stage.uid} '~/Library`);
  const [, backup = ""] = /as it was before: "~(.*?)"/.exec(text) ?? [];
  assertEquals(Deno.readTextFileSync(stage.home + backup), before);
  assertEquals((Deno.statSync(stage.state).mode ?? 0) & 0o777, 0o700);
});

Deno.test("--wrap and --unwrap leave every file byte for byte as it was", async () => {
  using stage = new Stage();
  const text = Deno.readTextFileSync(stage.agent(LABEL, {
    ...JOB,
    Comment: "毎日 & <always>",
  })).replace("<dict>", "<!-- by hand\t-- and by me -->\n<dict  >");
  const utf8 = new TextEncoder().encode(text);
  const utf16 = (littleEndian: boolean): Uint8Array => {
    const view = new DataView(new ArrayBuffer(text.length * 2 + 2));
    [..."\ufeff" + text].forEach((unit, i) =>
      view.setUint16(i * 2, unit.charCodeAt(0), littleEndian)
    );
    return new Uint8Array(view.buffer);
  };
  const shapes: Record<string, Uint8Array> = {
    utf8,
    mark: new Uint8Array([0xef, 0xbb, 0xbf, ...utf8]),
    crlf: new TextEncoder().encode(text.replaceAll("\n", "\r\n")),
    noNewline: new TextEncoder().encode(text.trimEnd()),
    utf16le: utf16(true),
    utf16be: utf16(false),
    program: new TextEncoder().encode(
      text.replace(
        "<key>Comment",
        "<key>Program</key><string>/bin/bash</string>\n\n  <key>Comment",
      ),
    ),
    programOnly: new TextEncoder().encode(
      text.replace(
        /<key>ProgramArguments<\/key>\s*<array>[\s\S]*?<\/array>/,
        "<key>Program</key>\t<string>/bin/bash</string>",
      ),
    ),
  };
  for (const [name, bytes] of Object.entries(shapes)) {
    const path = stage.agent(LABEL, bytes);
    const wrapped = await stage.run("--wrap", LABEL);
    assertEquals(wrapped.code, 0, name + wrapped.text);
    assertMatch(String(argumentsOf(path)), /--job,com.me.post,--,\/bin\/bash/);
    const unwrapped = await stage.run("--unwrap", LABEL);
    assertStringIncludes(unwrapped.text, "byte for byte", name);
    assertEquals(Deno.readFileSync(path), bytes, name);
  }
});

/** Files as they are found, and whether they can be wrapped. */
const SHAPES: [name: string, wraps: boolean, text: string][] = (() => {
  const own =
    "<array><string>/bin/x</string><string>a &amp; b</string></array>";
  const keys = (list = own): string =>
    `<key>Label</key><string>shape</string><key>ProgramArguments</key>${list}`;
  const plist = (inner: string): string =>
    `<plist version="1.0"><dict>${inner}</dict></plist>`;
  const xml = '<?xml version="1.0" encoding="UTF-8"?>';
  return [
    ["one line", true, xml + plist(keys())],
    ["no declaration, no root", true, `<dict>${keys()}</dict>`],
    ["two hyphens in a comment", true, plist(`<!-- a -- b -->${keys()}`)],
    [
      "a comment that holds a command",
      true,
      plist(
        `<!-- <key>Program</key><string>/no</string> -->${
          keys(
            "<array>\n\t<!-- <string>no</string> -->\n\t<string>/bin/x</string>\n</array>",
          )
        }`,
      ),
    ],
    [
      "a document type without quotes",
      true,
      `${xml}<!DOCTYPE plist PUBLIC -//Apple//DTD http://x>${plist(keys())}`,
    ],
    [
      "a document type with a subset",
      true,
      `<!DOCTYPE plist [ <!ENTITY a "b"> ]>${plist(keys())}`,
    ],
    ["text before the declaration", true, `Save as x:\n${xml}${plist(keys())}`],
    [
      "character data",
      true,
      plist(
        keys(
          "<array><string>/bin/sh</string><string>-c</string><string><![CDATA[a && b <string>]]></string></array>",
        ),
      ),
    ],
    [
      "integers that are none",
      true,
      plist(`${keys()}<key>Nice</key><integer>*</integer>`),
    ],
    ["blanks in tags", true, plist(keys()).replaceAll("<string>", "<string >")],
    [
      "a word that is no string",
      true,
      plist(keys("<array><string>/bin/x</string><integer>7</integer></array>")),
    ],
    ["a bare ampersand", true, plist(keys().replace("&amp;", "&&"))],
    ["a template", false, plist(`{{#each}}${keys()}<each>`)],
    [
      "a key twice",
      false,
      plist(keys() + `<key>Program</key><string>/a</string>`.repeat(2)),
    ],
    ["tags in another case", false, plist(keys().replace("<key>", "<Key>"))],
    ["no command", false, plist(keys("<array/>"))],
    ["no label", false, plist("<key>Program</key><string>/x</string>")],
    [
      "the old form",
      false,
      '{ Label = shape; ProgramArguments = ("/bin/x"); }',
    ],
    ["no property list", false, "#!/bin/sh\n"],
    ["nothing", false, ""],
  ];
})();

for (const [name, wraps, text] of SHAPES) {
  Deno.test(`--wrap and --unwrap: ${name}`, async () => {
    using stage = new Stage();
    const path = stage.agent("shape", text);
    const wrapped = await stage.run("--wrap", path);
    assertEquals(wrapped.code, wraps ? 0 : 1, wrapped.text);
    if (wraps) {
      assertMatch(String(argumentsOf(path)), /--job,shape,--,\/bin\//);
      assertEquals((await stage.run("--unwrap", path)).code, 0);
    } else {
      assertMatch(wrapped.text, /^~.*: .*(see|put|take|neither)/);
    }
    assertEquals(Deno.readTextFileSync(path), text);
  });
}

Deno.test("--wrap keeps links, owner and mode, whatever the umask", async () => {
  using stage = new Stage();
  const real = join(stage.home, "dotfiles.plist");
  Deno.renameSync(stage.agent(LABEL, JOB), real);
  Deno.symlinkSync(real, join(stage.agents, `${LABEL}.plist`));
  Deno.chmodSync(real, 0o664);
  const before = Deno.statSync(real);
  const umask = Deno.umask(0o077);
  try {
    assertEquals((await stage.run("--wrap", LABEL)).code, 0);
  } finally {
    Deno.umask(umask);
  }
  const after = Deno.statSync(real);
  assertEquals(Deno.readLinkSync(join(stage.agents, `${LABEL}.plist`)), real);
  assertMatch(Deno.readTextFileSync(real), /quota_guard/);
  assertEquals(
    [after.mode, after.uid, after.gid],
    [before.mode, before.uid, before.gid],
  );
  assertEquals([...Deno.readDirSync(stage.agents)].length, 1);
});

Deno.test("--wrap refuses what it may not write, with the text to paste", async () => {
  using stage = new Stage();
  const path = stage.agent(LABEL, JOB);
  const before = Deno.readTextFileSync(path);
  Deno.chmodSync(path, 0o444);
  const readOnly = await stage.run("--wrap", LABEL);
  assertEquals(readOnly.code, 1);
  assertMatch(readOnly.text, /is read-only; .*put this in place/);
  const paste = /<key>ProgramArguments[\s\S]*<\/array>/.exec(readOnly.text)
    ?.[0];
  assertEquals(
    readPlistXml(
      `<plist><dict>${paste?.replaceAll("~", stage.home)}</dict></plist>`,
    ),
    {
      ProgramArguments: [
        ...stage.guardWords,
        ...["--job", LABEL, "--"],
        ...JOB.ProgramArguments,
      ],
    },
  );
  Deno.chmodSync(path, 0o644);
  stage.uid = (Deno.uid() ?? 0) + 1;
  assertMatch(
    (await stage.run("--wrap", LABEL)).text,
    /belongs to user \d+: run this as that user/,
  );
  assertEquals(Deno.readTextFileSync(path), before);
});

/** `{ Label: com.me.post, ProgramArguments: [/bin/x] }` in binary. */
const BINARY = Uint8Array.from(
  atob(
    "YnBsaXN0MDDSAQIDBFVMYWJlbF8QEFByb2dyYW1Bcmd1bWVudHNbY29tLm1lLnBvc3ShBVYvYmluL3gIDRMmMjQAAAAAAAABAQAAAAAAAAAGAAAAAAAAAAAAAAAAAAAAOw==",
  ),
  (character) => character.charCodeAt(0),
);

Deno.test("--wrap converts a binary file with plutil, else refuses it", async () => {
  using stage = new Stage();
  const path = stage.agent(LABEL, BINARY);
  const refused = await stage.run("--wrap", LABEL);
  assertEquals(refused.code, 1);
  assertMatch(
    refused.text,
    /no plutil .*plutil -convert xml1[\s\S]*<string>\/bin\/x<\/string>/,
  );
  assertEquals(Deno.readFileSync(path), BINARY);
  stage.convert = () =>
    Promise.resolve(
      new TextEncoder().encode(
        `<plist><dict><key>Label</key><string>${LABEL}</string><key>ProgramArguments</key><array><string>/bin/x</string></array></dict></plist>`,
      ),
    );
  assertEquals((await stage.run("--wrap", LABEL)).code, 0);
  assertMatch(Deno.readTextFileSync(path), /^<plist>.*quota_guard/);
  assertEquals((await stage.run("--unwrap", LABEL)).code, 0);
  assertEquals(Deno.readFileSync(path), BINARY);
});

Deno.test("--wrap again changes nothing, but for flags that are given", async () => {
  using stage = new Stage();
  const path = stage.agent(LABEL, JOB);
  const original = Deno.readTextFileSync(path);
  await stage.run("--wrap", LABEL, "--priority");
  const once = Deno.readTextFileSync(path);
  const again = await stage.run("--wrap", LABEL);
  assertEquals(again.code, 0);
  assertStringIncludes(again.text, "nothing to change");
  assertEquals(Deno.readTextFileSync(path), once);
  await stage.run("--wrap", LABEL, "--once", "--expires", "0");
  assertEquals(argumentsOf(path), [
    ...stage.guardWords,
    ...["--job", LABEL, "--once", "--expires", "0", "--"],
    ...JOB.ProgramArguments,
  ]);
  await stage.run("--unwrap", LABEL);
  assertEquals(Deno.readTextFileSync(path), original);
});

Deno.test("--wrap again takes over an interpreter that has moved, and keeps the flags", async () => {
  using stage = new Stage();
  const path = stage.agent(LABEL, JOB);
  await stage.run("--wrap", LABEL, "--resumable");
  const old = Deno.readTextFileSync(path);
  Deno.writeTextFileSync(path, old.replaceAll(stage.deno, "/gone/deno"));
  await stage.run("--wrap", LABEL);
  assertEquals(Deno.readTextFileSync(path), old);
});

Deno.test("--unwrap keeps what was edited since", async () => {
  using stage = new Stage();
  const path = stage.agent(LABEL, { Program: "/bin/bash", ...JOB });
  const original = Deno.readTextFileSync(path);
  const edit = (text: string): string =>
    text.replace("<integer>8<", "<integer>9<").replace("</dict>", "\n</dict>");
  await stage.run("--wrap", LABEL);
  Deno.writeTextFileSync(path, edit(Deno.readTextFileSync(path)));
  const { code, text } = await stage.run("--unwrap", LABEL);
  assertEquals(code, 0);
  assertStringIncludes(text, "with the edits made since");
  assertEquals(Deno.readTextFileSync(path), edit(original));
});

Deno.test("--unwrap takes the words out if the backup is lost, or they were edited", async () => {
  using stage = new Stage();
  const path = stage.agent(LABEL, JOB);
  const original = Deno.readTextFileSync(path);
  await stage.run("--wrap", LABEL);
  Deno.removeSync(join(stage.state, "backup"), { recursive: true });
  assertEquals((await stage.run("--unwrap", LABEL)).code, 0);
  assertEquals(Deno.readTextFileSync(path), original);
  await stage.run("--wrap", LABEL);
  Deno.writeTextFileSync(
    path,
    Deno.readTextFileSync(path).replace("--allow-env", "--allow-env=HOME"),
  );
  assertEquals((await stage.run("--unwrap", LABEL)).code, 0);
  assertEquals(Deno.readTextFileSync(path), original);
});

Deno.test("--wrap leaves a guard alone that somebody has put there by hand", async () => {
  using stage = new Stage();
  const line = `exec ${stage.guard} --job ${LABEL} -- /bin/x`;
  const path = stage.agent(LABEL, {
    ProgramArguments: ["/bin/sh", "-c", line],
  });
  const before = Deno.readTextFileSync(path);
  const left = await stage.run("--wrap", LABEL);
  assertEquals(left.code, 0);
  assertStringIncludes(left.text, "left as it is");
  const flags = await stage.run("--wrap", LABEL, "--priority");
  assertEquals(flags.code, 1);
  assertMatch(flags.text, /edit ProgramArguments in "~\/.*com.me.post.plist"/);
  const unwrapped = await stage.run("--unwrap", LABEL);
  assertEquals(unwrapped.code, 1);
  assertStringIncludes(unwrapped.text, "take it out by hand");
  assertEquals(Deno.readTextFileSync(path), before);
});

Deno.test("--wrap takes over from words put there by hand, and from the Python guard", async () => {
  const fronts = [
    ["/old/deno", "run", "--quiet", "--allow-read", "/old/quota_guard.js"],
    ["/usr/bin/python3", "-u", "/Users/me/claude-quota-guard.py"],
    ["/Users/me/claude-quota-guard.py"],
  ];
  for (const front of fronts) {
    using stage = new Stage();
    const path = stage.agent(LABEL, {
      ...JOB,
      ProgramArguments: [
        ...[...front, "--job", "post", "--priority", "--"],
        ...JOB.ProgramArguments,
      ],
    });
    const { code, text } = await stage.run("--wrap", LABEL);
    assertEquals(code, 0, text);
    assertStringIncludes(text, `\n-    <string>${front.at(-1)}</string>\n`);
    assertMatch(text, /wrapped anew; without the guard: "~\/.local/);
    assertEquals(argumentsOf(path), [
      ...stage.guardWords,
      ...["--job", "post", "--priority", "--"],
      ...JOB.ProgramArguments,
    ]);
    await stage.run("--unwrap", LABEL);
    assertEquals(argumentsOf(path), JOB.ProgramArguments);
  }
  using stage = new Stage();
  stage.agent(LABEL, {
    ProgramArguments: ["/bin/sh", "-c", "claude-quota-guard.py --job x -- y"],
  });
  const { code, text } = await stage.run("--wrap", LABEL);
  assertEquals(code, 1);
  assertMatch(text, /edit ProgramArguments in .*, or take the guard out/);
});

Deno.test("--wrap finds a job by label, file name or path, or says what is near", async () => {
  using stage = new Stage();
  const path = stage.agent("file-name", { ...JOB, Label: LABEL });
  for (const word of [LABEL, path]) {
    assertEquals((await stage.run("--wrap", word, "--dry-run")).code, 0);
  }
  const mistyped = await stage.run("--wrap", "com.me.psot", LABEL, "--dry-run");
  assertEquals(mistyped.code, 1);
  assertStringIncludes(mistyped.text, "did you mean com.me.post?");
  assertStringIncludes(mistyped.text, `${LABEL}: would be wrapped`);
  stage.agent("second", { ...JOB, Label: LABEL });
  assertMatch(
    (await stage.run("--wrap", LABEL)).text,
    /more than one plist .*"~.*file-name.plist" or "~.*second.plist"/,
  );
  const nowhere = await stage.run("--wrap", join(stage.home, "no.plist"));
  assertMatch(nowhere.text, /no\.plist" cannot be read/);
});

Deno.test("--wrap --all asks about calendar jobs that call claude", async () => {
  using stage = new Stage();
  const script = stage.program(
    join(stage.home, "jobs", "a.sh"),
    '#!/bin/sh\n# not claude\nexec "$CLAUDE" -p hi\n',
  );
  const calendar = { StartCalendarInterval: { Hour: 8 } };
  const yes = stage.agent("a", { ProgramArguments: [script], ...calendar });
  const no = stage.agent("b", {
    ProgramArguments: ["/bin/sh", "-c", "cd ~/claude && claude -p x"],
    ...calendar,
  });
  stage.agent("c", {
    ProgramArguments: ["/bin/sh", "-c", "ls ~/claude/ claude.txt"],
    ...calendar,
  });
  stage.agent("d", { ProgramArguments: ["claude", "-p"], StartInterval: 60 });
  const other = stage.program(
    join(stage.home, "jobs", "e.sh"),
    "#!/bin/sh\n# claude -p was here\ntrue\n",
  );
  stage.agent("e", { ProgramArguments: [other], ...calendar });
  stage.agent("f", { Program: script, ...calendar });
  stage.agent("g", {
    ProgramArguments: ["/bin/zsh", "-lc", "cd ~/jobs && ./a.sh"],
    ...calendar,
  });
  const nobody = await stage.run("--wrap", "--all");
  assertMatch(
    nobody.text,
    /\n {2}a\n {2}b\n {2}f\n {2}g\nSay which: quota_catchup.js --wrap a b f g$/,
  );
  stage.answers.push(true, false, false, false);
  assertEquals((await stage.run("--wrap", "--all")).code, 0);
  assertMatch(Deno.readTextFileSync(yes), /quota_guard/);
  assertNotMatch(Deno.readTextFileSync(no), /quota_guard/);
  assertEquals((await stage.run("--unwrap", "--all")).code, 0);
  assertNotMatch(Deno.readTextFileSync(yes), /quota_guard/);
  assertMatch((await stage.run("--unwrap", "--all")).text, /No job in/);
});

Deno.test("--wrap says what it cannot do for a job", async () => {
  using stage = new Stage();
  const advice = async (
    keys: Record<string, string | number | boolean>,
  ): Promise<string> => {
    stage.agent(LABEL, { ProgramArguments: ["/bin/x"], ...keys });
    const { code, text } = await stage.run("--wrap", LABEL, "--dry-run");
    assertEquals(code, 0);
    return text.slice(text.indexOf("would be wrapped"));
  };
  assertMatch(await advice({ KeepAlive: true }), /KeepAlive: .*every 10 s/);
  assertMatch(await advice({ StartInterval: 60 }), /not caught up/);
  assertMatch(
    await advice({ WorkingDirectory: join(stage.home, "Documents/x") }),
    /works in ~\/Documents: give Full Disk Access to ~\/.deno\/bin\/deno/,
  );
  const script = join(stage.home, "Documents/x.sh");
  assertMatch(await advice({ Program: script }), /works in ~\/Documents/);
  assertMatch(
    await advice({ Program: "/opt/homebrew/bin/claude" }),
    /by its path.*: write claude in place of \/opt\/homebrew\/bin\/claude/,
  );
  stage.agent(LABEL, { ProgramArguments: ["/bin/zsh", "-lc", "claude -p x"] });
  assertMatch(
    (await stage.run("--wrap", LABEL, "--dry-run")).text,
    /a login shell .*: write "\$CLAUDE" -p in its command/,
  );
  assertMatch(
    await advice({ StandardErrorPath: join(stage.home, "Desktop/x.log") }),
    /logs lie in ~\/Desktop.*move them to ~\/Library\/Logs/,
  );
});

Deno.test("--wrap names the state folder that the job will see", async () => {
  using stage = new Stage();
  const second = join(stage.home, "second");
  const path = stage.agent(LABEL, {
    ...JOB,
    EnvironmentVariables: { CLAUDE_QUOTA_DIR: second },
  });
  stage.env.CLAUDE_QUOTA_DIR = "/elsewhere";
  const { text } = await stage.run("--wrap", LABEL);
  assertStringIncludes(text, "CLAUDE_QUOTA_DIR is set in this terminal");
  assertStringIncludes(
    Deno.readTextFileSync(path),
    `<string>--allow-write=${second}</string>`,
  );
  assertEquals(Deno.statSync(join(second, "backup")).isDirectory, true);
});

Deno.test("--wrap refuses what is still a template, and goes on with the others", async () => {
  using stage = new Stage();
  stage.agent("template", {
    ...JOB,
    EnvironmentVariables: { HOME: "{{HOME}}" },
  });
  const blocked = join(stage.home, "file");
  Deno.writeTextFileSync(blocked, "");
  stage.agent("blocked", {
    ...JOB,
    EnvironmentVariables: { HOME: blocked },
  });
  const path = stage.agent(LABEL, JOB);
  const { code, text } = await stage.run(
    "--wrap",
    "template",
    "blocked",
    LABEL,
  );
  assertEquals(code, 1);
  assertMatch(text, /template: HOME in its .* is "{{HOME}}", no whole path/);
  assertMatch(
    text,
    /^blocked: its state folder "~\/file\/.* cannot be written: .*; it follows/m,
  );
  assertMatch(Deno.readTextFileSync(path), /quota_guard/);
});

Deno.test("--wrap refuses labels that no marker can hold", async () => {
  using stage = new Stage();
  const path = stage.agent("x", { ...JOB, Label: "my job" });
  const { code, text } = await stage.run("--wrap", path);
  assertEquals(code, 1);
  assertMatch(text, /white space.*: give it another Label/);
});

Deno.test("--wrap refuses an interpreter or a guard that will not last", async () => {
  using stage = new Stage();
  stage.agent(LABEL, JOB);
  Deno.removeSync(stage.guard);
  const noGuard = await stage.run("--wrap", LABEL);
  assertEquals(noGuard.code, 1);
  assertMatch(
    noGuard.text,
    /quota_guard.js" is not there: run deno task install/,
  );
});

Deno.test("--reload without launchctl says what to run on the Mac", async () => {
  using stage = new Stage();
  stage.agent(LABEL, JOB);
  const { code, text } = await stage.run("--wrap", LABEL, "--reload");
  assertEquals(code, 1);
  assertMatch(
    text,
    /: wrapped;[\s\S]*no launchctl here; on the Mac run launchctl bootout/,
  );
});
