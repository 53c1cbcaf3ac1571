import stringWidth from "string-width";
import { describeSchedule } from "./calendar.ts";
import type { Finding } from "./candidate.ts";
import { printable } from "./terminal.ts";
import type { AgentVerdict, RoundResult } from "./catchup_world.ts";

const HEADINGS = ["JOB", "SCHEDULE", "VERDICT", "WHY"];

/** How the table looks. */
export interface TableOptions {
  /** Every plist, not only what is owed. */
  all: boolean;
  /** With colours, for a terminal. */
  colour: boolean;
}

/** A round's verdicts as lines: what is owed first. */
export function verdictTable(
  result: Pick<RoundResult, "candidates" | "agents" | "findings">,
  options: TableOptions,
): string[] {
  const { candidates, agents, findings } = result;
  const rows = agents.map((agent, i) => ({ agent, finding: findings[i] }))
    .sort((a, b) =>
      rank(a.agent) - rank(b.agent) ||
      candidates.indexOf(a.agent.label) - candidates.indexOf(b.agent.label)
    );
  const shown = options.all ? rows : rows.filter((row) => row.agent.candidate);
  const owed = agents.filter((agent) => agent.kickable).length;
  const hidden = rows.length - shown.length;
  const summary = `${owed} owed and ready, ${
    agents.filter((agent) => agent.candidate).length - owed
  } owed and waiting, ${agents.length} LaunchAgent${
    agents.length === 1 ? "" : "s"
  } in all${hidden > 0 ? " (--all shows them)" : ""}`;
  if (shown.length === 0) return [summary];
  const cells = shown.map(({ agent, finding }) =>
    [
      agent.label,
      schedule(finding),
      verdict(agent),
      agent.why,
    ].map(printable)
  );
  return [
    ...aligned([HEADINGS, ...cells]).map((line, i) =>
      options.colour ? coloured(line, shown[i - 1]?.agent) : line
    ),
    summary,
  ];
}

function rank(agent: AgentVerdict): number {
  return agent.kickable ? 0 : agent.candidate ? 1 : 2;
}

function verdict(agent: AgentVerdict): string {
  return agent.kickable ? "kick" : agent.candidate ? "wait" : "-";
}

function schedule(finding: Finding | undefined): string {
  const agent = finding?.agent;
  return agent ? describeSchedule(agent) : "?";
}

/** Columns by the width that a terminal gives each character. */
function aligned(rows: readonly string[][]): string[] {
  const widths = HEADINGS.map((_, column) =>
    Math.max(...rows.map((row) => stringWidth(row[column] ?? "")))
  );
  return rows.map((row) =>
    row.map((cell, column) =>
      cell + " ".repeat((widths[column] ?? 0) - stringWidth(cell))
    ).join("  ").trimEnd()
  );
}

function coloured(line: string, agent: AgentVerdict | undefined): string {
  if (agent === undefined) return `\x1b[1m${line}\x1b[0m`;
  if (agent.kickable) return `\x1b[32m${line}\x1b[0m`;
  return agent.candidate ? `\x1b[33m${line}\x1b[0m` : `\x1b[2m${line}\x1b[0m`;
}
