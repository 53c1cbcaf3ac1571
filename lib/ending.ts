/** How a call ended. Only `limit` says that the allowance is used up. */
export type EndingName =
  | "ok"
  | "limit"
  | "suspected"
  | "budget"
  | "turns"
  | "throttle"
  | "overloaded"
  | "auth"
  | "killed"
  | "failed";

/** What a limit refuses: every call, or those of one model family. */
export type Scope = "account" | "opus" | "sonnet" | "fable";

/** The judgement on one call. */
export interface Ending {
  /** How the call ended. */
  ending: EndingName;
  /** `account` unless the limit names a model family. */
  scope: Scope;
  /**
   * Window of a limit: a `rateLimitType` (`five_hour`, `seven_day`,
   * `seven_day_opus`, ...), else from the wording; `credit` where a person must
   * act (balance, key, seat, admin), `spend` for spend caps. Null if unknown.
   */
  window: string | null;
  /** When a limit ends, epoch seconds; it may have passed by now. Null if unknown. */
  reset_at: number | null;
  /** For people: which rule decided, on which text; one line, at most 300 characters. */
  evidence: string;
  /** True if `reset_at` was read from a shown time, whose seconds are cut off. */
  shown: boolean;
  /** The message, one line, at most 200 characters; "" if there is none. */
  text: string;
  /** `total_cost_usd` of the last result, if any. */
  cost_usd: number | null;
}
