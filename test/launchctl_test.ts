import { assertEquals, assertStringIncludes } from "@std/assert";
import {
  disabledLabels,
  explainExit,
  findLaunchctl,
  kickstart,
  type Launchctl,
  launchctlStatus,
  signalJob,
} from "../lib/launchctl.ts";
import type { ToolResult } from "../lib/tool.ts";
import { executable, TempFolder } from "./files.ts";

/** launchctl that always answers the same, and the calls it got. */
function answering(
  answer: Partial<ToolResult>,
): { launchctl: Launchctl; calls: [string[], number][] } {
  const calls: [string[], number][] = [];
  const launchctl: Launchctl = {
    domain: "gui/501",
    run: (args, seconds) => {
      calls.push([args, seconds]);
      return Promise.resolve(
        { code: 0, stdout: "", stderr: "secret", timedOut: false, ...answer },
      );
    },
  };
  return { launchctl, calls };
}

const RUNNING = "gui/501/com.example.a = {\n\tstate = running\n\tpid = 8\n}\n";

Deno.test("launchctlStatus() asks for the job in the domain of the user", {
  permissions: "none",
}, async () => {
  const { launchctl, calls } = answering({ stdout: RUNNING });
  const { found, pid } = await launchctlStatus(launchctl, "com.example.a");
  assertEquals([found, pid], ["yes", 8]);
  assertEquals(calls, [[["print", "gui/501/com.example.a"], 10]]);
});

Deno.test("launchctlStatus() takes 113 for not loaded, in one line or two", {
  permissions: "none",
}, async () => {
  const { launchctl } = answering({
    code: 113,
    stderr: "Bad request.\nCould not find",
  });
  const { found, problem } = await launchctlStatus(launchctl, "com.example.a");
  assertEquals(found, "no");
  assertStringIncludes(problem ?? "", "launchctl bootstrap gui/501");
});

Deno.test("launchctlStatus() cannot tell without a session or an answer", {
  permissions: "none",
}, async () => {
  for (
    const answer of [{ code: 112 }, { code: 125 }, { code: 124 }, {
      timedOut: true,
    }]
  ) {
    const { launchctl } = answering({ ...answer, stdout: RUNNING });
    const { found, pid } = await launchctlStatus(launchctl, "com.example.a");
    assertEquals([found, pid], ["unknown", null], JSON.stringify(answer));
  }
  const run = (): Promise<ToolResult> =>
    Promise.reject(new Error("No such file"));
  const broken = await launchctlStatus(
    { domain: "gui/501", run },
    "com.example.a",
  );
  assertEquals(broken.found, "unknown");
  assertStringIncludes(broken.problem ?? "", "No such file");
});

Deno.test("kickstart() is refused by what launchd refuses", {
  permissions: "none",
}, async () => {
  for (const code of [3, 112, 113, 119, 125, 64]) {
    const { launchctl } = answering({ code });
    assertEquals(
      (await kickstart(launchctl, "com.example.a")).refused,
      true,
      `${code}`,
    );
  }
});

Deno.test("kickstart() is open after 0, 5, 36, 37 and a time-out", {
  permissions: "none",
}, async () => {
  for (
    const answer of [{ code: 5 }, { code: 36 }, { code: 37 }, {
      timedOut: true,
    }]
  ) {
    const { launchctl } = answering(answer);
    const { refused, problem } = await kickstart(launchctl, "com.example.a");
    assertEquals(
      [refused, problem === null],
      [false, false],
      JSON.stringify(answer),
    );
  }
  const { launchctl, calls } = answering({});
  assertEquals(await kickstart(launchctl, "com.example.a"), {
    refused: false,
    problem: null,
  });
  assertEquals(calls, [[["kickstart", "gui/501/com.example.a"], 15]]);
});

Deno.test("signalJob() names the signal, and says when there is no process", {
  permissions: "none",
}, async () => {
  const { launchctl, calls } = answering({ code: 3 });
  assertEquals(await signalJob(launchctl, "SIGTERM", "com.example.a"), {
    refused: true,
    problem: "it is not running",
  });
  assertEquals(calls, [[["kill", "SIGTERM", "gui/501/com.example.a"], 10]]);
});

Deno.test("a label with a slash never reaches launchctl", {
  permissions: "none",
}, async () => {
  const { launchctl, calls } = answering({ stdout: RUNNING });
  assertEquals((await launchctlStatus(launchctl, "a/b")).found, "unknown");
  assertEquals((await kickstart(launchctl, "a/b")).refused, true);
  assertEquals(calls, []);
});

Deno.test("disabledLabels() is null when launchd does not answer", {
  permissions: "none",
}, async () => {
  const { launchctl, calls } = answering({ stdout: '\t"a" => disabled\n' });
  assertEquals(await disabledLabels(launchctl), new Map([["a", true]]));
  assertEquals(calls, [[["print-disabled", "gui/501"], 10]]);
  assertEquals(await disabledLabels(answering({ code: 112 }).launchctl), null);
  assertEquals(
    await disabledLabels(answering({ timedOut: true }).launchctl),
    null,
  );
});

Deno.test("explainExit() gives the remedy, never what launchctl printed", {
  permissions: "none",
}, () => {
  const words = (code: number, verb = "kickstart"): string =>
    explainExit(code, verb, "gui/501/com.example.a");
  assertStringIncludes(words(113), "launchctl bootstrap gui/501 PLIST");
  assertStringIncludes(words(3), "not loaded");
  assertEquals(words(3, "kill"), "it is not running");
  assertStringIncludes(words(119), "launchctl enable gui/501/com.example.a");
  assertStringIncludes(words(112), "cannot tell");
  assertStringIncludes(words(125), "cannot tell");
  assertStringIncludes(words(124), "cannot tell");
  assertStringIncludes(words(5), "input/output error");
  assertStringIncludes(words(37), "already");
  assertStringIncludes(words(36), "already");
  assertStringIncludes(words(78), "log files");
  assertStringIncludes(words(144), "launchctl error 144");
});

Deno.test("findLaunchctl() takes the first on PATH", () => {
  using folder = new TempFolder();
  Deno.mkdirSync(`${folder.path}/empty`);
  Deno.mkdirSync(`${folder.path}/wrong/launchctl`, { recursive: true });
  const standIn = executable(`${folder.path}/launchctl`, "exit 0");
  const path =
    `relative:${folder.path}/empty:${folder.path}/wrong:${folder.path}`;
  assertEquals(
    findLaunchctl((name) => name === "PATH" ? path : undefined),
    standIn,
  );
  const none = Deno.build.os === "darwin" ? "/bin/launchctl" : null;
  assertEquals(findLaunchctl(() => undefined), none);
  assertEquals(findLaunchctl(() => `${folder.path}/empty`), none);
});
