/**
 * Makes one file of the many that `deno bundle --code-splitting` makes, such
 * that V8 has little to do when it starts.
 *
 * What every start needs stands at the top level. What the script gets by
 * `import()` becomes a function each, a part: V8 does not look into a function
 * before it is called.
 *
 * @module
 */
import { join } from "@std/path/join";

/** `import { a, b as c } from "./x.js";` or `import "./x.js";`, as the bundler prints them. */
const IMPORT = /^import (?:\{([^}]*)\} from )?"\.\/([\w-]+\.js)";\n/gm;
/** `export { a, b as c };` */
const EXPORT = /^export \{([^}]*)\};\n/gm;
const LAZY_IMPORT = /\bimport\("\.\/([\w-]+\.js)"\)/g;

/** Bundles one file into another; what is `external` stays an import. */
export type Bundle = (
  from: string,
  to: string,
  external: string[],
) => Promise<void>;

function imported(text: string): string[] {
  return [...text.matchAll(IMPORT)].map(([, , file = ""]) => file);
}

function importedLazily(text: string): string[] {
  return [...text.matchAll(LAZY_IMPORT)].map(([, file = ""]) => file);
}

/** `a, b as c` as pairs: what comes before the `as`, and what after it. */
function pairs(list: string): [string, string][] {
  return list.split(",").map((word) => word.trim()).filter((word) => word)
    .map((word) => {
      const [before = "", after = before] = word.split(" as ");
      return [before, after];
    });
}

/** The files that are reached from `entry`, itself first. */
function reached(
  entry: string,
  next: (file: string) => readonly string[],
): string[] {
  const files = new Set([entry]);
  for (const file of files) next(file).forEach((one) => files.add(one));
  return [...files];
}

/**
 * Puts the functions at the top level of a module into parentheses, first of
 * all. Those V8 compiles at once, and only what is compiled at once gets into
 * Deno's code cache; all others would be compiled anew at every start.
 */
export function withEagerFunctions(text: string): string {
  const functions: string[] = [];
  const rest = text.replace(
    /^((?:async )?function\*? ([\w$]+)\([\s\S]*?^\})\n/gm,
    (_, code: string, name: string) => {
      functions.push(`var ${name} = (${code});\n`);
      return "";
    },
  );
  return functions.join("") + rest;
}

/** What a part is called, without the digits that tell versions apart. */
function partNames(files: readonly string[]): Map<string, string> {
  let shared = 0;
  return new Map(files.map((file) => [
    file,
    file.startsWith("chunk-")
      ? `part_shared_${++shared}`
      : `part_${file.replace(/-[A-Z0-9]{8}\.js$/, "")}`,
  ]));
}

/** The parts of a packed file, and what they take from its top level. */
class Parts {
  readonly #names: ReadonlyMap<string, string>;
  /** Names of files at the top level. */
  readonly #top: readonly string[];
  /** `export` lines by the name that is exported. */
  readonly taken = new Map<string, string>();

  constructor(top: readonly string[], parts: readonly string[]) {
    this.#top = top;
    this.#names = partNames(parts);
  }

  /** Calls the part where it was imported lazily. */
  called(text: string): string {
    return text.replace(
      LAZY_IMPORT,
      (_, file: string) => `Promise.resolve(${this.#names.get(file)}())`,
    );
  }

  /** The module as a function that runs it once and returns its exports. */
  asFunction(file: string, text: string): string {
    const taken: string[] = [];
    const owns: string[] = [];
    const body = text.replace(IMPORT, (_, list: string, from: string) => {
      const part = this.#names.get(from);
      const names = pairs(list ?? "");
      if (part === undefined) {
        taken.push(...names.map(([name]) => this.#takes(from, name)));
        owns.push(...names.map(([, own]) => own));
        return "";
      }
      const given = names.map(([name, own]) => `${name}: ${own}`);
      return `const { ${given.join(", ")} } = ${part}();\n`;
    }).replace(EXPORT, (_, list: string) => {
      const given = pairs(list).map(([own, name]) => `${name}: ${own}`);
      return `return { ${given.join(", ")} };\n`;
    });
    const name = this.#names.get(file);
    return `function ${name}() {
return ${name}.exports ??= ((${owns.join(", ")}) => {
${this.called(body)}})(${taken.join(", ")});
}
`;
  }

  #takes(from: string, name: string): string {
    const outer = `taken_${this.#top.indexOf(from)}_${name}`;
    this.taken.set(outer, `export { ${name} as ${outer} } from "./${from}";\n`);
    return outer;
  }
}

/**
 * Packs a split bundle.
 *
 * @param folder Where its files are; more are written there
 * @param entry Name of the one that starts
 * @returns The text of the one file
 */
export async function pack(
  folder: string,
  entry: string,
  bundle: Bundle,
): Promise<string> {
  const read = (file: string): string =>
    Deno.readTextFileSync(join(folder, file));
  const top = reached(entry, (file) => imported(read(file)));
  const all = reached(
    entry,
    (file) => [...imported(read(file)), ...importedLazily(read(file))],
  );
  const files = all.filter((file) => !top.includes(file));
  const parts = new Parts(top, files);
  const functions = files.map((file) => parts.asFunction(file, read(file)));

  // The bundler says what the parts take by the names that it gives it.
  const exporting = join(folder, "exporting.js");
  const flat = join(folder, "flat.js");
  Deno.writeTextFileSync(
    exporting,
    read(entry) + [...parts.taken.values()].join(""),
  );
  await bundle(exporting, flat, files.map((file) => `./${file}`));
  const given = new Map<string, string>();
  const code = read("flat.js").replace(EXPORT, (_, list: string) => {
    for (const [name, outer] of pairs(list)) given.set(outer, name);
    return "";
  }).replace(/^\/\/ \S+\.js\n/gm, "");
  const [shebang = "", ...lines] = parts.called(code).split("\n");
  const taken = functions.join("").replace(
    /\btaken_\d+_[\w$]+/g,
    (outer) => given.get(outer) ?? outer,
  );
  return `${shebang}\n${withEagerFunctions(lines.join("\n"))}${taken}`;
}
