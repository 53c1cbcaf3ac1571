import { textOf } from "./files.ts";

/** Bits of SIGINT and SIGQUIT in a mask as proc(5) shows it. */
const INT_AND_QUIT = 0b110n;

function ignoresInterrupts(): boolean {
  const mask = /^SigIgn:\s*([0-9a-f]+)$/m.exec(textOf("/proc/self/status"))
    ?.[1];
  return mask !== undefined && (BigInt(`0x${mask}`) & INT_AND_QUIT) !== 0n;
}

/**
 * Words before a command that let it meet SIGINT and SIGQUIT: whoever starts
 * the tests behind an `&` leaves them ignored (POSIX), for all children too.
 */
export const defaultSignals: readonly string[] = ignoresInterrupts()
  ? ["/usr/bin/env", "--default-signal=INT,QUIT"]
  : [];
