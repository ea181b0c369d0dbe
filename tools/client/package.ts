/**
 * Builds the client as a package without dependencies: npm run client:package [-- <folder>]
 * The folder (dist/client-package unless told otherwise) is then what `npm pack` and `npm publish` take.
 */
import { copyFileSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { projectRoot, runTool } from "../../scripts/lint/tool.ts";
import { writtenOut } from "./written-out.ts";

const NAME = "returns-analytics-client";
const TSC = "typescript/bin/tsc";
const SETTINGS = {
  noEmit: false,
  declaration: true,
  rewriteRelativeImportExtensions: true,
  target: "es2022",
  lib: ["es2022", "dom", "dom.asynciterable"],
  types: [],
  skipLibCheck: false,
};

/** What `import … from "returns-analytics-client"` finds; everything else is internal. */
const EXPORTS: readonly string[] = ["client.js", "errors.js"];
const TYPES = [
  'export type * from "./result.js";',
  'export type * from "./file-export.js";',
  'export type * from "./answers.js";',
  'export type * from "./methods.js";',
  'export type * from "./parameters.js";',
  'export type { ErrorCode } from "./endpoints.js";',
];

process.exitCode = buildPackage(resolve(process.argv[2] ?? join(projectRoot, "dist/client-package")));

/** Returns the exit code. */
function buildPackage(folder: string): number {
  requireOwnFolder(folder);
  const library = join(folder, "lib");
  rmSync(library, { recursive: true, force: true });
  mkdirSync(library, { recursive: true });
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest(), null, 2)}\n`);
  const sources = writeSources(join(folder, "source"));
  const code = runTool(TSC, ["--project", sources, "--outDir", library]);
  if (code !== 0) return code;
  rmSync(sources, { recursive: true });
  nameEmittedFiles(library);
  const values = EXPORTS.map((file) => `export * from "./${file}";`);
  writeLines(join(library, "index.js"), values);
  writeLines(join(library, "index.d.ts"), [...values, ...TYPES]);
  copyFileSync(join(projectRoot, "docs/client.md"), join(folder, "README.md"));
  copyFileSync(join(projectRoot, "LICENSE"), join(folder, "LICENSE"));
  process.stderr.write(`The package is in ${folder}.\n`);
  return 0;
}

/** The client's modules, with everything of the contract written out: a package of its own has no contract. */
function writeSources(folder: string): string {
  mkdirSync(folder, { recursive: true });
  for (const path of globSync(join(projectRoot, "src/client/*.ts"), { exclude: ["**/*.test.ts"] })) {
    copyFileSync(path, join(folder, basename(path)));
  }
  for (const [name, text] of Object.entries(writtenOut())) writeFileSync(join(folder, name), text);
  const config = {
    extends: join(projectRoot, "tsconfig.json"),
    compilerOptions: { ...SETTINGS, rootDir: "." },
    include: ["*.ts"],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  return folder;
}

/** Another project's folder is not written over. */
function requireOwnFolder(folder: string): void {
  const path = join(folder, "package.json");
  if (!existsSync(path)) return;
  const { name } = JSON.parse(readFileSync(path, "utf8")) as { name?: unknown };
  if (name !== NAME) throw new Error(`${folder} holds another package.`);
}

/** The compiler turns the extensions of imports in code, but leaves those of declarations as they are. */
function nameEmittedFiles(library: string): void {
  for (const file of globSync("**/*.d.ts", { cwd: library })) {
    const path = join(library, file);
    const text = readFileSync(path, "utf8");
    writeFileSync(path, text.replaceAll(/(from "\.[^"]*)\.ts"/gu, '$1.js"'));
  }
}

function manifest(): Record<string, unknown> {
  const { version, license, engines } = JSON.parse(
    readFileSync(join(projectRoot, "package.json"), "utf8"),
  ) as Record<string, unknown>;
  return {
    name: NAME,
    version,
    description: "Typed client of the Returns Analytics API, for Node.js and browsers, without dependencies.",
    license,
    keywords: ["returns", "return-rate", "analytics", "ecommerce", "api-client"],
    type: "module",
    engines,
    sideEffects: false,
    types: "./lib/index.d.ts",
    exports: { ".": { types: "./lib/index.d.ts", default: "./lib/index.js" } },
    files: ["lib"],
  };
}

function writeLines(path: string, lines: readonly string[]): void {
  writeFileSync(path, `${lines.join("\n")}\n`);
}
