import type { Books, Kick } from "./books.ts";
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
  readonly #label: string;
  readonly #skipTs: number;
  #before: Kick | undefined;
  #raced = false;

  /**
   * The record of one kick; writes nothing yet.
   *
   * @param label The job's label in its markers
   * @param skipTs Time stamp of the skip that the kick makes up
   */
  constructor(folder: string, host: Host, label: string, skipTs: number) {
    this.#folder = folder;
    this.#host = host;
    this.#label = label;
    this.#skipTs = skipTs;
  }

  /** Another catch-up was faster: then there is nothing to be done. */
  get raced(): boolean {
    return this.#raced;
  }

  /**
   * Writes that the kick is about to be made.
   *
   * @param runs launchd's count of starts so far; null if it shows none
   * @param seen The last kick, by the books that this one was decided on
   * @returns Why it could not be written: then it must not be made. Else null
   */
  async open(
    runs: number | null,
    seen: Kick | undefined,
  ): Promise<string | null> {
    const now = this.#host.now();
    const moment = { now, timeZone: this.#host.timeZone() };
    const trouble = await this.#change((before) => {
      this.#raced = before?.skip_ts !== seen?.skip_ts ||
        before?.at !== seen?.at ||
        before?.done !== seen?.done;
      if (this.#raced) return before;
      this.#before = before;
      return {
        skip_ts: this.#skipTs,
        at: now,
        runs,
        count: kicksToday(before, this.#skipTs, moment),
        done: false,
      };
    });
    if (this.#raced) return "another catch-up has just kicked it";
    return trouble && `no record of it can be made: ${trouble}`;
  }

  /** launchd has refused: the books say what they said before. */
  async undo(): Promise<void> {
    await this.#change(() => this.#before);
  }

  /** Nothing was seen of the job: that counts, but the skip is still owed. */
  async miss(): Promise<void> {
    await this.#change((kick) => kick && { ...kick, count: kick.count + 1 });
  }

  /** The job is gone. Not written, the count of starts tells the next round. */
  async close(): Promise<void> {
    await this.#change((kick) =>
      kick && { ...kick, count: kick.count + 1, done: true }
    );
  }

  async #change(
    next: (before: Kick | undefined) => Kick | undefined,
  ): Promise<string | null> {
    const changed = await updateState(this.#folder, this.#host, (state) => ({
      books: withKick(
        state.books,
        this.#label,
        next(state.books.kicks.get(this.#label)),
      ),
      sync: true,
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
