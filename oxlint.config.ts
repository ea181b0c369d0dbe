import { defineConfig } from "oxlint";
import { readImportTable, readPackages } from "./scripts/lint/import-table.ts";

const root = import.meta.dirname;
const tests = ["**/*.test.ts", "tests/**/*.ts"];
const clock = "No clock here: take the time as an argument.";
const environment = "Only src/config.ts reads the environment.";

/** Query modules of imports and runs alone, which no request reaches. */
const runQueries = ["distribute", "import-stage"].map((name) => `src/store/queries/${name}.ts`);

export default defineConfig({
  plugins: ["eslint", "typescript", "unicorn", "oxc", "import", "promise"],
  jsPlugins: ["./scripts/lint/plugin.ts"],
  categories: { correctness: "error", suspicious: "error", perf: "error" },
  options: { reportUnusedDisableDirectives: "error" },
  env: { node: true, es2026: true },
  rules: {
    "house/imports": ["error", { root, table: readImportTable(root), packages: readPackages(root) }],

    eqeqeq: "error",
    "import/no-cycle": "error",
    "import/no-default-export": "error",
    "max-lines": ["error", { max: 600, skipBlankLines: false, skipComments: false }],
    "no-unused-vars": "error",
    "no-var": "error",
    "prefer-const": "error",
    "typescript/ban-ts-comment": "error",
    "typescript/consistent-type-imports": "error",
    "typescript/no-explicit-any": "error",
    "typescript/no-floating-promises": [
      "error",
      {
        // node:test waits for its top-level tests itself.
        allowForKnownSafeCalls: [
          { from: "package", package: "node:test", name: ["test", "suite", "describe", "it"] },
        ],
      },
    ],
    "typescript/no-misused-promises": "error",
    "typescript/only-throw-error": "error",
    "typescript/return-await": ["error", "in-try-catch"],
    "typescript/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
    "unicorn/prefer-node-protocol": "error",

    // Awaiting one by one is often the point: one connection, one transaction, pages in order.
    "no-await-in-loop": "off",
    // Rows and documents are typed where they enter; a guard for each would check them twice.
    "typescript/no-unsafe-type-assertion": "off",
    // The driver takes type ids that its typings do not list.
    "typescript/no-unsafe-enum-assignment": "off",
    // The compiler knows which switch leaves nothing out, and every path's return type.
    "typescript/consistent-return": "off",
    // Packages with a default and named exports: either is a fair way to import them.
    "import/no-named-as-default": "off",
    "import/no-named-as-default-member": "off",
    // Refusing control characters takes a pattern that names them.
    "no-control-regex": "off",
    // A copy per element is what a pure function makes.
    "oxc/no-map-spread": "off",
    // A helper belongs beside its only caller when that reads better.
    "unicorn/consistent-function-scoping": "off",
  },
  overrides: [
    {
      files: ["src/**/*.ts", "src/**/*.js"],
      rules: {
        "house/html-places": "error",
        "house/linear-patterns": "error",
        "house/no-reexport": "error",
        "house/registered-statements": "error",
        "max-lines-per-function": ["error", { max: 80, skipBlankLines: false, skipComments: false }],
        "no-console": "error",
        "no-restricted-properties": ["error", { object: "process", property: "env", message: environment }],
        "no-restricted-imports": ["error", { paths: [{ name: "node:process", message: environment }] }],
      },
    },
    {
      files: ["src/metrics/**/*.ts"],
      rules: {
        "house/no-current-date": "error",
        "no-restricted-globals": ["error", "fetch", "performance", "process", "setInterval", "setTimeout"],
        "no-restricted-imports": [
          "error",
          { patterns: [{ regex: "^[^.]", message: "src/metrics is plain arithmetic: no package, no I/O." }] },
        ],
        "no-restricted-properties": [
          "error",
          { object: "Date", property: "now", message: clock },
          { object: "Temporal", property: "Now", message: clock },
          { object: "Math", property: "random", message: "Nothing here is left to chance." },
        ],
      },
    },
    { files: ["src/cli/**/*.ts"], rules: { "no-console": "off" } },
    {
      // Servers and connections themselves, and runs: cursors, session settings and tables of a transaction.
      files: ["src/embedded/**/*.ts", "src/store/*.ts", "src/sync/**/*.ts", ...runQueries],
      rules: { "house/registered-statements": "off" },
    },
    { files: ["src/config.ts"], rules: { "no-restricted-properties": "off" } },
    {
      files: tests,
      rules: {
        "max-lines-per-function": "off",
        "no-restricted-globals": "off",
        "no-restricted-imports": "off",
        "no-restricted-properties": "off",
        "house/html-places": "off",
        "house/linear-patterns": "off",
        "house/registered-statements": "off",
      },
    },
    { files: ["*.config.ts", "scripts/lint/plugin.ts"], rules: { "import/no-default-export": "off" } },
  ],
});
