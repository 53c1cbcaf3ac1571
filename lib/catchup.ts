import type { Candidate, Finding } from "./candidate.ts";
import { check, type Checked, judgeAll } from "./catchup_look.ts";
import {
  type AgentVerdict,
  type CatchupOptions,
  type CatchupWorld,
  EXIT,
  type RoundResult,
} from "./catchup_world.ts";
import { readLaunchAgents } from "./launch_agent.ts";
import { disabledLabels } from "./launchctl.ts";
import { Round } from "./round.ts";
import { updateState } from "./state.ts";

/**
 * One round: finds the jobs that were skipped and could have run, makes sure
 * that the allowance is back, and starts them one after another. With nothing
 * to do it spends nothing.
 */
export async function run(
  world: CatchupWorld,
  options: CatchupOptions,
): Promise<RoundResult> {
  const files = await readLaunchAgents(world.agentsFolder);
  const { findings, look } = await judgeAll(world, options, files);
  const candidates = inOrder(findings.flatMap((f) => f.candidate ?? []));
  const disabled = candidates.length > 0 && world.launchctl !== null
    ? await disabledLabels(world.launchctl)
    : null;
  const checked: Checked[] = [];
  for (const candidate of candidates) {
    const books = look.books(candidate.folder);
    checked.push(await check(world, candidate, books, disabled));
  }
  dropTwins(checked);
  const result: RoundResult = {
    candidates: candidates.map((candidate) => candidate.agent.label),
    kicked: 0,
    failed: 0,
    agents: findings.map((finding) => verdictOn(finding, checked)),
    exit: EXIT.done,
    findings,
  };
  if (options.dryRun) return result;
  const ready = checked.filter((one) => one.whyNot === null);
  for (const folder of new Set(ready.map((one) => one.candidate.folder))) {
    const owed = ready.filter((one) => one.candidate.folder === folder);
    const round = new Round(world, options, folder, disabled, result);
    if (!await round.work(owed.map((one) => one.candidate))) break;
  }
  await beat(world);
  return result;
}

/** Priority jobs first, then the oldest skip. */
function inOrder(candidates: readonly Candidate[]): Candidate[] {
  return [...candidates].sort((a, b) =>
    Number(b.options.priority) - Number(a.options.priority) ||
    a.skip.ts - b.skip.ts
  );
}

/** Two plists whose jobs share a marker label share their skip: one kick makes up both. */
function dropTwins(checked: Checked[]): void {
  const seen = new Map<string, string>();
  for (const one of checked) {
    if (one.whyNot !== null) continue;
    const key = JSON.stringify([
      one.candidate.folder,
      one.candidate.options.label,
    ]);
    const twin = seen.get(key);
    if (twin === undefined) seen.set(key, one.candidate.agent.label);
    else one.whyNot = `shares the job label of ${twin}, which is kicked`;
  }
}

function verdictOn(
  finding: Finding,
  checked: readonly Checked[],
): AgentVerdict {
  const one = checked.find((c) => c.candidate === finding.candidate);
  return {
    label: finding.label,
    path: finding.path,
    candidate: one !== undefined,
    kickable: one !== undefined && one.whyNot === null,
    why: one?.whyNot ? `${finding.why}; ${one.whyNot}` : finding.why,
  };
}

/** Leaves the time of this look on the books. */
async function beat(world: CatchupWorld): Promise<void> {
  await updateState(world.folder, world.host, ({ books }) => ({
    books: {
      ...books,
      heartbeats: new Map(books.heartbeats).set(
        "catchup",
        Math.floor(world.host.now()),
      ),
    },
    result: null,
  }), 1);
}
