/** A mistake on the command line: exit code 2. */
export class UsageError extends Error {
  /** Its class. */
  override name = "UsageError";
}

/** A flag that is not known. */
export class UnknownFlagError extends UsageError {
  /** Its class. */
  override name = "UnknownFlagError";
  /** The flag as written, without a value. */
  readonly flag: string;
  /** The flags that there are. */
  readonly known: readonly string[];

  /**
   * Says so in words.
   *
   * @param where What the flag was given to, such as `--job`
   */
  constructor(flag: string, where: string, known: readonly string[]) {
    super(`${flag} is no flag of ${where}`);
    this.flag = flag;
    this.known = known;
  }
}
