// The npm build of @std ships no types. These are the few functions in use, so
// that a wrong call fails `deno check`. With `jsr:` in deno.json they are unused.

declare module "@std/assert" {
  export function assert(expr: unknown, msg?: string): asserts expr;
  export function assertEquals<T>(actual: T, expected: T, msg?: string): void;
  export function assertMatch(
    actual: string,
    expected: RegExp,
    msg?: string,
  ): void;
  export function assertNotMatch(
    actual: string,
    expected: RegExp,
    msg?: string,
  ): void;
  export function assertStringIncludes(
    actual: string,
    expected: string,
    msg?: string,
  ): void;
  export function assertThrows<E extends Error = Error>(
    fn: () => unknown,
    // deno-lint-ignore no-explicit-any -- constructor parameters of any error class
    ErrorClass?: new (...args: any[]) => E,
    msgIncludes?: string,
  ): E;
  export function assertRejects<E extends Error = Error>(
    fn: () => PromiseLike<unknown>,
    // deno-lint-ignore no-explicit-any -- constructor parameters of any error class
    ErrorClass?: new (...args: any[]) => E,
    msgIncludes?: string,
  ): Promise<E>;
}

declare module "@std/fs/ensure-dir" {
  export function ensureDir(dir: string | URL): Promise<void>;
  export function ensureDirSync(dir: string | URL): void;
}

declare module "@std/fs/expand-glob" {
  export interface ExpandGlobOptions {
    root?: string | URL;
    exclude?: string[];
    includeDirs?: boolean;
    followSymlinks?: boolean;
    extended?: boolean;
    globstar?: boolean;
    caseInsensitive?: boolean;
  }
  export function expandGlobSync(
    glob: string | URL,
    options?: ExpandGlobOptions,
  ): IterableIterator<Deno.DirEntry & { path: string }>;
}

declare module "@std/path/basename" {
  export function basename(path: string, suffix?: string): string;
}

declare module "@std/path/dirname" {
  export function dirname(path: string): string;
}

declare module "@std/path/from-file-url" {
  export function fromFileUrl(url: string | URL): string;
}

declare module "@std/path/join" {
  export function join(...paths: string[]): string;
}

declare module "@std/path/resolve" {
  export function resolve(...paths: string[]): string;
}

declare module "@std/text/levenshtein-distance" {
  export function levenshteinDistance(one: string, other: string): number;
}
