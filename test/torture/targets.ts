/** Everything that reads what others write, with what must hold of it. */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path/join";
import { parseBatchArguments } from "../../lib/batch_arguments.ts";
import { itemName, parseItems } from "../../lib/batch_items.ts";
import { parseDoneMarker, parseFailedRecord } from "../../lib/batch_record.ts";
import { emptyBooks } from "../../lib/books.ts";
import { calendarProblem, describeSchedule } from "../../lib/calendar.ts";
import { findCandidates } from "../../lib/candidate.ts";
import { parseCatchupArguments } from "../../lib/catchup_arguments.ts";
import { circuitStatus, claimProbe, openByHand } from "../../lib/circuit.ts";
import { parseDuration } from "../../lib/duration.ts";
import { classify } from "../../lib/classify.ts";
import { parseGuardArguments } from "../../lib/guard_arguments.ts";
import { parseInstant, zoned } from "../../lib/instant.ts";
import {
  guardOptions,
  isGuarded,
  logPaths,
  parseLaunchAgent,
} from "../../lib/launch_agent.ts";
import { latestMarkerInLog, markersInLogSince } from "../../lib/log_tail.ts";
import { labelProblem, ranMarker, skippedMarker } from "../../lib/marker.ts";
import { callPath, findRealClaude } from "../../lib/real_claude.ts";
import { isGone, parsePrint, parsePrintDisabled } from "../../lib/service.ts";
import { policyFrom } from "../../lib/settings.ts";
import { shellWords } from "../../lib/shell_words.ts";
import { calendarSlotPassed, nextSlot, slotsBetween } from "../../lib/slot.ts";
import { readBooks, readCircuit, updateState } from "../../lib/state.ts";
import { stateFolder } from "../../lib/state_folder.ts";
import { statusLines, statusReport } from "../../lib/status.ts";
import { BEGUN_LINE, parseTally, verdict } from "../../lib/tally.ts";
import { UsageError } from "../../lib/usage.ts";
import { fakeHost } from "../fake_host.ts";
import { plistXml } from "../plist_xml.ts";
import { bytes, type Target, textFrom } from "./fuzz.ts";

/** 2026-11-30T16:30:15Z, epoch seconds. */
const NOW = 1_796_056_215;
const ZONE = "Asia/Tokyo";
const here = new URL("../fixtures/", import.meta.url);

function fixtures(folder: string): Uint8Array[] {
  return [...Deno.readDirSync(new URL(folder, here))].map(({ name }) =>
    Deno.readFileSync(new URL(`${folder}/${name}`, here))
  );
}

// deno-lint-ignore no-control-regex -- control characters are what must not be there
const CONTROL = /[\x00-\x1f\x7f-\x9f]/;

/** Only this may be thrown at a user who mistypes. */
function orUsage(read: () => unknown): void {
  try {
    read();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
  }
}

const LAUGHS = `<?xml version="1.0"?><!DOCTYPE plist [<!ENTITY a "${
  "ha".repeat(50)
}">${
  Array.from({ length: 9 }, (_, i) =>
    `<!ENTITY ${"bcdefghij"[i]} "${`&${"abcdefghi"[i]};`.repeat(10)}">`).join(
      "",
    )
}]><plist><dict><key>Label</key><string>&j;</string></dict></plist>`;

const plist: Target = {
  name: "plist",
  corpus: [
    bytes(plistXml({
      Label: "com.me.post",
      ProgramArguments: [
        ...["/opt/deno", "run", "/b/quota_guard.js", "--job", "post"],
        ...["--priority", "--expires", "3h", "--", "/bin/sh", "x"],
      ],
      StartCalendarInterval: [{ Hour: 7, Minute: 30 }, { Weekday: 1, Hour: 3 }],
      StandardErrorPath: "logs/err",
      WorkingDirectory: "/Users/me",
      EnvironmentVariables: { CLAUDE_QUOTA_DIR: "state" },
    })),
    bytes(plistXml({
      Label: "x",
      ProgramArguments: ["zsh", "-lc", 'quota_guard --job "$N" -- claude -p'],
      StartInterval: 60,
      StartCalendarInterval: { Day: 31, Month: 2, Hour: 24, Minute: -1 },
      KeepAlive: true,
    })),
    bytes(LAUGHS),
    ...fixtures("plists"),
  ],
  words: [
    "<dict>",
    "</dict>",
    "<array>",
    "<key>Label</key>",
    "<string>",
    "</string>",
    "<integer>1e308</integer>",
    "<integer>-1</integer>",
    "<real>NaN</real>",
    "<date>2026</date>",
    "<!--",
    "-->",
    "<![CDATA[",
    "&#0;",
    "&amp;",
    "<key>__proto__</key>",
    "\ufeff",
    "\u202e",
  ],
  async check(input): Promise<void> {
    let agent;
    try {
      agent = await parseLaunchAgent(
        "/a/x.plist",
        input,
        () => Promise.resolve(null),
      );
    } catch (error) {
      assert(error instanceof Error);
      return;
    }
    assertEquals(typeof agent.label, "string");
    isGuarded(agent);
    guardOptions(agent);
    for (const path of logPaths(agent)) assert(path.startsWith("/"));
    const now = zoned(NOW, ZONE);
    calendarProblem(agent.calendar);
    describeSchedule(agent);
    calendarSlotPassed(agent, now);
    nextSlot(agent.calendar, now);
    const slots = slotsBetween(agent.calendar, now.subtract({ days: 2 }), now);
    assert(slots.length <= 2 * 1440 + 1);
    findCandidates([{
      path: "/a/x.plist",
      agent: { ...agent, stdoutPath: null, stderrPath: null },
    }], {
      now: NOW,
      begun: NOW,
      timeZone: ZONE,
      window: null,
      folderOf: () => "/s",
      booksOf: () => emptyBooks(),
    });
  },
};

