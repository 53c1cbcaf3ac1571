import { assertEquals, assertThrows } from "@std/assert";
import {
  dropWords,
  guardPrefix,
  undoReplacements,
  wrapCommand,
} from "../lib/setup/command_text.ts";
import {
  applyEdits,
  contentOf,
  decodePlist,
  rootEntries,
} from "../lib/setup/plist_text.ts";

const WORDS = ["/opt/deno", "quota_guard.js", "--job", "a&b", "--"];
const GUARD = "<string>/opt/deno</string><string>quota_guard.js</string>" +
  "<string>--job</string><string>a&amp;b</string><string>--</string>";
const pure = { permissions: "none" } as const;

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Wraps, and sees that undoing and taking the words out give the same. */
function wrapped(text: string): string {
  const result = wrapCommand(decodePlist(bytes(text)), WORDS);
  assertEquals(undoReplacements(result.text, result.replacements), text);
  return result.text;
}

Deno.test(
  "wrapCommand() goes before the first word, in its manner",
  pure,
  () => {
    assertEquals(
      wrapped(
        "<dict><key>ProgramArguments</key><array><string>a</string></array></dict>",
      ),
      `<dict><key>ProgramArguments</key><array>${GUARD}<string>a</string></array></dict>`,
    );
    for (const line of ["\n\t\t", "\r\n    "]) {
      const text = `<plist><dict><key>ProgramArguments</key>${line}<array>` +
        `${line}<!-- <string>no</string> -- -->${line}  <string>a</string>${line}</array></dict></plist>`;
      assertEquals(
        wrapped(text),
        text.replace(
          "<string>a</string>",
          GUARD.replaceAll("><s", `>${line}  <s`) +
            `${line}  <string>a</string>`,
        ),
      );
    }
  },
);

Deno.test("wrapCommand() puts Program in place of the first word", pure, () => {
  const text = `<dict>
  <key>Program</key>
  <string>/a &amp; b</string>
  <key>ProgramArguments</key>
  <array><string>name</string><string>x</string></array>
</dict>`;
  assertEquals(
    wrapped(text),
    `<dict>
  <!-- Program is now in ProgramArguments, behind the guard -->
  <key>ProgramArguments</key>
  <array>${GUARD}<string>/a &amp; b</string><string>x</string></array>
</dict>`,
  );
});

Deno.test("wrapCommand() makes ProgramArguments of Program", pure, () => {
  const text = `<dict>
    <key>Program</key>
    <string>/a</string>
    <key>Label</key><string>l</string>
</dict>`;
  const items = [
    ...GUARD.matchAll(/<string>.*?<\/string>/g),
    "<string>/a</string>",
  ]
    .map((item) => `\n        ${item}`).join("");
  assertEquals(
    wrapped(text),
    `<dict>
    <key>ProgramArguments</key>
    <array>${items}
    </array>
    <key>Label</key><string>l</string>
</dict>`,
  );
  assertEquals(
    wrapped(
      "<dict><key>ProgramArguments</key><array/><key>Program</key><string>/a</string></dict>",
    ),
    `<dict><key>ProgramArguments</key><array>${GUARD}<string>/a</string></array>` +
      "<!-- Program is now in ProgramArguments, behind the guard --></dict>",
  );
});

Deno.test("wrapCommand() looks at the keys of the root alone", pure, () => {
  const inner =
    "<key>EnvironmentVariables</key><dict><key>Program</key><string>p</string></dict>";
  const text =
    `<dict>${inner}<key>ProgramArguments</key><array><string>a</string></array></dict>`;
  assertEquals(wrapped(text), text.replace("<array>", `<array>${GUARD}`));
});

Deno.test("wrapCommand() refuses what it cannot be sure of", pure, () => {
  const refused: [string, string][] = [
    ["<dict><key>Label</key><string>l</string></dict>", "neither"],
    ["<dict><key>ProgramArguments</key><array/></dict>", "neither"],
    [
      "<dict><key>ProgramArguments</key><string>a</string></dict>",
      "no array",
    ],
    [
      "<dict>" +
      "<key>ProgramArguments</key><array><string>a</string></array>".repeat(2) +
      "</dict>",
      "ProgramArguments twice",
    ],
    ["<dict><key>Program</key><key>Label</key></dict>", "no value"],
    ["<dict><array></dict>", "closes nothing"],
    ["<dict><array>", "not closed"],
    ["<array></array>", "no dictionary"],
    ["", "no dictionary"],
  ];
  for (const [text, words] of refused) {
    const plist = decodePlist(bytes(text));
    assertThrows(() => wrapCommand(plist, WORDS), SyntaxError, words);
  }
});

Deno.test(
  "undoReplacements() leaves edits elsewhere, and gives up otherwise",
  pure,
  () => {
    const replacements = [{ before: "", after: "<g/>" }];
    assertEquals(undoReplacements("a<g/>b", replacements), "ab");
    assertEquals(undoReplacements("a<g/>b<g/>", replacements), null);
    assertEquals(undoReplacements("ab", replacements), null);
  },
);

