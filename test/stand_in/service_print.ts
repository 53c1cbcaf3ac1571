import type { PlistDict } from "../plist_xml.ts";
import { badDay, type Service, strings } from "./service.ts";

const signalNames: Record<number, string> = {
  1: "Hangup",
  2: "Interrupt",
  3: "Quit",
  6: "Abort trap",
  9: "Killed",
  11: "Segmentation fault",
  15: "Terminated",
};

const sysexits: Record<number, string> = {
  64: "EX_USAGE",
  69: "EX_UNAVAILABLE",
  70: "EX_SOFTWARE",
  75: "EX_TEMPFAIL",
  78: "EX_CONFIG",
};

/** `state = ` of a service. */
function stateOf(service: Service): string {
  if (service.pid === undefined) {
    return badDay(service.label, "spawn-scheduled") === null
      ? "not running"
      : "spawn scheduled";
  }
  return badDay(service.label, "xpcproxy") === null ? "running" : "xpcproxy";
}

/** The line that tells how the run before ended. */
function lastLine({ last }: Service): string {
  if (last === undefined) return "last exit code = (never exited)";
  if ("signal" in last) {
    const name = signalNames[last.signal] ?? "Unknown signal";
    return `last terminating signal = ${name}: ${last.signal}`;
  }
  const name = sysexits[last.exit];
  return `last exit code = ${last.exit}${name ? `: ${name}` : ""}`;
}

function block(name: string, lines: string[]): string[] {
  return [`${name} = {`, ...lines.map((line) => `\t${line}`), "}", ""];
}

function calendarTriggers({ label, plist }: Service): string[] {
  const value = plist.StartCalendarInterval ?? [];
  const entries = (Array.isArray(value) ? value : [value]) as PlistDict[];
  return entries.flatMap((entry, i) => [
    `${label}.${268435470 + i} => {`,
    "\tkeepalive = 0",
    `\tservice = ${label}`,
    "\tstream = com.apple.launchd.calendarinterval",
    "\tmonitor = com.apple.UserEventAgent-Aqua",
    "\tdescriptor = {",
    ...Object.entries(entry).map(([key, n]) => `\t\t"${key}" => ${n}`),
    "\t}",
    "}",
  ]);
}

/** What `launchctl print` says about a service, as on macOS 26. */
export function printService(domain: string, service: Service): string {
  const { label, plist, pid } = service;
  const [program = ""] = strings(plist.ProgramArguments);
  const active = pid === undefined ? 0 : 1;
  const shownPid = pid !== undefined && badDay(label, "no-pid") === null;
  const triggers = calendarTriggers(service);
  const paths = [
    ["working directory", "WorkingDirectory"],
    ["stdout path", "StandardOutPath"],
    ["stderr path", "StandardErrorPath"],
  ].flatMap(([name, key = ""]) =>
    plist[key] ? [`${name} = ${plist[key]}`] : []
  );
  const own = Object.entries((plist.EnvironmentVariables ?? {}) as PlistDict);
  const lines = [
    `active count = ${active}`,
    `path = ${service.path}`,
    "type = LaunchAgent",
    `state = ${stateOf(service)}`,
    "",
    `program = ${plist.Program ?? program}`,
    ...block("arguments", strings(plist.ProgramArguments)),
    ...(paths.length ? [...paths, ""] : []),
    ...block("default environment", ["PATH => /usr/bin:/bin:/usr/sbin:/sbin"]),
    ...block("environment", [
      "OSLogRateLimit => 64",
      ...own.map(([name, value]) => `${name} => ${value}`),
      `XPC_SERVICE_NAME => ${label}`,
    ]),
    `domain = ${domain} [100002]`,
    "asid = 100002",
    "minimum runtime = 10",
    "exit timeout = 5",
    ...(plist.StartInterval
      ? [`run interval = ${plist.StartInterval} seconds`]
      : []),
    `runs = ${service.runs}`,
    ...(shownPid ? [`pid = ${pid}`] : []),
    ...(active ? ["immediate reason = non-ipc demand", "forks = 0"] : []),
    lastLine(service),
    "",
    ...(triggers.length ? block("event triggers", triggers) : []),
    ...block("endpoints", [
      `"${label}.port" = {`,
      "\tstate = active",
      "\tactive count = 1",
      "\tpid = 1",
      "\tlast exit code = 0",
      "}",
    ]),
    ...block("resource coalition", [
      "ID = 1072",
      "type = resource",
      "state = active",
      "active count = 1",
      `name = ${label}`,
    ]),
    "spawn type = daemon (3)",
    "jetsam priority = 40",
    `job state = ${active ? "running" : "exited"}`,
    "",
    "properties = inferred program",
  ];
  const body = lines.map((line) => line && `\t${line}`).join("\n");
  return `${domain}/${label} = {\n${body}\n}\n`;
}
