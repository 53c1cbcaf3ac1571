import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import {
  clashOf,
  fileName,
  itemName,
  parseItems,
  patternProblem,
} from "../lib/batch_items.ts";
import { UsageError } from "../lib/usage.ts";

const pure = { permissions: "none" } as const;

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

Deno.test("parseItems() takes an item a line, as it stands", pure, () => {
  const list =
    "\uFEFFalpha\n\n   \n# not this\n  # nor this\n two words \r\na/b\n-rf\n日本語 🎈\nquote\"s 'em\nlast";
  assertEquals(parseItems(bytes(list)), {
    items: [
      "alpha",
      " two words ",
      "a/b",
      "-rf",
      "日本語 🎈",
      "quote\"s 'em",
      "last",
    ],
    duplicates: [],
  });
});

Deno.test("parseItems() keeps the first of several", pure, () => {
  assertEquals(parseItems(bytes("a\nb\na\nc\na\nb\n")), {
    items: ["a", "b", "c"],
    duplicates: ["a", "b"],
  });
});

Deno.test("parseItems() refuses what no argument can hold", pure, () => {
  assertThrows(() => parseItems(bytes("a\0b")), UsageError, "NUL");
  assertThrows(
    () => parseItems(new Uint8Array([0x61, 0xff, 0x0a])),
    UsageError,
    "UTF-8",
  );
});

Deno.test(
  "itemName() is a safe file name, one for each item",
  pure,
  async () => {
    const expected: [string, string][] = [
      ["alpha", "alpha"],
      ["two words", "two words"],
      ["a.b-c~d", "a.b-c~d"],
      ["日本語 🎈", "日本語 🎈"],
      ["a/b", "a%2Fb"],
      ["a%2Fb", "a%252Fb"],
      ["..", "%2E."],
      [".", "%2E"],
      [".profile", "%2Eprofile"],
      ["-rf", "%2Drf"],
      ["~", "%7E"],
      ["https://example.org/x?y", "https%3A%2F%2Fexample.org%2Fx?y"],
      ["tab\there", "tab%09here"],
      ["back\\slash", "back%5Cslash"],
      ["\u0085", "%C2%85"],
    ];
    for (const [item, name] of expected) {
      assertEquals(
        await itemName(item),
        name,
      );
    }
  },
);

Deno.test("itemName() cuts a long item and keeps it apart", pure, async () => {
  const long = [
    "x".repeat(300),
    "x".repeat(301),
    "x".repeat(299) + "y",
    "語".repeat(300),
    "🎈".repeat(300),
    "/".repeat(300),
  ];
  const names = await Promise.all(long.map(itemName));
  assertEquals(new Set(names).size, long.length);
  for (const name of names) {
    assert(bytes(name).length <= 190, name);
    assertMatch(name, /%~[0-9a-f]{16}$/);
    assert(!name.includes("\uFFFD") && !name.includes("/"), name);
  }
  assertEquals(await itemName("x".repeat(190)), "x".repeat(190));
  // An item that looks like a cut name is not one.
  assertEquals(
    await itemName("x%~0123456789abcdef"),
    "x%25~0123456789abcdef",
  );
});

Deno.test("patternProblem() wants one place for the name", pure, () => {
  for (const good of ["{}", "{}.md", "post {}.html", "$&{}$1"]) {
    assertEquals(patternProblem(good), null, good);
  }
  for (
    const bad of ["out", "{}{}", "a/{}", ".{}", "{}" + "x".repeat(61), "{}\n"]
  ) assert(patternProblem(bad) !== null, bad);
  assertEquals(fileName("$&{}$1", "$$"), "$&$$$1");
});

Deno.test("clashOf() finds items that would share a file", pure, () => {
  const names = (...items: string[]): Map<string, string> =>
    new Map(items.map((item) => [item, item]));
  assertEquals(clashOf(names("a", "b"), "{}.out", true), null);
  assertEquals(clashOf(names("a", "A"), "{}.out", false), null);
  assertMatch(clashOf(names("a", "A"), "{}.out", true) ?? "", /"a" and "A"/);
  assertMatch(
    clashOf(names("caf\u00e9", "cafe\u0301"), "{}", false) ?? "",
    /would share/,
  );
  assertMatch(clashOf(names("done"), "{}", false) ?? "", /"done"/);
  assertEquals(clashOf(names("done"), "{}.out", false), null);
});
