import { assertEquals } from "@std/assert";
import {
  hasStarted,
  isGone,
  parsePrint,
  parsePrintDisabled,
  type ServiceStatus,
  unknownService,
} from "../lib/service.ts";

const FIXTURES = new URL("./fixtures/print/", import.meta.url);

function printed(name: string): ServiceStatus {
  return parsePrint(Deno.readTextFileSync(new URL(`${name}.txt`, FIXTURES)));
}

function status(known: Partial<ServiceStatus>): ServiceStatus {
  return { ...unknownService(""), found: "yes", problem: null, ...known };
}

Deno.test("parsePrint() takes fields one level in and leaves arguments alone", {
  permissions: { read: [FIXTURES] },
}, () => {
  assertEquals(
    printed("idle_calendar"),
    status({
      state: "not running",
      runs: 12,
      lastExit: 75,
      path: "/Users/me/Library/LaunchAgents/com.example.nightly.plist",
      calendar: [{ Minute: 15, Hour: 3 }, { Weekday: 1, Hour: 21 }],
    }),
  );
});

Deno.test(
  "parsePrint() is not misled by arguments and variables with newlines",
  {
    permissions: { read: [FIXTURES] },
  },
  () => {
    assertEquals(
      printed("running_raw_arguments"),
      status({
        state: "running",
        pid: 4321,
        runs: 7,
        lastExit: 0,
        path: "/Users/me/Library/LaunchAgents/com.example.loud.plist",
      }),
    );
    assertEquals(
      printed("idle_raw_arguments"),
      status({
        state: "not running",
        runs: 7,
        lastSignal: 15,
        path: "/Users/me/Library/LaunchAgents/com.example.quiet.plist",
      }),
    );
  },
);

Deno.test("parsePrint() reads spaces and a header without a domain", {
  permissions: { read: [FIXTURES] },
}, () => {
  assertEquals(
    printed("old_system"),
    status({
      state: "running",
      pid: 77,
      runs: 3,
      lastExit: 1,
      path: "/Users/me/Library/LaunchAgents/com.example.old.plist",
    }),
  );
});

Deno.test("parsePrint() tells how the last run ended", {
  permissions: { read: [FIXTURES] },
}, () => {
  const crash = printed("spawn_scheduled");
  assertEquals([crash.state, crash.lastExit, crash.runs], [
    "spawn scheduled",
    78,
    105,
  ]);
  const killed = printed("killed");
  assertEquals([killed.lastSignal, killed.lastExit], [9, null]);
  const unsigned = printed("not_signed");
  assertEquals(unsigned.lastReason, "OS_REASON_CODESIGNING");
  assertEquals(unsigned.path, "(submitted by smd.543)");
  const fresh = printed("never_run");
  assertEquals([fresh.neverExited, fresh.lastExit, fresh.runs], [
    true,
    null,
    0,
  ]);
  assertEquals(printed("running_without_pid").lastExit, -9);
});

Deno.test("parsePrint() knows nothing of a text that is no service", {
  permissions: "none",
}, () => {
  for (const text of ["", "Could not find service\n", "\tstate = running\n"]) {
    const { found, problem } = parsePrint(text);
    assertEquals(found, "unknown", text);
    assertEquals(
      problem,
      "launchctl print answered in a form that is not known",
    );
  }
});

Deno.test("parsePrintDisabled() reads the words of old and new systems", {
  permissions: "none",
}, () => {
  const text = (on: string, off: string): string =>
    `\n\tdisabled services = {\n\t\t"com.example.a" => ${off}\n\t\t"com.example.b c" => ${on}\n\t}\n`;
  const expected = new Map([["com.example.a", true], [
    "com.example.b c",
    false,
  ]]);
  assertEquals(parsePrintDisabled(text("enabled", "disabled")), expected);
  assertEquals(parsePrintDisabled(text("false", "true")), expected);
  assertEquals(parsePrintDisabled(""), new Map());
});

Deno.test("isGone() is false while a process lives, dies or is on its way", {
  permissions: { read: [FIXTURES] },
}, () => {
  assertEquals(isGone(printed("idle_calendar")), true);
  assertEquals(isGone(printed("killed")), true);
  assertEquals(isGone(printed("spawn_scheduled")), false);
  assertEquals(isGone(printed("not_signed")), false);
  assertEquals(isGone(printed("running_without_pid")), false);
  assertEquals(isGone(status({ state: "SIGTERMed" })), false);
  assertEquals(isGone(status({ state: "not running", pid: 3 })), false);
});

Deno.test("isGone() is true of a job that is not loaded, not of one unseen", {
  permissions: "none",
}, () => {
  assertEquals(isGone(unknownService("not loaded", "no")), true);
  assertEquals(isGone(unknownService("no session")), false);
});

Deno.test("hasStarted() goes by another pid or by more runs", {
  permissions: "none",
}, () => {
  const before = status({ runs: 4 });
  assertEquals(hasStarted(before, status({ runs: 4 })), false);
  assertEquals(hasStarted(before, status({ runs: 6 })), true);
  assertEquals(hasStarted(before, status({ runs: 4, pid: 9 })), true);
  const running = status({ runs: 4, pid: 9 });
  assertEquals(hasStarted(running, status({ runs: 4, pid: 9 })), false);
  assertEquals(hasStarted(running, status({ runs: 5, pid: 10 })), true);
  assertEquals(hasStarted(before, unknownService("no session")), false);
});