const SKIP = skippedMarker("mail", { reason: "quota", remaining: 9 }, NOW);
const RAN = ranMarker("mail", 0, "budget", NOW + 1);

/** The last line that is exactly a marker, by looking at each line. */
function lastMarker(text: string): string | null {
  const whole =
    /^CLAUDE_QUOTA_JOB_(SKIPPED|RAN) job=mail( [a-z_]+=\S*)* ts=(\d{10})\r?$/;
  const line = text.split("\n").findLast((line) => whole.test(line));
  const [, kind, , ts] = whole.exec(line ?? "") ?? [];
  return kind === undefined ? null : `${kind} ${ts}`;
}

function logTarget(folder: string): Target {
  const path = join(folder, "log");
  return {
    name: "log",
    corpus: [
      bytes(`a\n${SKIP}\nb\n${RAN}\n`),
      bytes(`${SKIP}\r\n${RAN}\r\nhello`),
      bytes(`${RAN}\n${"x".repeat(70_000)}\n`),
      bytes(`\0\xff ${SKIP}\n ${RAN}\n`),
      new Uint8Array([...bytes(SKIP), 10, 0xff, 0xc3, 10, ...bytes(RAN), 0xe2]),
    ],
    words: [
      SKIP,
      RAN,
      `\n${SKIP}\n`,
      `\n${RAN}\n`,
      "\n",
      "\r\n",
      "\0",
      "CLAUDE_QUOTA_JOB_",
      "job=mail",
      " ts=1796056215",
      "\u2028",
      "\u0085",
      "\r",
      "job=mail2",
    ],
    check(input): void {
      Deno.writeFileSync(path, input);
      const expected = lastMarker(textFrom(input));
      const marker = latestMarkerInLog(path, "mail");
      const found = marker && `${marker.kind} ${marker.ts}`;
      assertEquals(found, expected);
      const last = markersInLogSince(path, "mail", 0).at(-1) ?? null;
      assertEquals(last && `${last.kind} ${last.ts}`, expected);
    },
  };
}

