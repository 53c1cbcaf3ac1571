import { askForDay } from "./ask_for_day.ts";
import { brokenRuns } from "./broken_run.ts";
import { TAIL_BYTES } from "./child.ts";
import { closeByHand, openByHand } from "./circuit.ts";
import { formatDuration } from "./duration.ts";
import { classify } from "./classify.ts";
import { type Guard, namedHost, say } from "./guard.ts";
import type { GuardCommand } from "./guard_arguments.ts";
import { formatInstant, parseInstant } from "./instant.ts";
import { reasonWord } from "./marker.ts";
import { reasonOf } from "./reason.ts";
import { ENV } from "./settings.ts";
import { readBooks, readCircuit, type State, updateState } from "./state.ts";
import { quoting, statusLines, statusReport } from "./status.ts";
import { unknownWordings } from "./unknown_log.ts";
import { UsageError } from "./usage.ts";

/** What one of the guard's modes was asked. */
export type Mode<M extends GuardCommand["mode"]> = Extract<
  GuardCommand,
  { mode: M }
>;

/** Exit code when the state can be neither read nor written. */
const EXIT_NO_STATE = 1;
/** Exit code when a notice was not delivered. */
const EXIT_NO_NOTICE = 1;

/** The text of `--status`, without its last newline. */
export async function showStatus(
  guard: Guard,
  command: Mode<"status">,
): Promise<string> {
  const { host, policy } = guard;
  const { folder } = guard;
  // Why there is none was said at the start.
  if (folder === null) throw new Error("There is no state to show");
  const circuit = await readCircuit(folder, namedHost(guard));
  const books = await readBooks(folder, namedHost(guard));
  const now = host.now();
  const unknown = unknownWordings(folder);
  const broken = brokenRuns(folder, host);
  if (command.json) {
    const report = statusReport(circuit, books, now, policy);
    const day = await askForDay(guard, ["--json"]);
    const json = {
      ...report,
      unknown_wordings: unknown,
      broken_runs: broken.map(({ job, startedAt, tally }) => ({
        job,
        started_at: startedAt,
        calls: tally.calls.length,
      })),
      day: day === null ? null : JSON.parse(day),
    };
    return JSON.stringify(json, null, 2);
  }
  const { columns, colour } = screenOf(Deno.stdout);
  const day = await askForDay(guard, [
    `--columns=${columns}`,
    ...(colour ? ["--colour"] : []),
  ]);
  const screen = { columns, day: day === null ? null : day.split("\n") };
  return [
    ...statusLines(circuit, books, now, policy, host.timeZone(), screen),
    ...broken.map(({ job, startedAt }) =>
      `Broken off: ${job}, started ${
        formatInstant(startedAt, now, host.timeZone())
      }; its guard was killed`
    ),
    ...unknownLines(folder, unknown, columns, host.env("HOME")),
  ].join("\n");
}

/** What is no terminal gets the width of an old one. */
function screenOf(
  stdout: typeof Deno.stdout,
): { columns: number; colour: boolean } {
  return stdout.isTerminal()
    ? { columns: Deno.consoleSize().columns, colour: !Deno.noColor }
    : { columns: 80, colour: false };
}

function unknownLines(
  folder: string,
  unknown: readonly string[],
  columns: number,
  home: string | undefined,
): string[] {
  const newest = unknown.at(-1);
  if (newest === undefined) return [];
  const place = home !== undefined && folder.startsWith(`${home}/`)
    ? `~${folder.slice(home.length)}`
    : folder;
  const words = `Refusals in no known wording: ${unknown.length}, the newest`;
  return [
    quoting(words, " ", newest, columns),
    `  see ${place}/unknown.log; if one is a limit, report it`,
  ];
}

