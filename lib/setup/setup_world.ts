import { folderOf, ownFolder } from "../catchup_look.ts";
import type { CatchupWorld } from "../catchup_world.ts";
import type { ConvertPlist, LaunchAgent } from "../launch_agent.ts";
import type { Self } from "../shim.ts";

/** What setting up works with; tests put their own doors here. */
export interface SetupWorld extends
  Pick<
    CatchupWorld,
    "host" | "launchctl" | "agentsFolder" | "folder" | "policy"
  > {
  /** How the catch-up was started: the guard lies beside it. */
  self: Self;
  /** The user's number, as launchd's domain has it. */
  uid: number | null;
  /** Turns a binary property list into XML. */
  convert: ConvertPlist;
  /** Makes the world of a round, for looking at what it would do. */
  round(): CatchupWorld;
  /** One line or more for the user. */
  tell(text: string): void;
  /** Asks a question; null if nobody is there to answer. */
  ask(question: string): boolean | null;
  /** With colours, for a terminal. */
  colour: boolean;
}

/** Exit codes of setting up. */
export const SETUP_EXIT = { done: 0, wrong: 1 } as const;

/** Something that is not done, and why; `paste` is a text to put in by hand. */
export class Refusal extends Error {
  /** The class, in messages. */
  override name = "Refusal";
  /** Null if no text would help. */
  readonly paste: string | null;

  /** For the user; `message` says what is the matter and what to do. */
  constructor(message: string, paste: string | null = null) {
    super(message);
    this.paste = paste;
  }
}

/** The state folder that a job sees under launchd. */
export function folderOfJob(world: SetupWorld, agent: LaunchAgent): string {
  return folderOf(agent, ownFolder(world));
}
