/** A round of the catch-up under strace: each job that is owed is started once. */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path/join";
import { CatchupHome } from "../catchup_home.ts";
import { textOf } from "../files.ts";
import type { Finished } from "../harness.ts";
import { Broken } from "./report.ts";
import { jsonOf, lockIsFree, namesBelow, runBounded } from "./run.ts";
import { type Injection, straceWords, type SystemCall } from "./strace.ts";

/** Skipped, skipped, and refused before its guard was killed. */
const LABELS = ["com.me.a", "com.me.b", "com.me.broken"];

/** End of the name of the file of the broken run. */
export const BROKEN_RUN = "99999-01234567";

/** A home with three jobs that are owed. */
export class CatchupScene implements AsyncDisposable {
  readonly home = new CatchupHome();
  readonly log = join(this.home.path, "trace");
  readonly folders = [this.home.state];

  /** Loads the jobs. */
  async prepare(): Promise<void> {
    const beside = join(this.home.path, "runs now");
    for (const label of LABELS) {
      await this.home.job(
        label,
        `mkdir '${beside}' || echo >> '${beside} twice'; sleep 0.1; rmdir '${beside}'`,
      );
    }
    this.#breakOff("com.me.broken");
  }

  /** Its guard was killed an hour ago, and its log has nothing of that run. */
  #breakOff(label: string): void {
    const { home } = this;
    const runs = join(home.state, "runs");
    Deno.mkdirSync(runs, { recursive: true });
    for (const folder of [home.state, runs]) Deno.chmodSync(folder, 0o700);
    Deno.writeTextFileSync(
      join(runs, `${home.skipTs}-${BROKEN_RUN}`),
      `job ${label}\ncall limit - -\n`,
    );
    Deno.writeTextFileSync(home.log(label), "");
  }

  async run(
    harm: { call: SystemCall; what: Injection } | null,
    before: readonly string[] = [],
  ): Promise<Finished> {
    return await this.#round([...before, ...straceWords(this.log, harm)]);
  }

  async #round(
    before: readonly string[],
    ...flags: string[]
  ): Promise<Finished> {
    return await runBounded(this.home, [
      ...before,
      ...this.home.words("quota_catchup", { kind: "bundle" }),
      ...flags,
    ]);
  }

  /**
   * What must hold after a kill.
   *
   * @param booksGone A damaged file was set aside, and that was said
   */
  async check(booksGone = false): Promise<void> {
    const { home } = this;
    for (const name of ["state.json", "jobs.json"]) {
      jsonOf(join(home.state, name));
    }
    assert(lockIsFree(home), "the lock is held");
    const next = await this.#round([]);
    assertEquals([next.code, next.stderr], [0, ""], next.stdout);
    for (const label of LABELS) {
      const starts = home.starts(label);
      // The log of this one has nothing of its run.
      const known = !booksGone || label !== "com.me.broken";
      if (starts < 1 && known) {
        throw new Broken("lost", `${label}: ${next.stdout}`);
      }
      if (starts > 1) throw new Broken("doubled", `${label}: ${next.stdout}`);
    }
    assertEquals(textOf(join(home.path, "runs now twice")), "", "side by side");
    const last = await this.#round([], "--json", "--dry-run");
    assertEquals(JSON.parse(last.stdout).candidates, []);
    const notes = textOf(join(home.state, "catchup.log")).trimEnd();
    for (const line of notes.split("\n")) if (line !== "") JSON.parse(line);
    const left = namesBelow(home.state).filter((name) =>
      name.endsWith(".tmp") || name.endsWith(BROKEN_RUN)
    );
    assertEquals(left, []);
  }

  /** What must hold although a system call has failed. */
  async checkFault({ code, stdout, stderr }: Finished): Promise<void> {
    assert(code === 0 || code === 1, `exit ${code}: ${stderr}`);
    const silent = code === 1 && stdout + stderr === "";
    assert(!silent, "it failed and does not say why");
    await this.check(/was unreadable; moved to/.test(stderr));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.home[Symbol.asyncDispose]();
  }
}