/** Opens the circuit by hand; the exit code. */
export async function openCircuit(
  guard: Guard,
  command: Mode<"open">,
): Promise<number> {
  const { host, policy } = guard;
  const now = host.now();
  const zone = host.timeZone();
  const until = command.until === null
    ? now + policy.cooldown
    : parseInstant(command.until, now, zone);
  if (until === null) {
    throw new UsageError(
      `--until takes an instant such as +5m, 17:30 or 2026-12-01T08:00, not "${command.until}"`,
    );
  }
  if (until <= now) {
    throw new UsageError(`--until ${command.until} has passed already`);
  }
  const given = command.reason ?? "manual";
  const reason = reasonWord(given);
  return await change(guard, ({ circuit }) => {
    const opened = openByHand(circuit, until, reason, now);
    // A limit that lasts longer keeps its own.
    const note = opened.reason === reason && reason !== given
      ? " (one word, for the markers)"
      : "";
    const end = formatInstant(opened.open_until, now, zone);
    const left = formatDuration(opened.open_until - now);
    return {
      circuit: opened,
      words: `open until ${end} (${left}), reason ${opened.reason}${note}`,
    };
  });
}

/** Closes the circuit by hand; the exit code. */
export async function closeCircuit(guard: Guard): Promise<number> {
  return await change(guard, ({ circuit }) => ({
    circuit: closeByHand(circuit, guard.host.now()),
    words: "closed",
  }));
}

/** Sends a notice of the user's or the catch-up's; the exit code. */
export async function notify(guard: Guard, text: string): Promise<number> {
  const { notifier, sendNotice } = await import("./notice.ts");
  const command = notifier(guard.host, guard.folder);
  if (command === null) {
    throw new UsageError(
      `set ${ENV.notify} to a command that gets the text as its last argument`,
    );
  }
  const problem = await sendNotice(command, text, undefined, "inherit");
  if (problem !== null) say(guard, problem);
  return problem === null ? 0 : EXIT_NO_NOTICE;
}

async function change(
  guard: Guard,
  by: (state: State) => { circuit: State["circuit"]; words: string },
): Promise<number> {
  const { folder } = guard;
  // Why there is none was said at the start.
  if (folder === null) return EXIT_NO_STATE;
  const changed = await updateState(folder, namedHost(guard), (state) => {
    const { circuit, words } = by(state);
    return { circuit, result: words };
  });
  say(
    guard,
    changed.done
      ? `the circuit is ${changed.result}`
      : `the circuit stays as it is: ${changed.why}`,
  );
  return changed.done ? 0 : EXIT_NO_STATE;
}

/** The JSON of `--classify`: how a call that printed this ended. */
export function classifyText(
  guard: Guard,
  command: Mode<"classify">,
  text: Uint8Array,
): string {
  const { host } = guard;
  const zone = command.zone ?? host.timeZone();
  try {
    Temporal.Now.zonedDateTimeISO(zone);
  } catch {
    throw new UsageError(
      `--tz takes the name of a time zone such as Asia/Tokyo, not "${zone}"`,
    );
  }
  const at = command.at === null
    ? host.now()
    : parseInstant(command.at, host.now(), zone);
  if (at === null) {
    throw new UsageError(
      `--at takes an instant such as 1796056215 or 2026-12-01T08:00, not "${command.at}"`,
    );
  }
  const { ending, scope, window, reset_at, evidence } = classify({
    stdout: text.subarray(-TAIL_BYTES),
    stderr: new Uint8Array(),
    exit: command.exit ?? 0,
    startedAt: at,
    timeZone: zone,
  });
  return JSON.stringify({ ending, scope, window, reset_at, evidence });
}

/**
 * What `--classify` is to judge: a file, or standard input.
 *
 * @throws {UsageError} If the file cannot be read.
 */
export async function classifyInput(
  command: Mode<"classify">,
): Promise<Uint8Array> {
  if (command.file === null) {
    return new Uint8Array(
      await new Response(Deno.stdin.readable).arrayBuffer(),
    );
  }
  try {
    return Deno.readFileSync(command.file);
  } catch (error) {
    throw new UsageError(`cannot read "${command.file}": ${reasonOf(error)}`);
  }
}
