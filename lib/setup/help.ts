import type { SetupMode } from "./setup_mode.ts";

/** The texts of `--help` with a mode of setting up; each fits a screen. */
export const SETUP_HELP: Readonly<Record<SetupMode, string>> = {
  wrap: `quota_catchup --wrap LABEL|FILE... : put the guard in front of jobs

  quota_catchup --wrap LABEL|FILE... [--priority] [--expires D]
                [--once | --resumable] [--dry-run] [--reload [--now]]
  quota_catchup --wrap --all [...]      ask about each calendar job that calls claude

  --priority   may send one real request every 30 minutes while the circuit is open
  --expires D  not caught up later than D (2h, 1d) after a skip; 0: never
  --once       has effects before its first call: never owed once started
  --resumable  owed as well if the limit came after an answer
  --dry-run    show the difference, write nothing
  --reload     load it anew in launchd, unless it runs just now
  --now        with --reload: also what launchd starts at once (RunAtLoad)
  --agents DIR folder of the LaunchAgents (~/Library/LaunchAgents)

Only ProgramArguments (and Program) change; comments, order, indentation and encoding
stay. The file as it was lies in backup/ of the state folder. Wrapping again changes
nothing, unless flags are given or the interpreter or the guard has moved.
Exit codes: 0 done, 1 something was refused, 2 usage.`,
  unwrap: `quota_catchup --unwrap LABEL|FILE... : take the guard out again

  quota_catchup --unwrap LABEL|FILE... [--dry-run] [--reload [--now]]
  quota_catchup --unwrap --all [...]    all jobs that are behind the guard

  --dry-run    show the difference, write nothing
  --reload     load it anew in launchd, unless it runs just now
  --now        with --reload: also what launchd starts at once (RunAtLoad)
  --agents DIR folder of the LaunchAgents (~/Library/LaunchAgents)

A file that was not edited since it was wrapped becomes byte for byte what it was; in
one that was, the guard alone is taken out. Exit codes: 0 done, 1 refused, 2 usage.`,
  install: `quota_catchup --install : let launchd start the catch-up

  quota_catchup --install [--interval D] [--dry-run] [--agents DIR]

  --interval D between two rounds (30m)
  --dry-run    show the property list, write nothing

Writes local.claude-quota.catchup.plist, loads it and sees that launchd has it. What a
round does is in ~/Library/Logs/claude-quota-catchup.log. Again: takes over new paths,
a new interval, and the state folders of jobs wrapped since.
Exit codes: 0 done, 1 not done, 2 usage.`,
  uninstall: `quota_catchup --uninstall : take the catch-up out of launchd

  quota_catchup --uninstall [--agents DIR]

Removes its LaunchAgent. Jobs stay behind the guard (--unwrap --all), the state stays
in its folder. Exit codes: 0 done, 1 not done, 2 usage.`,
  doctor: `quota_catchup --doctor : is everything set up as it should be?

  quota_catchup --doctor [--json] [--agents DIR]

Checks claude, the interpreter, each plist behind the guard, its log, what launchd has
loaded, the state folder, the catch-up, and says a remedy for what is wrong. Changes
nothing. Without launchctl the plists alone are checked.
Exit codes: 0 nothing wrong, 1 something is, 2 usage.`,
  explain: `quota_catchup --explain LABEL : why a job is, or is not, caught up

  quota_catchup --explain LABEL [--window H] [--agents DIR]

  --window H   a skip counts for H hours (default: today, local time)

Shows the facts in their order: plist, schedule, guard, state, logs, newest outcome,
slot, launchd, kicks, circuit, and what the next round would do. Starts and spends
nothing.
Exit codes: 0 shown, 1 no such job, 2 usage.`,
  day: `quota_catchup --day : the day of each job, hour by hour

  quota_catchup --day [--json] [--columns N] [--colour] [--agents DIR]

  --columns N  width of the lines (80)
  --colour     with colours

The part of quota_guard --status that reads plists and logs. Changes nothing.`,
};
