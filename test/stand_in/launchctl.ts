/**
 * A stand-in for launchctl and the launchd behind it, with the exit codes, the
 * messages and the print format of macOS 26, and with its bad days.
 *
 * It keeps jobs in the folder LAUNCHD_STAND_IN, one folder a label. A file in
 * the label's folder gives it a bad day, most as long as the file is there:
 *
 * | file | what happens |
 * |---|---|
 * | `blocks` | kickstart starts nothing and never returns |
 * | `blocks-after` | kickstart starts the job and never returns |
 * | `error` | the next kickstart fails with the exit code in the file |
 * | `vanishes` | kickstart returns 0, and the label is not loaded any more |
 * | `spawn-scheduled` | a start waits until the file is gone |
 * | `xpcproxy` | a started job is shown in that state, with its pid |
 * | `no-pid` | a started job is shown without its pid |
 * | `twice` | after its end, once that was seen, the job is started once more |
 * | `print-blocks` | print never returns |
 *
 * In the folder itself: `domain` holds an exit code, 112 or 125, for every
 * answer; with `old` the messages are those of macOS 12.
 */
import { type PlistDict, readPlistXml } from "../plist_xml.ts";
import {
  badDay,
  delay,
  folder,
  readService,
  type Service,
  signal,
  start,
  supervise,
  takeBadDay,
  writeService,
} from "./service.ts";
import { printService } from "./service_print.ts";

const uid = Deno.uid() ?? 0;
const domain = `gui/${uid}`;

function write(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(text));
}

function fail(code: number, text: string): number {
  Deno.stderr.writeSync(new TextEncoder().encode(`${text}\n`));
  return code;
}

function ever(): Promise<never> {
  return new Promise(() => setInterval(() => {}, 1e6));
}

function rootFile(name: string): string | null {
  return badDay("", name);
}

/** The words for a missing service; newer systems put a line before them. */
function notFound(
  label: string,
  where = `domain for user gui: ${uid}`,
): number {
  const text = `Could not find service "${label}" in ${where}`;
  return fail(113, rootFile("old") === null ? `Bad request.\n${text}` : text);
}

/** The overrides of `enable` and `disable`: label to disabled. */
function overrides(): Record<string, boolean> {
  return JSON.parse(rootFile("overrides") ?? "{}");
}

function isDisabled(label: string, plist: PlistDict): boolean {
  return overrides()[label] ?? plist.Disabled === true;
}

async function bootstrap(path: string): Promise<number> {
  let plist: PlistDict;
  try {
    plist = readPlistXml(Deno.readTextFileSync(path)) as PlistDict;
  } catch {
    return fail(5, "Bootstrap failed: 5: Input/output error");
  }
  const label = String(plist.Label);
  if (isDisabled(label, plist)) {
    return fail(119, "Bootstrap failed: 119: Service is disabled");
  }
  if (readService(label) !== null) {
    return fail(5, "Bootstrap failed: 5: Input/output error");
  }
  Deno.mkdirSync(`${folder}/${label}`, { recursive: true });
  writeService({ label, path, plist, runs: 0 });
  if (plist.RunAtLoad === true) await start(label);
  return 0;
}

/** TERM, after five seconds KILL, and returns when the process is gone. */
async function stop(label: string): Promise<void> {
  const pid = readService(label)?.pid;
  if (pid === undefined) return;
  signal(pid, "SIGTERM");
  for (let tries = 0; readService(label)?.pid === pid; tries++) {
    if (tries === 250) signal(-pid, "SIGKILL");
    await delay(20);
  }
}

async function bootout(label: string): Promise<number> {
  if (readService(label) === null) {
    return fail(3, "Boot-out failed: 3: No such process");
  }
  await stop(label);
  Deno.removeSync(`${folder}/${label}`, { recursive: true });
  return 0;
}

async function kickstart(service: Service, flags: string[]): Promise<number> {
  const { label } = service;
  const complain = (code: number, text: string): number =>
    fail(code, `Could not kickstart service "${label}": ${code}: ${text}`);
  if (isDisabled(label, service.plist)) {
    return complain(119, "Service is disabled");
  }
  const error = takeBadDay(label, "error");
  if (error?.trim() === "37") return 37; // it has no words for that
  if (error !== null) return complain(Number(error), "Input/output error");
  if (badDay(label, "blocks") !== null) await ever();
  if (badDay(label, "vanishes") !== null) {
    Deno.removeSync(`${folder}/${label}`, { recursive: true });
    return 0;
  }
  if (flags.includes("-k")) await stop(label);
  if (readService(label)?.pid === undefined) await start(label);
  if (badDay(label, "blocks-after") !== null) await ever();
  const pid = readService(label)?.pid;
  if (flags.includes("-p") && pid !== undefined) write(`${pid}\n`);
  return 0;
}

