/** The real claude from npm, in a home with a stand-in for the API behind it. */
import { join } from "@std/path/join";
import { Home } from "./harness.ts";
import type { Api } from "./stand_in/api.ts";

const version = "2.1.332";

/** The installed program; null if the registry has that version no longer. */
export async function installClaude(): Promise<string | null> {
  const folder = Deno.makeTempDirSync({ prefix: "claude-code-" });
  addEventListener("unload", () => {
    Deno.removeSync(folder, { recursive: true });
  });
  const npm = await new Deno.Command("npm", {
    args: [
      ...["install", "--prefix", folder, "--no-audit", "--no-fund"],
      `@anthropic-ai/claude-code@${version}`,
    ],
  }).output();
  if (!npm.success) {
    const said = new TextDecoder().decode(npm.stderr);
    if (!/\bE404\b|\bETARGET\b/.test(said)) throw new Error(said);
    console.error(`
**********************************************************************
  The npm registry has no @anthropic-ai/claude-code@${version} any more:
  NOTHING BELOW WAS TRIED WITH THE REAL CLAUDE. Pin a newer version.
**********************************************************************
`);
    return null;
  }
  const scope = join(folder, "node_modules", "@anthropic-ai");
  for (const { name } of Deno.readDirSync(scope)) {
    const program = join(scope, name, "claude");
    if (name === `claude-code-${Deno.build.os}-${arch()}`) return program;
  }
  throw new Error(`No program for ${Deno.build.os} ${arch()} in '${scope}'`);
}

/** Node's name of this machine's processor. */
function arch(): string {
  return Deno.build.arch === "aarch64" ? "arm64" : "x64";
}

/** A home whose claude is the real one, with `api` behind it. */
export function realHome(claude: string | null, api: Api): Home {
  const home = new Home();
  Object.assign(home.env, {
    CLAUDE_REAL_BIN: claude,
    ANTHROPIC_BASE_URL: api.url,
    CLAUDE_CODE_OAUTH_TOKEN: "sk-ant-oat01-dummy",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    CLAUDE_CODE_MAX_RETRIES: "0",
    DISABLE_AUTOUPDATER: "1",
    DISABLE_ERROR_REPORTING: "1",
    DISABLE_TELEMETRY: "1",
  });
  api.resetAt = Math.floor(Date.now() / 1000) + 7500;
  return home;
}
