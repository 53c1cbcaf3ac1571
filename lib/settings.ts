import {
  DEFAULT_COOLDOWN,
  DEFAULT_PROBE_INTERVAL,
  type Policy,
} from "./circuit.ts";

/** Names of the environment variables that the guard and its children share. */
export const ENV = {
  folder: "CLAUDE_QUOTA_DIR",
  cooldown: "CLAUDE_QUOTA_COOLDOWN",
  probeInterval: "CLAUDE_QUOTA_PRIORITY_PROBE_INTERVAL",
  probe: "CLAUDE_QUOTA_PRIORITY_PROBE",
  job: "CLAUDE_QUOTA_JOB",
  run: "CLAUDE_QUOTA_RUN",
  depth: "CLAUDE_QUOTA_DEPTH",
  realClaude: "CLAUDE_REAL_BIN",
  path: "CLAUDE_QUOTA_PATH",
  keepWatchdog: "CLAUDE_QUOTA_KEEP_WATCHDOG",
  watchdog: "CLAUDE_CODE_RETRY_WATCHDOG",
  automation: "CLAUDE_AUTOMATION_GUARD",
  notify: "CLAUDE_QUOTA_NOTIFY",
} as const;

/** Reads an environment variable; an empty one counts as absent. */
export type Env = (name: string) => string | undefined;

function seconds(env: Env, name: string, fallback: number): number {
  const text = env(name)?.trim();
  const value = text === undefined || text === "" ? NaN : Number(text);
  return Number.isFinite(value) ? value : fallback;
}

/** The two lengths of time from the environment; what is no number counts as not set. */
export function policyFrom(env: Env): Policy {
  const cooldown = seconds(env, ENV.cooldown, DEFAULT_COOLDOWN);
  return {
    probeInterval: seconds(env, ENV.probeInterval, DEFAULT_PROBE_INTERVAL),
    cooldown: cooldown > 0 ? cooldown : DEFAULT_COOLDOWN,
  };
}