function stateTarget(folder: string, name: "state.json" | "jobs.json"): Target {
  const path = join(folder, name);
  const policy = { probeInterval: 1800, cooldown: 21_600 };
  const circuit = {
    open_until: NOW + 7200,
    opened_at: NOW - 60,
    closed_at: 0,
    hold: 0,
    reason: "quota",
    window: "five_hour",
    opened_by: { job: "a", sentence: "limit" },
    last_priority_probe: NOW - 60,
    scopes: {
      opus: { open_until: NOW + 9, opened_at: NOW, family: "opus" },
    },
    suspects: { a: NOW },
  };
  const books = {
    jobs: {
      a: { outcome: "ran", ts: NOW, exit: 0, calls: 1, seconds: 3 },
      b: { outcome: "skipped", ts: NOW, reason: "quota", owed_from: NOW },
    },
    kicks: { b: { skip_ts: NOW, at: NOW, runs: 3, count: 1, done: true } },
    last_ok: NOW,
    heartbeats: { catchup: NOW },
  };
  return {
    name,
    corpus: [
      bytes(JSON.stringify(name === "state.json" ? circuit : books)),
      bytes("{}"),
    ],
    words: [
      "null",
      "1e999",
      "-1e308",
      "8640000000000",
      "99999999999999999999",
      '"x"',
      "[]",
      "{}",
      "true",
      '"__proto__":',
      '"\\u0000"',
      '"\\ud800"',
      "\ufeff",
      "[".repeat(5000),
      '"open_until":',
      '"jobs":',
      '"at":',
      '"ts":',
    ],
    async check(input): Promise<void> {
      for (const { name } of Deno.readDirSync(folder)) {
        Deno.removeSync(join(folder, name), { recursive: true });
      }
      Deno.writeFileSync(path, input);
      const host = fakeHost(NOW, { timeZone: ZONE });
      const circuit = await readCircuit(folder, host);
      const books = await readBooks(folder, host);
      const { remaining_seconds: left } = circuitStatus(circuit, NOW);
      assert(left >= 0 && left <= 33 * 86_400, `${left} s left`);
      claimProbe(circuit, NOW, 1800);
      JSON.stringify(statusReport(circuit, books, NOW, policy));
      const lines = statusLines(circuit, books, NOW, policy, ZONE);
      assert(lines.every((line) => !line.includes("NaN")), lines.join("|"));
      const done = await updateState(folder, host, (state) => ({
        circuit: openByHand(state.circuit, NOW + 60, "x", NOW),
        books: { ...state.books, last_ok: NOW },
        result: null,
      }));
      assert(done.done, done.done ? "" : done.why);
      assertEquals((await readBooks(folder, host)).last_ok, NOW);
      assert(circuitStatus(await readCircuit(folder, host), NOW).is_open);
      assert(host.said.length <= 1, host.said.join("\n"));
    },
  };
}

const print: Target = {
  name: "launchctl print",
  corpus: [
    ...fixtures("print"),
  ] as [Uint8Array, ...Uint8Array[]],
  words: [
    "\tpid = 1\n",
    "\tstate = running\n",
    "\truns = 99999999999999999999\n",
    "\tlast exit code = (never exited)\n",
    "{\n",
    "\t}\n",
    "}\n",
    "\t",
    "\n",
    "= ",
    '"',
    "descriptor = {",
  ],
  check(input): void {
    const text = textFrom(input);
    const status = parsePrint(text);
    const { pid, runs, lastExit, lastSignal } = status;
    for (const n of [pid, runs, lastExit, lastSignal]) {
      assert(n === null || Number.isInteger(n), `${n}`);
    }
    isGone(status);
    slotsBetween(
      status.calendar,
      zoned(NOW - 3600, ZONE),
      zoned(NOW + 3600, ZONE),
    );
    parsePrintDisabled(text);
  },
};

const lines = new TextDecoder().decode(
  Deno.readFileSync(new URL("endings.jsonl", here)),
).split("\n").filter((line) => line !== "");

const claude: Target = {
  name: "claude's output",
  corpus: [
    bytes(
      '{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"You\'ve hit your session limit · resets 5pm (UTC)","total_cost_usd":0.1}\n',
    ),
    ...lines.map((line) => bytes(String(JSON.parse(line).text))),
  ],
  words: [
    "You've hit your limit",
    " · resets 3pm (Asia/Tokyo)",
    "|1796056215",
    '{"type":"result"',
    '"result":"',
    "\\n",
    "\x1b[31m",
    "\x1b]8;;",
    "\u202e",
    "\n",
    '"',
    "}",
    "429",
    "API Error: ",
    "resets Feb 30",
    "resets 99:99",
  ],
  check(input): void {
    for (const exit of [0, 1]) {
      const ending = classify({
        stdout: input,
        stderr: new Uint8Array(),
        exit,
        startedAt: NOW - 10,
        endedAt: NOW,
        timeZone: ZONE,
      });
      assert(ending.text.length <= 200 && !CONTROL.test(ending.text));
      assert(ending.evidence.length <= 300 && !CONTROL.test(ending.evidence));
      const { reset_at: reset } = ending;
      assert(reset === null || Number.isFinite(reset), `${reset}`);
    }
  },
};

const WORDS: [string, ...string[]] = [
  "--job",
  "--job=mail",
  "mail",
  "--priority",
  "--expires",
  "3h",
  "--",
  "--batch",
  "--into",
  "--status",
  "--open",
  "--until",
  "+5m",
  "--until=25:61",
  "2026-02-30T08:00",
  "--reason",
  "--classify",
  "--claude",
  "-p",
  "--timeout",
  "0",
  "-1",
  "1e9",
  "--json",
  "--window",
  "--workers",
  "--max-items",
  "--ends-with",
  "--attempts",
  "--progress",
  "*",
  "--skip-exit",
  "256",
  "__proto__",
  "\0",
  "",
];

