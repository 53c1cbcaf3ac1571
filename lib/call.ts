// What an argument list means to the real claude.

/** First words that make claude do something else than answer (2.1.332 `claude --help`, and older ones). */
const SUBCOMMANDS = new Set(
  ("agents attach auth auto-mode config doctor gateway import install kill logs " +
    "mcp migrate-installer plugin plugins purge remote-control respawn rm " +
    "setup-token stop ultrareview update upgrade").split(" "),
);

/** Options whose next word is their value and no prompt or subcommand. */
const VALUE_OPTIONS = new Set(
  ("--add-dir --agent --agents --allowedTools --allowed-tools " +
    "--append-system-prompt --append-system-prompt-file --betas --debug-file " +
    "--disallowedTools --disallowed-tools --effort --fallback-model " +
    "--input-format --json-schema --max-budget-usd --max-turns --mcp-config " +
    "--model --name -n --output-format --permission-mode " +
    "--permission-prompt-tool --plugin-dir --plugin-url --session-id " +
    "--setting-sources --settings --system-prompt --system-prompt-file --tools")
    .split(" "),
);

/** The other long options of 2.1.332. */
const OTHER_OPTIONS =
  "--all --allow-dangerously-skip-permissions --autocompact --ax-screen-reader " +
  "--background --bare --bg --brief --chrome --cloud --continue " +
  "--dangerously-skip-permissions --debug --desktop --disable-slash-commands " +
  "--environment --exclude-dynamic-system-prompt-sections --file --fork-session " +
  "--forward-subagent-text --from-pr --help --ide --include-hook-events " +
  "--include-partial-messages --no-chrome --no-session-persistence " +
  "--permission-prompts --print --prompt-suggestions --remote-control " +
  "--remote-control-session-name-prefix --replay-user-messages --restricted " +
  "--resume --safe-mode --strict-mcp-config --system-prompt-snapshot --teleport " +
  "--tmux --verbose --version --worktree";

/** Is this one of the real claude's long options? */
export function isClaudeFlag(flag: string): boolean {
  return VALUE_OPTIONS.has(flag) || OTHER_OPTIONS.split(" ").includes(flag);
}

const NO_ANSWER = new Set(["--version", "-v", "--help", "-h"]);

/**
 * Is this a run in which claude answers and exits? `-p`, `--print` or a cluster
 * with p say so; and where stdout is no terminal claude does it anyway, unless
 * its first word is a subcommand.
 */
export function isCall(
  args: readonly string[],
  stdoutIsTerminal: boolean,
): boolean {
  const end = args.indexOf("--");
  const own = end < 0 ? args : args.slice(0, end);
  if (own.some((arg) => NO_ANSWER.has(arg))) return false;
  if (
    own.some((arg) => arg === "--print" || /^-[a-zA-Z]*p[a-zA-Z]*$/.test(arg))
  ) {
    return true;
  }
  if (stdoutIsTerminal) return false;
  const word = own.find((arg, i) =>
    !arg.startsWith("-") && !VALUE_OPTIONS.has(own[i - 1] ?? "")
  );
  return word === undefined || !SUBCOMMANDS.has(word);
}

/** The call's `--model`, `default` without one. */
export function modelOf(args: readonly string[]): string {
  for (const [i, arg] of args.entries()) {
    if (arg === "--") break;
    if (arg === "--model") return args[i + 1] ?? "default";
    if (arg.startsWith("--model=")) return arg.slice("--model=".length);
  }
  return "default";
}
