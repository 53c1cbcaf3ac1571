import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { join } from "@std/path/join";
import { openByHand } from "../lib/circuit.ts";
import { ranMarker, skippedMarker } from "../lib/marker.ts";
import { updateState } from "../lib/state.ts";
import type { PlistDict } from "./plist_xml.ts";
import { Stage } from "./setup_stage.ts";

/** Seven in the morning of the stage's day. */
const SEVEN = Temporal.Instant.from("2026-12-01T07:00:00Z").epochMilliseconds /
  1000;

/** A wrapped job at seven, with lines in its log. */
function job(
  stage: Stage,
  log: string[],
  flags: string[] = [],
  keys: PlistDict = {},
): void {
  const path = join(stage.home, "post.log");
  stage.agent("post", {
    ProgramArguments: [
      ...stage.guardWords,
      ...["--job", "post", ...flags, "--", "claude"],
    ],
    StartCalendarInterval: { Hour: 7, Minute: 0 },
    StandardErrorPath: path,
    ...keys,
  });
  Deno.writeTextFileSync(path, log.map((line) => line + "\n").join(""));
}

const skip = skippedMarker("post", { reason: "quota", remaining: 60 }, SEVEN);

/** What `--explain post` says about a fact. */
async function fact(stage: Stage, about: string): Promise<string> {
  const { code, text } = await stage.run("--explain", "post");
  assertEquals(code, 0, text);
  const line = new RegExp(`^ {2}${about} +(.*)$`, "m").exec(text)?.[1];
  return line ?? `nothing about ${about} in:\n${text}`;
}

Deno.test("--explain shows the chain of facts of a job that is owed", async () => {
  using stage = new Stage();
  stage.launchctl = {
    domain: "gui/501",
    run: ([verb]) =>
      Promise.resolve({
        code: 0,
        stdout: verb === "print"
          ? "gui/501/post = {\n\tstate = not running\n\n\tdomain = gui/501\n\truns = 2\n\tlast exit code = 0\n}\n"
          : "",
        stderr: "",
        timedOut: false,
      }),
  };
  job(stage, [skip], ["--priority", "--expires", "6h"]);
  const { code, text } = await stage.run("--explain", "post");
  assertEquals(code, 0);
  assertEquals(text.split("\n").map((line) => line.replace(/ {3,}/, "  ")), [
    "post",
    "  plist  ~/Library/LaunchAgents/post.plist",
    "  starts  daily 07:00; next Wed 2 Dec 07:00",
    "  guard  --job post, --priority: may send the probe, --expires: not caught up later than 6 h after a skip",
    "  state  ~/.local/state/claude-quota",
    "  log  ~/post.log: SKIPPED 07:00, reason quota",
    "  books  nothing of it",
    "  newest  SKIPPED 07:00, reason quota",
    "  slot  one has passed today",
    "  launchd  loaded, not running, 2 starts, last exit 0",
    "  kicks  none",
    "  circuit  closed",
    "  next round  kicks it if claude answers: skipped 07:00 (quota)",
  ]);
});

Deno.test("--explain says what stands in the way", async () => {
  using stage = new Stage();
  job(stage, [skip, ranMarker("post", 0, null, SEVEN + 60)]);
  assertEquals(await fact(stage, "next round"), "nothing: ran 07:01, exit 0");
  job(stage, [skip], ["--expires", "1h"]);
  assertMatch(await fact(stage, "next round"), /^waits: .*expired 08:00/);
  job(stage, [skip]);
  assertMatch(await fact(stage, "next round"), /^waits: .*no launchctl/);
  assertEquals(await fact(stage, "launchd"), "there is no launchctl here");
  job(stage, [skip], [], { StartInterval: 60 });
  assertStringIncludes(await fact(stage, "slot"), "StartInterval repeats");
  job(stage, []);
  assertMatch(await fact(stage, "next round"), /^nothing: no run in its logs/);
  assertMatch(await fact(stage, "log"), /no marker of it$/);
  job(stage, [skip], [], { StandardErrorPath: "" });
  assertMatch(await fact(stage, "log"), /^none: the books alone/);
});

Deno.test("--explain knows the circuit, the books and the kicks", async () => {
  using stage = new Stage();
  job(stage, [skip]);
  const now = stage.host.now();
  await updateState(stage.state, stage.host, ({ circuit, books }) => ({
    circuit: openByHand(circuit, now + 3600, "manual", now),
    books: {
      ...books,
      jobs: new Map([["post", {
        outcome: "skipped",
        ts: SEVEN,
        exit: null,
        reason: "quota",
        ending: null,
        calls: 1,
        seconds: null,
        owed_from: null,
      }]]),
    },
    result: null,
  }));
  assertEquals(
    await fact(stage, "circuit"),
    "open until 13:00 (1 h), reason manual",
  );
  assertEquals(
    await fact(stage, "books"),
    "skipped 07:00, reason quota, 1 call",
  );
});

Deno.test("--explain of what is no job behind the guard", async () => {
  using stage = new Stage();
  stage.agent("bare", { ProgramArguments: ["claude"] });
  const bare = await stage.run("--explain", "bare");
  assertMatch(bare.text, /next round +nothing; quota_catchup.js --wrap bare/);
  const unknown = await stage.run("--explain", "bre");
  assertEquals(unknown.code, 1);
  assertStringIncludes(unknown.text, "did you mean bare?");
  stage.agent("broken", "<plist>");
  const broken = await stage.run("--explain", "broken");
  assertMatch(broken.text, /next round +nothing: cannot be read/);
});
