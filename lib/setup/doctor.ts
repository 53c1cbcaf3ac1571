import { type AgentFile, isCatchup, isGuarded } from "../launch_agent.ts";
import type { CommandOf } from "./arguments.ts";
import { callsClaude } from "./claude_jobs.ts";
import { checkJob } from "./doctor_job.ts";
import { checkLoaded } from "./doctor_launchd.ts";
import { checkCatchup, checkClaude, checkFolders } from "./doctor_state.ts";
import { agentFiles } from "./find_agents.ts";
import { type Finding, findingLines, note, ok, wrong } from "./finding.ts";
import { type Guarded, guardedJobs } from "./guarded.ts";
import { typed } from "./guard_path.ts";
import { type Dictionary, parseDictionary } from "./plist_file.ts";
import { SETUP_EXIT, type SetupWorld } from "./setup_world.ts";
import { booksOf } from "./state_look.ts";

/** Checks everything that is set up, with a remedy for each trouble; the exit code. */
export async function doctor(
  world: SetupWorld,
  command: CommandOf<"doctor">,
): Promise<number> {
  const files = await agentFiles(world);
  const jobs = guardedJobs(world, files);
  const agents = files.flatMap((file) => "agent" in file ? [file.agent] : []);
  const findings: Finding[] = [ok("deno", Deno.version.deno)];
  for (const job of jobs) {
    const books = await booksOf(world, job.folder);
    const entry = books.jobs.get(job.options.label);
    findings.push(...checkJob(world, job, dictionaryOf(job.agent.path), entry));
  }
  findings.push(
    ...checkUnreadable(files),
    ...checkTwins(jobs),
    ...checkUnguarded(world, files),
    ...checkClaude(world, jobs),
    ...await checkFolders(world, jobs, agents),
    ...await checkCatchup(world, files),
    ...await checkLoaded(
      world,
      agents.filter((agent) => isGuarded(agent) || isCatchup(agent)),
    ),
  );
  const troubles = findings.filter(({ level }) => level === "wrong").length;
  const notes = findings.filter(({ level }) => level === "note").length;
  world.tell(
    command.json ? JSON.stringify({ wrong: troubles, findings }, null, 2) : [
      ...findingLines(findings, world.colour),
      `${jobs.length} jobs behind the guard; ${
        troubles === 0 ? "nothing" : troubles
      } wrong, ${notes} to know`,
    ].join("\n"),
  );
  return troubles > 0 ? SETUP_EXIT.wrong : SETUP_EXIT.done;
}

/** For the keys that only this looks at; empty if the library refuses the file. */
function dictionaryOf(path: string): Dictionary {
  try {
    return parseDictionary(Deno.readFileSync(path));
  } catch {
    return {};
  }
}

/** Files that launchd may not read either. */
function checkUnreadable(files: readonly AgentFile[]): Finding[] {
  return files.flatMap((file) =>
    "agent" in file ? [] : [
      note(
        file.path,
        `cannot be read: ${file.error}`,
        `plutil -lint '${file.path}'`,
      ),
    ]
  );
}

/** One label, one job: markers and books go by it. */
function checkTwins(jobs: readonly Guarded[]): Finding[] {
  const byLabel = new Map<string, Guarded[]>();
  for (const job of jobs) {
    const key = `${job.folder}\n${job.options.label}`;
    byLabel.set(key, [...byLabel.get(key) ?? [], job]);
  }
  return [...byLabel.values()].filter((twins) => twins.length > 1).map(
    (twins) =>
      wrong(
        twins.map(({ agent }) => agent.label).join(", "),
        `they share the job label ${
          twins[0]?.options.label
        }: what becomes of one is taken for the others`,
        "give each its own --job",
      ),
  );
}

/** Calendar jobs that the guard does not know of. */
function checkUnguarded(
  world: SetupWorld,
  files: readonly AgentFile[],
): Finding[] {
  const labels = files.flatMap((file) =>
    "agent" in file && !isGuarded(file.agent) && !isCatchup(file.agent) &&
      file.agent.calendar !== undefined &&
      callsClaude(file.agent, world.host.env("HOME"))
      ? [file.agent.label]
      : []
  );
  return labels.length === 0 ? [] : [
    note(
      "claude",
      `called without the guard by ${labels.join(", ")}`,
      `${typed(world, "quota_catchup")} --wrap ${labels.join(" ")}`,
    ),
  ];
}
