/** The text of `quota_catchup --help`. */
export const CATCHUP_HELP =
  `quota_catchup: re-runs, one at a time, the jobs that a usage limit has skipped today.

  quota_catchup [--dry-run] [--all] [--json] [--agents DIR] [--window H]
                [--timeout D] [--grace D] [--no-probe]

  --dry-run     show what is owed and why; spend nothing, start nothing
  --all         show every LaunchAgent, with the reason why it is not owed
  --json        the same as JSON
  --agents DIR  folder of the LaunchAgents (~/Library/LaunchAgents)
  --window H    a skip counts for H hours (default: today, local time)
  --timeout D   a job that runs longer is stopped (45m)
  --grace D     between SIGTERM and SIGKILL (30s)
  --no-probe    start without asking claude first whether it answers
  --version     the version

  Setting up, each with a --help of its own: --wrap and --unwrap put the guard in
  front of jobs, --install and --uninstall do it for the catch-up itself, --doctor
  looks whether all is well, --explain LABEL says why a job is or is not owed, --day
  shows the day of each job.

A job is owed if it is started through quota_guard, its newest marker is a skip of
today, and a slot of its StartCalendarInterval has passed today. With nothing owed
nothing is spent. Exit codes: 0 done or nothing to do, 1 a job failed or could not
be stopped, or no answer to the probe, 75 the circuit is open and something is owed,
2 usage.`;