const commandLine: Target = {
  name: "arguments",
  corpus: [
    bytes("--job\nmail\n--priority\n--\ntrue"),
    bytes("--batch\nlist\n--into\ndir\n--\ntrue"),
    bytes("--open\n--until\n+5m\n--reason\nx"),
    bytes("--dry-run\n--window\n3\n--timeout\n45m"),
  ],
  words: WORDS.map((word) => `\n${word}\n`) as [string, ...string[]],
  check(input): void {
    const args = textFrom(input).split("\n").slice(0, 2000);
    orUsage(() => {
      const command = parseGuardArguments(args);
      if (command.mode === "job") {
        assertEquals(labelProblem(command.job.label), null);
      }
      if (command.mode === "batch") {
        parseBatchArguments(command.own, command.command);
      }
    });
    orUsage(() => parseCatchupArguments(args));
    for (const arg of args.slice(0, 20)) {
      const duration = parseDuration(arg);
      assert(duration === null || (Number.isFinite(duration) && duration >= 0));
      const instant = parseInstant(arg, NOW, ZONE);
      assert(instant === null || Number.isFinite(instant));
    }
    shellWords(textFrom(input), () => "x y");
  },
};

const environment: Target = {
  name: "environment",
  corpus: [
    bytes("CLAUDE_QUOTA_COOLDOWN=60"),
    bytes("CLAUDE_QUOTA_PRIORITY_PROBE_INTERVAL=-1\nPATH=:::/x:relative:"),
    bytes("CLAUDE_QUOTA_DIR=../x\nCLAUDE_REAL_BIN=x\nCLAUDE=y\nHOME=/"),
  ],
  words: ["\n", "=", ":", "/", "..", "1e400", "NaN", "0x10", "\0", "HOME="],
  check(input): void {
    const variables = new Map(
      textFrom(input).split("\n").map((line): [string, string] => {
        const [name = "", value = ""] = line.split(/=(.*)/s);
        return [name, value];
      }),
    );
    const env = (name: string): string | undefined =>
      variables.get(name) || undefined;
    const { probeInterval, cooldown } = policyFrom(env);
    assert(Number.isFinite(probeInterval) && cooldown > 0);
    if (env("HOME") || env("CLAUDE_QUOTA_DIR")) {
      assert(stateFolder(env).startsWith("/"));
    }
    const real = findRealClaude(env, ["/state/bin/claude"]);
    if (real !== null) assert(callPath(env, real).length > 0);
  },
};

const list: Target = {
  name: "list of a batch",
  corpus: [bytes("one\ntwo\n../three\n\n four \r\n"), bytes("a\0b\0c\nd")],
  words: [
    "\n",
    "\0",
    "..",
    "/",
    ".",
    "\u00e9",
    "e\u0301",
    "\ufeff",
    "A\n",
    "a\n",
  ],
  async check(input): Promise<void> {
    let items;
    try {
      ({ items } = parseItems(input));
    } catch (error) {
      if (error instanceof UsageError) return;
      throw error;
    }
    const names = new Set<string>();
    for (const item of items.slice(0, 200)) {
      const name = await itemName(item);
      assert(!/[/\0]/.test(name) && name !== "." && name !== "..", name);
      assert(bytes(name).length <= 200 && name !== "", name);
      names.add(name);
    }
    assertEquals(names.size, Math.min(200, items.length), "names clash");
  },
};

const records: Target = {
  name: "small records",
  corpus: [
    bytes(
      `probe\n${BEGUN_LINE} 1\ncall ok - 0.25 1\ncall limit 1796056215 - 12\n`,
    ),
    bytes('{"name":"a","bytes":3,"sha256":"","file":"a.md"}'),
  ],
  words: [
    BEGUN_LINE,
    "\n",
    "call ",
    "limit",
    "refused",
    " - -\n",
    "NaN",
    "1e999",
  ],
  check(input): void {
    const text = textFrom(input);
    const tally = parseTally(text, "12");
    for (const { cost, owedFrom } of tally.calls) {
      assert(cost === null || Number.isFinite(cost));
      assert(owedFrom === null || Number.isFinite(owedFrom));
    }
    verdict(tally, {
      exit: 1,
      heldProbe: true,
      circuitOpen: true,
      once: false,
      resumable: false,
      started: true,
    });
    parseDoneMarker(text);
    parseFailedRecord(text);
  },
};

/** All of them; `folder` is for those that read files. */
export function targets(folder: string): Target[] {
  const state = join(folder, "state");
  Deno.mkdirSync(state, { mode: 0o700 });
  return [
    plist,
    logTarget(folder),
    stateTarget(state, "state.json"),
    stateTarget(state, "jobs.json"),
    print,
    claude,
    commandLine,
    environment,
    list,
    records,
  ];
}
