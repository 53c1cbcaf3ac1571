/** The text of `quota_guard --help`. */
export const GUARD_HELP =
  `quota_guard: one usage limit stops all unattended claude jobs until its reset.

  quota_guard --job LABEL [--priority] [--expires D] [--once | --resumable]
              [--timeout D] [--skip-exit N] -- COMMAND [ARG...]
      run a job, or skip it while the circuit is open
  quota_guard --status [--json]              circuit, next probe, newest outcomes
  quota_guard --open [--until TIME] [--reason R]      hold the circuit open by hand
  quota_guard --close                        close it by hand
  quota_guard --classify [--exit N] [--at TIME] [--tz ZONE] [FILE]
      how a call that printed this (standard input without FILE) ended, as JSON
  quota_guard --claude -- ARG...   and any other ARG...      to the real claude

  --priority     may send one real request every 30 minutes while the circuit is open
  --expires D    not caught up later than D (2h, 1d) after a skip; 0: never
  --once         has effects before its first call: never owed once started
  --resumable    owed as well if the limit came after an answer
  --timeout D    SIGTERM after D, SIGKILL 30 s later
  --skip-exit N  exit code of a skip (0)
  --until TIME   +5m, 17:30, 2026-12-01T08:00 (6 hours from now)

Inside a job, claude on PATH, $CLAUDE and $CLAUDE_BIN go through the guard; under
a login shell write "$CLAUDE" -p. Exit codes: the command's own; 128+n for a signal;
75 call refused; 126/127 not started; 2 usage. State: $CLAUDE_QUOTA_DIR, else
~/.local/state/claude-quota.`;
