import { assertEquals } from "@std/assert";
import { isCall, modelOf } from "../lib/call.ts";

const pure = { permissions: "none" } as const;

function words(line: string): string[] {
  return line === "" ? [] : line.split(" ");
}

Deno.test(
  "isCall() is true for -p, --print and clusters, on a terminal as well",
  pure,
  () => {
    for (
      const line of [
        "-p hi",
        "--print hi",
        "hi -p",
        "-cp hi",
        "-pc",
        "--model opus -p hi",
        "-p mcp",
        "--output-format json --print",
        "-p -- --version",
      ]
    ) {
      assertEquals(isCall(words(line), true), true, line);
      assertEquals(isCall(words(line), false), true, line);
    }
  },
);

Deno.test("isCall() without them is true off the terminal alone", pure, () => {
  for (
    const line of [
      "",
      "hi",
      "-c",
      "--continue",
      "--model opus hi",
      "--model mcp",
      "--resume 7",
      "-- mcp",
      "what does mcp mean",
    ]
  ) {
    assertEquals(isCall(words(line), false), true, line);
    assertEquals(isCall(words(line), true), false, line);
  }
});

Deno.test("isCall() is false for what asks nothing", pure, () => {
  for (
    const line of [
      "--version",
      "-v",
      "--help",
      "-h",
      "-p --help",
      "mcp list",
      "update",
      "doctor",
      "auth status",
      "config get model",
      "plugin install x",
      "install stable",
      "setup-token",
      "--model opus mcp list",
    ]
  ) {
    assertEquals(isCall(words(line), false), false, line);
  }
});

Deno.test("modelOf() is the --model, or default", pure, () => {
  assertEquals(modelOf(words("-p --model opus hi")), "opus");
  assertEquals(modelOf(words("--model=claude-opus-4-5 -p")), "claude-opus-4-5");
  assertEquals(modelOf(words("-p hi")), "default");
  assertEquals(modelOf(words("-p hi --model")), "default");
  assertEquals(modelOf(words("-p -- --model opus")), "default");
  assertEquals(modelOf(words("--model __proto__")), "__proto__");
});
