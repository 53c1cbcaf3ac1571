/** A mode of setting up, instead of a round of the catch-up. */
export type SetupMode =
  | "wrap"
  | "unwrap"
  | "install"
  | "uninstall"
  | "doctor"
  | "explain"
  | "day";

/** In the order of the help. */
export const SETUP_MODES: readonly SetupMode[] = [
  "wrap",
  "unwrap",
  "install",
  "uninstall",
  "doctor",
  "explain",
  "day",
];

/** The mode of setting up that arguments ask for; null for a round. */
export function setupMode(args: readonly string[]): SetupMode | null {
  return SETUP_MODES.find((mode) =>
    args.some((arg) => arg === `--${mode}` || arg.startsWith(`--${mode}=`))
  ) ?? null;
}
