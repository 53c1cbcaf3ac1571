import type { Books, Kick } from "./books.ts";
import type { Candidate } from "./candidate.ts";
import type { Host } from "./host.ts";
import { kicksToday } from "./kickable.ts";
import { updateState } from "./state.ts";

/**
 * A kick on the books: written before it is made, so that a crash at any moment
 * never makes it twice, and closed when the job is gone.
 */
export class KickRecord {
  readonly #folder: string;
  readonly #host: Host;
  readonly #candidate: Candidate;
  #before: Kick | undefined;

  /** @param folder The candidate's state folder. */
  constructor(folder: string, host: Host, candidate: Candidate) {
    this.#folder = folder;
    this.#host = host;
    this.#candidate = candidate;
  }

  /**
   * Writes that the kick is about to be made.
   *
   * @param runs launchd's count of starts so far; null if it shows none
   * @returns Why it could not be written: then it must not be made. Else null
   */
  async open(runs: number | null): Promise<string | null> {
    const now = this.#host.now();
    const today = (before: Kick | undefined): number =>
      kicksToday(before, now, this.#host.timeZone());
    return await this.#change((before) => {
      this.#before = before;
      return {
        skip_ts: this.#candidate.skip.ts,
        at: now,
        runs,
        count: today(before) + 1,
        done: false,
      };
    });
  }

  /** launchd has refused: the books say what they said before. */
  async undo(): Promise<void> {
    await this.#change(() => this.#before);
  }

  /** The job is gone. Not written, the count of starts tells the next round. */
  async close(): Promise<void> {
    await this.#change((kick) => kick && { ...kick, done: true });
  }

  async #change(
    next: (before: Kick | undefined) => Kick | undefined,
  ): Promise<string | null> {
    const { label } = this.#candidate.options;
    const changed = await updateState(this.#folder, this.#host, (state) => ({
      books: withKick(state.books, label, next(state.books.kicks.get(label))),
      result: null,
    }));
    return changed.done ? null : changed.why;
  }
}

function withKick(books: Books, label: string, kick: Kick | undefined): Books {
  const kicks = new Map(books.kicks);
  if (kick === undefined) kicks.delete(label);
  else kicks.set(label, kick);
  return { ...books, kicks };
}
