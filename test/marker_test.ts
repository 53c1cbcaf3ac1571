import { assertEquals, assertMatch } from "@std/assert";
import {
  circuitOpenMarker,
  labelProblem,
  latestJobMarker,
  parseJobMarker,
  priorityProbeMarker,
  probePassMarker,
  ranMarker,
  reasonWord,
  refusedMarker,
  skippedMarker,
} from "../lib/marker.ts";
import { quickly } from "./quick.ts";

const pure = { permissions: "none" } as const;
const TS = 1_796_056_215;
const quota = { reason: "quota", remaining: 7260 };
const ranZero = { kind: "RAN", ts: TS, reason: null, exit: 0, end: null };
const skipped = {
  kind: "SKIPPED",
  ts: TS,
  reason: "quota",
  exit: null,
  end: null,
};

Deno.test("markers have the forms of the original", pure, () => {
  assertEquals(
    skippedMarker("mail", quota, TS + 0.9),
    `CLAUDE_QUOTA_JOB_SKIPPED job=mail reason=quota remaining=7260s ts=${TS}`,
  );
  assertEquals(
    refusedMarker("mail", "priority-probe-quota", 1, TS),
    `CLAUDE_QUOTA_JOB_SKIPPED job=mail reason=priority-probe-quota exit=1 ts=${TS}`,
  );
  assertEquals(
    priorityProbeMarker("mail", quota, TS),
    `CLAUDE_QUOTA_JOB_PRIORITY_PROBE job=mail reason=quota remaining=7260s ts=${TS}`,
  );
  assertEquals(
    ranMarker("mail", 0, null, TS),
    `CLAUDE_QUOTA_JOB_RAN job=mail exit=0 ts=${TS}`,
  );
  assertEquals(
    ranMarker("mail", 1, "budget", TS),
    `CLAUDE_QUOTA_JOB_RAN job=mail exit=1 end=budget ts=${TS}`,
  );
  assertEquals(
    circuitOpenMarker(quota),
    "CLAUDE_QUOTA_CIRCUIT_OPEN reason=quota remaining=7260s",
  );
  assertEquals(
    probePassMarker(quota),
    "CLAUDE_QUOTA_PRIORITY_PROBE_PASS reason=quota remaining=7260s",
  );
});

Deno.test("parseJobMarker() reads back what the guard writes", pure, () => {
  assertEquals(
    parseJobMarker(skippedMarker("mail", quota, TS), "mail"),
    { ...skipped, kind: "SKIPPED" },
  );
  assertEquals(
    parseJobMarker(refusedMarker("mail", "quota-during-run", 75, TS), "mail"),
    { ...skipped, kind: "SKIPPED", reason: "quota-during-run", exit: 75 },
  );
  assertEquals(
    parseJobMarker(ranMarker("mail", 143, "killed", TS) + "\r", "mail"),
    { ...ranZero, kind: "RAN", exit: 143, end: "killed" },
  );
  assertEquals(
    parseJobMarker(priorityProbeMarker("mail", quota, TS), "mail"),
    null,
  );
});

Deno.test("parseJobMarker() knows any label, and only that", pure, () => {
  for (
    const label of [
      "a.b",
      "__proto__",
      "a+b(c)",
      "[x]*",
      "job=a",
      "ジョブ",
      "-x",
    ]
  ) {
    assertEquals(labelProblem(label), null);
    const line = ranMarker(label, 0, null, TS);
    assertEquals(parseJobMarker(line, label)?.kind, "RAN", label);
    assertEquals(parseJobMarker(line, label.slice(1)), null);
    assertEquals(parseJobMarker(line, `${label}x`), null);
  }
  assertEquals(parseJobMarker(ranMarker("aXb", 0, null, TS), "a.b"), null);
});

Deno.test("parseJobMarker() takes no quoted marker", pure, () => {
  const line = ranMarker("mail", 0, null, TS);
  for (
    const quoted of [
      ` ${line}`,
      `\t${line}`,
      `> ${line}`,
      `"${line}"`,
      `the log says ${line}`,
      `${line}.`,
      `${line} `,
      line.slice(0, -1),
      line.replace("job=", " job="),
      line.replace("_RAN", "_run"),
      line.replace("exit=0", "went well"),
      `\ufeff${line}`,
    ]
  ) {
    assertEquals(parseJobMarker(quoted, "mail"), null, quoted);
  }
});

Deno.test(
  "latestJobMarker() finds the last one, with or without a last newline",
  pure,
  () => {
    const ran = ranMarker("mail", 0, null, TS);
    const skip = skippedMarker("mail", quota, TS);
    const latest = (text: string): string | undefined =>
      latestJobMarker(text, "mail")?.kind;
    assertEquals(latest(""), undefined);
    assertEquals(latest("\n\n"), undefined);
    assertEquals(latest(ran), "RAN");
    assertEquals(latest(`${skip}\n${ran}`), "RAN");
    assertEquals(latest(`${ran}\n${skip}\n`), "SKIPPED");
    assertEquals(latest(`${ran}\r\n${skip}\r\n\r\n`), "SKIPPED");
    assertEquals(latest(`${skip}\nhello\n\n\nworld`), "SKIPPED");
    assertEquals(latest(`no newline\n${ran}\n`), "RAN");
  },
);

Deno.test(
  "latestJobMarker() passes over markers of others, quoted and cut ones",
  pure,
  () => {
    const skip = skippedMarker("mail", quota, TS);
    const ran = ranMarker("mail", 0, null, TS);
    const text = [
      skip,
      ranMarker("mail.2", 0, null, TS),
      `  ${ran}`,
      `it said: ${ran}`,
      `${ran} indeed`,
      `output without an end${ran}`,
      ran.slice(0, -3),
    ].join("\n");
    assertEquals(latestJobMarker(text, "mail")?.kind, "SKIPPED");
  },
);

Deno.test(
  "latestJobMarker() is quick on a log full of quotations",
  pure,
  () => {
    const line = `  ${ranMarker("mail", 0, null, TS)} CLAUDE_QUOTA_JOB_ `;
    const text = `${ranMarker("mail", 3, null, TS)}\n${
      (line + "\n").repeat(30_000)
    }`;
    const spaced = `CLAUDE_QUOTA_JOB_RAN job=mail${
      " a=b".repeat(50_000)
    } ts=1\n`;
    const found = [text, "x ".repeat(2_000_000), spaced].map((log, i) =>
      quickly(() => latestJobMarker(log, "mail"), `log ${i}`)?.exit
    );
    assertEquals(found, [3, undefined, undefined]);
  },
);

Deno.test(
  "labelProblem() refuses white space and control characters",
  pure,
  () => {
    for (
      const label of [
        "",
        " ",
        "a b",
        "a\tb",
        "a\nb",
        "a\u0000",
        "a\u007f",
        "a\u0085",
        "a\u3000b",
        "a\u2028b",
      ]
    ) {
      assertMatch(labelProblem(label) ?? "", /label/);
    }
  },
);

Deno.test("reasonWord() makes one word", pure, () => {
  assertEquals(reasonWord("repair"), "repair");
  assertEquals(reasonWord("  the\tnew\n\u0007plan "), "the_new_plan");
  assertEquals(reasonWord(" \n"), "manual");
  assertEquals(reasonWord("あ".repeat(99)), "あ".repeat(80));
  const marker = skippedMarker(
    "mail",
    { reason: reasonWord("a b=c ts=1"), remaining: 1 },
    TS,
  );
  assertEquals(parseJobMarker(marker, "mail")?.ts, TS);
});