Deno.test(
  "guardPrefix() knows the guard's words from the command's",
  pure,
  () => {
    const prefix = guardPrefix([
      "/opt/deno",
      "run",
      "--quiet",
      "/x/quota_guard.js",
      "--priority",
      "--job=l",
      "--expires",
      "2h",
      "--",
      "/bin/sh",
      "--",
      "x",
    ]);
    assertEquals(prefix, {
      job: "l",
      options: ["--priority", "--expires", "2h"],
      length: 9,
    });
    assertEquals(guardPrefix(["/bin/quota_guard", "--job", "l", "--", "a"]), {
      job: "l",
      options: [],
      length: 4,
    });
    const none = [
      [],
      ["/bin/sh", "-c", "quota_guard.js --job l -- a"],
      [
        "/usr/bin/caffeinate",
        "-i",
        "/x/quota_guard.js",
        "--job",
        "l",
        "--",
        "a",
      ],
      ["/opt/deno", "run", "/x/quota_guard.js", "--", "a"],
      ["/opt/deno", "run", "/x/quota_guard.js", "--job", "l", "--"],
      ["/opt/deno", "run", "/x/quota_guard.js", "--job", "l"],
    ];
    for (const args of none) {
      assertEquals(
        guardPrefix(args),
        null,
        args.join(" "),
      );
    }
  },
);

Deno.test(
  "dropWords() takes the first words out, with what stands between",
  pure,
  () => {
    const plist = decodePlist(bytes(
      "<dict><key>ProgramArguments</key><array><!-- x --> <string>a</string> <string>b</string> <string>c</string></array></dict>",
    ));
    assertEquals(
      dropWords(plist, 2),
      "<dict><key>ProgramArguments</key><array><!-- x --> <string>c</string></array></dict>",
    );
    assertThrows(() => dropWords(plist, 3), SyntaxError, "too few");
  },
);

Deno.test("decodePlist() gives every encoding back as it was", pure, () => {
  const text = '<?xml version="1.0"?><a>\u3042\u{1f600}&\r\n</a>';
  const utf16 = (order: boolean, mark: boolean): Uint8Array => {
    const units = [...(mark ? "\ufeff" : "") + text].join("");
    const view = new DataView(new ArrayBuffer(units.length * 2));
    for (let i = 0; i < units.length; i++) {
      view.setUint16(i * 2, units.charCodeAt(i), order);
    }
    return new Uint8Array(view.buffer);
  };
  const files: Uint8Array[] = [
    bytes(text),
    bytes("\ufeff" + text),
    utf16(true, true),
    utf16(false, true),
    utf16(true, false),
    utf16(false, false),
  ];
  for (const file of files) {
    const plist = decodePlist(file);
    assertEquals(plist.encode(plist.text), file);
    assertEquals(plist.show(plist.text), text);
    assertEquals(plist.escape("\u3042<"), "\u3042&lt;");
  }
});

Deno.test(
  "decodePlist() leaves the bytes of other encodings alone",
  pure,
  () => {
    const head = bytes('<?xml version="1.0" encoding="Shift_JIS"?><a>');
    // Two characters whose second bytes are those of `\` and `]`.
    const file = new Uint8Array([
      ...head,
      0x83,
      0x5c,
      0x83,
      0x5d,
      ...bytes("</a>"),
    ]);
    const plist = decodePlist(file);
    assertEquals(plist.encode(plist.text), file);
    assertEquals(plist.show(plist.text).slice(-6), "ソゾ</a>");
    assertEquals(plist.escape("é\u{1f600}&"), "&#233;&#128512;&amp;");
  },
);

Deno.test(
  "decodePlist() refuses bytes that are not of their encoding",
  pure,
  () => {
    assertThrows(() => decodePlist(new Uint8Array([0x3c, 0xff])), TypeError);
    assertThrows(
      () => decodePlist(new Uint8Array([0xff, 0xfe, 0x00, 0xd8])),
      TypeError,
    );
  },
);

Deno.test("rootEntries() reads keys as XML has them", pure, () => {
  const text =
    '<!DOCTYPE plist [<!ENTITY x "<dict>">]><plist version="1.0"><dict>' +
    "<key>A &amp; <![CDATA[<b>]]><!-- c -->&#x41;&#66;</key><true/>stray<key>C</key> <dict ></dict ></dict></plist>";
  const entries = rootEntries(text);
  assertEquals(entries.map(({ name }) => name), ["A & <b>AB", "C"]);
  assertEquals(entries.map(({ value }) => value.tag), ["true", "dict"]);
  const [first] = entries;
  assertEquals(first && contentOf(text, first.value), "");
});

Deno.test("applyEdits() takes edits in any order", pure, () => {
  assertEquals(
    applyEdits("abc", [
      { start: 0, end: 0, text: "x" },
      { start: 2, end: 3, text: "z" },
      { start: 1, end: 2, text: "" },
    ]),
    "xaz",
  );
});
