/** A mode of setting up, instead of a round of the catch-up. */
export type SetupMode =
  | "wrap"
  | "unwrap"
  | "install"
  | "uninstall"
  | "doctor"
  | "explain";

const MODES: readonly SetupMode[] = [
  "wrap",
  "unwrap",
  "install",
  "uninstall",
  "doctor",
  "explain",
];

/** The mode of setting up that arguments ask for; null for a round. */
export function setupMode(args: readonly string[]): SetupMode | null {
  return MODES.find((mode) => args.includes(`--${mode}`)) ?? null;
}