function kill(word: string, service: Service): number {
  const numbers: Record<string, string> = { 2: "INT", 9: "KILL", 15: "TERM" };
  const name = numbers[word] ?? word.toUpperCase().replace(/^SIG/, "");
  const sent = service.pid !== undefined &&
    signal(service.pid, `SIG${name}` as Deno.Signal);
  return sent ? 0 : fail(3, "No process to signal.");
}

async function print(service: Service): Promise<number> {
  if (badDay(service.label, "print-blocks") !== null) await ever();
  write(printService(domain, service));
  if (service.pid === undefined) takeBadDay(service.label, "unseen");
  return 0;
}

function printDisabled(): number {
  const old = rootFile("old") !== null;
  const lines = Object.entries(overrides()).map(([label, disabled]) => {
    const word = old ? disabled : disabled ? "disabled" : "enabled";
    return `\t\t"${label}" => ${word}\n`;
  });
  write(`\n\tdisabled services = {\n${lines.join("")}\t}\n`);
  return 0;
}

function override(label: string, disabled: boolean): number {
  const all = { ...overrides(), [label]: disabled };
  Deno.writeTextFileSync(`${folder}/overrides`, JSON.stringify(all));
  return 0;
}

/** The raw wait status, and minus the signal in a table. */
function list(label: string | undefined): number {
  if (label === undefined) {
    write("PID\tStatus\tLabel\n");
    for (const { name } of Deno.readDirSync(folder)) {
      const service = readService(name);
      if (service === null) continue;
      const { pid, last = { exit: 0 } } = service;
      const status = "exit" in last ? last.exit : -last.signal;
      write(`${pid ?? "-"}\t${status}\t${name}\n`);
    }
    return 0;
  }
  const service = readService(label);
  if (service === null) return notFound(label, "domain for port");
  const { pid, last = { exit: 0 } } = service;
  const status = "exit" in last ? last.exit * 256 : last.signal;
  write(
    `{\n\t"LimitLoadToSessionType" = "Aqua";\n\t"Label" = "${label}";\n` +
      `\t"OnDemand" = true;\n\t"LastExitStatus" = ${status};\n` +
      (pid === undefined ? "" : `\t"PID" = ${pid};\n`) + "};\n",
  );
  return 0;
}

/** Every domain but the user's own is missing, as over ssh. */
function domainTrouble(target: string): number | null {
  const code = Number(rootFile("domain") ?? 0);
  if (code === 125) {
    return fail(125, "Domain does not support specified action");
  }
  const [kind, number] = target.split("/");
  if (code === 0 && `${kind}/${number}` === domain) return null;
  return fail(112, `Could not find domain for user ${kind}: ${number}`);
}

async function main(args: string[]): Promise<number> {
  const [command = "", ...rest] = args;
  const flags = rest.filter((word) => /^-[a-z]+$/.test(word));
  const words = rest.filter((word) => !flags.includes(word));
  if (command === "supervise") {
    await supervise(words[0] ?? "");
    return 0;
  }
  if (command === "list") return list(words[0]);
  const target = (command === "kill" ? words[1] : words[0]) ?? "";
  const [kind, , ...name] = target.split("/");
  const label = name.join("/");
  const whole = ["bootstrap", "print-disabled"].includes(command);
  if (!["gui", "user"].includes(kind ?? "") || (label === "") !== whole) {
    return fail(
      64,
      "Unrecognized target specifier. <service-target> takes a form of " +
        "<domain-target>/<service-id>.\nPlease refer to `man launchctl` for " +
        `explanation of the <domain-target> specifiers.\nUsage: launchctl ${command}`,
    );
  }
  const trouble = domainTrouble(target);
  if (trouble !== null) return trouble;
  switch (command) {
    case "bootstrap":
      return await bootstrap(words[1] ?? "");
    case "bootout":
      return await bootout(label);
    case "enable":
    case "disable":
      return override(label, command === "disable");
    case "print-disabled":
      return printDisabled();
  }
  const service = readService(label);
  if (service === null) return notFound(label);
  switch (command) {
    case "kickstart":
      return await kickstart(service, flags);
    case "kill":
      return kill(words[0] ?? "", service);
    case "print":
      return await print(service);
  }
  return fail(64, `Unrecognized subcommand: ${command}`);
}

Deno.exit(await main(Deno.args));
