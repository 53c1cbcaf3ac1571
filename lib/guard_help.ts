/** The text of `quota_guard --help`. */
export const GUARD_HELP =
  `quota_guard: one usage limit stops all unattended claude jobs until its reset.

  quota_guard --job LABEL [--priority] [--expires D] [--once | --resumable]
              [--timeout D] [--skip-exit N] [--attempts N --progress GLOB]
              -- COMMAND [ARG...]
      run a job, or skip it while the circuit is open
  quota_guard --batch LIST --into DIR [--name PATTERN] [--stdout] [--workers K]
              [--attempts N] [--stall K] [--max-items K] [--ends-with TEXT]
              -- COMMAND [ARG...]
      an item a line of LIST, each in a process of its own, which writes $QUOTA_PART;
      what is whole is committed to DIR with a marker in DIR/done, and not done again
  quota_guard --batch LIST --into DIR [--ends-with TEXT] --verify
      compare every item with its marker and its file
  quota_guard --status [--json]              circuit, next probe, newest outcomes
  quota_guard --open [--until TIME] [--reason R]      hold the circuit open by hand
  quota_guard --close                        close it by hand
  quota_guard --notify TEXT                  try $CLAUDE_QUOTA_NOTIFY
  quota_guard --classify [--exit N] [--at TIME] [--tz ZONE] [FILE]
      how a call that printed this (standard input without FILE) ended, as JSON
  quota_guard --claude -- ARG...   and any other ARG...      to the real claude

  --priority     may send one real request every 30 minutes while the circuit is open
  --expires D    not caught up later than D (2h, 1d) after a skip; 0: never
  --once         has effects before its first call: never owed once started
  --resumable    owed as well if the limit came after an answer
  --timeout D    SIGTERM after D, SIGKILL 30 s later
  --skip-exit N  exit code of a skip (0)
  --attempts N   try N times, while --progress (may be repeated) counts more files;
                 of a batch: how often an item that crashes is tried (2)
  --name         name of an item's file ({}.out); {} in the arguments is the item
  --stdout       what the command prints is the part
  --workers K    so many items at a time (1)
  --stall K      so many items in a row that fail end the batch (2)
  --max-items K  so many commits end the batch
  --ends-with    what a whole file ends with
  --until TIME   +5m, 17:30, 2026-12-01T08:00 (6 hours from now)

Inside a job, claude on PATH, $CLAUDE and $CLAUDE_BIN go through the guard; under
a login shell write "$CLAUDE" -p. Exit codes: the command's own; 128+n for a signal;
75 call refused, batch met the limit; 1 batch: an item failed; 126/127 not started;
2 usage. State: $CLAUDE_QUOTA_DIR, else
~/.local/state/claude-quota.`;
