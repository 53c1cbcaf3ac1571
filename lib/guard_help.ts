/** The text of `quota_guard --help`. */
export const GUARD_HELP =
  `quota_guard: one usage limit stops all unattended claude jobs until its reset.

  quota_guard --job LABEL [flags] -- COMMAND [ARG...]
      run a job, or skip it while the circuit is open
    --priority     may send one real request every 30 minutes while the circuit is open
    --expires D    not caught up later than D (2h, 1d) after a skip; 0: never
    --once         has effects before its first call: never owed once started
    --resumable    owed as well if the limit came after an answer
    --timeout D    SIGTERM after D, SIGKILL 30 s later
    --skip-exit N  exit code of a skip (0)
    --attempts N --progress GLOB   try N times, while more files match GLOB

  quota_guard --batch LIST --into DIR [flags] -- COMMAND [ARG...]
      do an item a line of LIST, each committed once; see --batch --help
  quota_guard --status [--json]          circuit, next probe, newest outcomes
  quota_guard --open [--until TIME] [--reason R]   hold the circuit open by hand
      TIME is +5m, 17:30 or 2026-12-01T08:00 (6 hours from now)
  quota_guard --close                    close it by hand
  quota_guard --notify TEXT              try the command in the file notify of the state
                                         folder, or in $CLAUDE_QUOTA_NOTIFY
  quota_guard --classify [--exit N] [--at TIME] [--tz ZONE] [FILE]
      how a call that printed this (standard input without FILE) ended, as JSON
  quota_guard --claude -- ARG...   and any other ARG...   to the real claude
  quota_guard --version                  the version

Inside a job, claude on PATH, $CLAUDE and $CLAUDE_BIN go through the guard; under
a login shell write "$CLAUDE" -p. Exit codes: the command's own; 128+n for a signal;
75 call refused, batch met the limit; 1 batch: an item failed; 126/127 not started;
2 usage. State: $CLAUDE_QUOTA_DIR, else ~/.local/state/claude-quota.`;

/** The text of `quota_guard --batch --help`. */
export const BATCH_HELP =
  `quota_guard --batch: an item a line of LIST, each in a process of its own

  quota_guard --batch LIST --into DIR [flags] -- COMMAND [ARG...]
  quota_guard --batch LIST --into DIR [--name PATTERN] [--ends-with TEXT] --verify
      run nothing: compare every item with its marker and its file

  --name PATTERN    name of an item's file ({}.out)
  --stdout          what the command prints is the part
  --ends-with TEXT  what a whole file ends with
  --workers K       so many items at a time (1)
  --attempts N      how often an item that crashes is tried (2)
  --stall K         so many items in a row that fail end the batch (2)
  --max-items K     so many commits end the batch

LIST is a file, or - for standard input. The command finds the item as {} in its
arguments and in $QUOTA_ITEM, and writes $QUOTA_PART. What is whole is committed to
DIR with a marker in DIR/done, and not done again. Exit codes: 0 all done, 75 limit,
1 an item failed, 2 usage.`;
