/**
 * A job that the stand-in for launchd keeps: its files, and the process that
 * starts it, waits for it and writes down how it ended.
 */
import type { PlistDict, PlistValue } from "../plist_xml.ts";

/** What is kept of a job, in `service.json` of its folder. */
export interface Service {
  label: string;
  /** The property list it was loaded from, and what that held then. */
  path: string;
  plist: PlistDict;
  /** Starts since it was loaded. */
  runs: number;
  /** While the process lives. */
  pid?: number;
  /** How the newest finished run ended; absent before that. */
  last?: { exit: number } | { signal: number };
}

/** The folder of all jobs, one folder a label. */
export const folder = Deno.env.get("LAUNCHD_STAND_IN") ?? "";

/** The service of a loaded label. */
export function readService(label: string): Service | null {
  try {
    return JSON.parse(
      Deno.readTextFileSync(`${folder}/${label}/service.json`),
    ) as Service;
  } catch {
    return null;
  }
}

/** Replaces what is kept; a job that was unloaded meanwhile stays unloaded. */
export function writeService(service: Service): void {
  const path = `${folder}/${service.label}/service.json`;
  try {
    Deno.writeTextFileSync(`${path}.${Deno.pid}`, JSON.stringify(service));
    Deno.renameSync(`${path}.${Deno.pid}`, path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** Whether a label has this bad day; the file's text, or null. */
export function badDay(label: string, day: string): string | null {
  try {
    return Deno.readTextFileSync(`${folder}/${label}/${day}`);
  } catch {
    return null;
  }
}

/** As {@linkcode badDay}, which is over with that. */
export function takeBadDay(label: string, day: string): string | null {
  const text = badDay(label, day);
  if (text !== null) Deno.removeSync(`${folder}/${label}/${day}`);
  return text;
}

/** Resolves after so many milliseconds. */
export function delay(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Sends a signal to a process or, negative, to a group; false: it is gone. */
export function signal(pid: number, name: Deno.Signal): boolean {
  try {
    Deno.kill(pid, name);
    return true;
  } catch {
    return false;
  }
}

/**
 * Starts a job in the background and returns once it is started, or scheduled:
 * launchd, too, outlives the one who asks.
 */
export async function start(label: string): Promise<void> {
  const supervisor = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-A", "--quiet", "--no-config", "--no-lock"],
      ...[Deno.mainModule, "supervise", label],
    ],
    detached: true,
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  supervisor.unref();
  await supervisor.stdout.getReader().read();
}

/** The life of a started job; told on stdout once it is started or scheduled. */
export async function supervise(label: string): Promise<void> {
  using lock = Deno.openSync(`${folder}/${label}/lock`, {
    create: true,
    write: true,
  });
  if (!lock.tryLockSync(true)) return; // one process a job
  do {
    if (badDay(label, "spawn-scheduled") !== null) tell();
    while (badDay(label, "spawn-scheduled") !== null) await delay(20);
    await runOnce(label);
    while (badDay(label, "unseen") !== null) await delay(20);
  } while (takeBadDay(label, "twice") !== null);
}

function tell(): void {
  try {
    Deno.stdout.writeSync(new TextEncoder().encode("started\n"));
  } catch { /* nobody waits for it any more */ }
}

async function runOnce(label: string): Promise<void> {
  const service = readService(label);
  if (service === null) return;
  const { plist } = service;
  service.runs++;
  const child = spawn(label, plist);
  if (child === null) {
    writeService({ ...service, last: { exit: 78 } });
    tell();
    return;
  }
  writeService({ ...service, pid: child.pid });
  tell();
  const status = await child.status;
  if (plist.AbandonProcessGroup !== true) signal(-child.pid, "SIGTERM");
  if (badDay(label, "twice") !== null) {
    Deno.writeTextFileSync(`${folder}/${label}/unseen`, "");
  }
  writeService({
    ...service,
    last: status.signal === null
      ? { exit: status.code }
      : { signal: status.code - 128 },
  });
}

/** Null if launchd could not start the job, which it shows as exit code 78. */
function spawn(label: string, plist: PlistDict): Deno.ChildProcess | null {
  const words = strings(plist.ProgramArguments);
  if (typeof plist.Program === "string") words[0] = plist.Program;
  const [out, err] = ["StandardOutPath", "StandardErrorPath"].map((key) =>
    typeof plist[key] === "string" ? plist[key] : "/dev/null"
  );
  try {
    for (const path of [out ?? "", err ?? ""]) {
      Deno.openSync(path, { append: true, create: true }).close();
    }
    if (words[0]?.startsWith("/")) Deno.statSync(words[0]);
  } catch {
    return null;
  }
  let cwd = "/";
  if (typeof plist.WorkingDirectory === "string") {
    try {
      if (Deno.statSync(plist.WorkingDirectory).isDirectory) {
        cwd = plist.WorkingDirectory;
      }
    } catch { /* launchd logs that and starts the job in / */ }
  }
  const env: Record<string, string> = {
    PATH: "/usr/bin:/bin:/usr/sbin:/sbin",
    SHELL: "/bin/sh",
    XPC_SERVICE_NAME: label,
  };
  for (const name of ["HOME", "USER", "LOGNAME", "TMPDIR", "TZ"]) {
    const value = Deno.env.get(name);
    if (value !== undefined) env[name] = value;
  }
  const own = plist.EnvironmentVariables;
  if (typeof own === "object" && !Array.isArray(own)) {
    for (const [name, value] of Object.entries(own)) {
      if (typeof value === "string") env[name] = value;
    }
  }
  // The shell opens the logs and then becomes the job, whose group it leads.
  const script = 'out=$1 err=$2; shift 2; exec "$@" >>"$out" 2>>"$err"';
  return new Deno.Command("/bin/sh", {
    args: ["-c", script, "sh", out ?? "", err ?? "", ...words],
    clearEnv: true,
    env,
    cwd,
    detached: true,
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
}

/** The strings of an array. */
export function strings(value: PlistValue | undefined): string[] {
  return Array.isArray(value)
    ? value.filter((item) => typeof item === "string")
    : [];
}
