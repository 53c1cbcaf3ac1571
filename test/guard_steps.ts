/** Steps that the tests of the guard as a process have in common. */
import { join } from "@std/path/join";
import { latestJobMarker } from "../lib/marker.ts";
import { executable, isThere, textOf } from "./files.ts";
import {
  type Finished,
  type Home,
  runGuard,
  type RunOptions,
} from "./harness.ts";

/** The time of the real clock, epoch seconds. */
export function now(): number {
  return Date.now() / 1000;
}

/** Runs a shell line as the job `label`. */
export function runJob(
  home: Home,
  label: string,
  line: string,
  options: RunOptions & { flags?: string[] } = {},
): Promise<Finished> {
  const flags = options.flags ?? [];
  const job = ["--job", label, ...flags, "--", "/bin/sh", "-c", line];
  return runGuard(home, job, options);
}

/** Writes a file of the state folder. */
export function writeState(home: Home, name: string, content: unknown): void {
  Deno.mkdirSync(home.state, { recursive: true, mode: 0o700 });
  const text = typeof content === "string" ? content : JSON.stringify(content);
  Deno.writeTextFileSync(join(home.state, name), text, { mode: 0o600 });
}

/** A circuit that a limit opened ten minutes ago, for two more hours. */
export function openCircuit(
  home: Home,
  fields: Record<string, unknown> = {},
): void {
  writeState(home, "state.json", {
    open_until: Math.floor(now()) + 7200,
    opened_at: now() - 600,
    reason: "quota",
    ...fields,
  });
}

/** `state.json` as it stands. */
export function circuit(home: Home): Record<string, unknown> {
  return JSON.parse(textOf(join(home.state, "state.json")) || "{}");
}

/** `jobs.json` as it stands. */
export function books(home: Home): {
  jobs?: Record<string, Record<string, unknown>>;
  last_ok?: number;
} {
  return JSON.parse(textOf(join(home.state, "jobs.json")) || "{}");
}

/** The outcome of a job in the books, in short. */
export function outcome(home: Home, label: string): unknown[] {
  const job = books(home).jobs?.[label];
  return job === undefined
    ? []
    : [job.outcome, job.exit, job.reason, job.ending, job.calls];
}

/** Is the circuit open by its file? */
export function isOpen(home: Home): boolean {
  return Number(circuit(home).open_until ?? 0) > now();
}

/** The guard's markers, with `T` and `N` for times and lengths of time. */
export function markers(text: string): string[] {
  return text.split("\n").filter((line) => line.startsWith("CLAUDE_QUOTA_"))
    .map((line) =>
      line.replace(/ts=\d{10}$/, "ts=T").replace(/=\d+s\b/, "=Ns")
    );
}

/** Kind and reason of the newest marker, as the catch-up reads it. */
export function newest(text: string, label: string): string | undefined {
  const marker = latestJobMarker(text, label);
  return marker === null
    ? undefined
    : marker.reason === null
    ? marker.kind
    : `${marker.kind} ${marker.reason}`;
}

/**
 * For tests of a machine without claude: not where the guard, which looks there
 * last, would find one that is installed for all users, and ask it.
 */
export const withoutClaude: { ignore: boolean } = {
  ignore: ["/opt/homebrew/bin", "/usr/local/bin", "/usr/bin", "/bin"]
    .some((folder) => isThere(join(folder, "claude"))),
};
if (withoutClaude.ignore) {
  console.error(
    "A CLAUDE IS INSTALLED: what is said without one is not tested",
  );
}

/** A claude of its own, in a folder of its own; returns the folder. */
export function ownClaude(home: Home, name: string, text: string): string {
  const folder = join(home.path, name);
  Deno.mkdirSync(folder, { recursive: true });
  executable(join(folder, "claude"), text);
  return folder;
}
