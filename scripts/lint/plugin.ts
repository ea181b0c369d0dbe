import { relative, sep } from "node:path";
import { htmlPlaces } from "./html-rule.ts";
import { importProblem, packageProblem, placeProblem, suffixProblem } from "./import-table.ts";
import type { ImportTable } from "./import-table.ts";
import { linearPatterns } from "./linear-patterns.ts";

/** The part of the linter's rule interface (ESLint's) that the rules below use. */
type Node = { type: string };
type Context = {
  filename: string;
  options: unknown[];
  report(problem: { node: Node; message: string }): void;
};
type Source = Node & { source?: (Node & { value?: unknown }) | null };
type Construction = Node & { callee: Node & { name?: string }; arguments: Node[] };
type Call = Node & { callee: Node & { name?: string; property?: { name?: string } }; arguments: Node[] };
type Literal = Node & { parent?: Call; properties: { key?: { name?: string } }[] };
type Options = { root: string; table: ImportTable; packages: string[] };

/** Holds `src/` to the import table, whatever form an import takes. */
const imports = {
  meta: { schema: false as const },
  create(context: Context) {
    const { root, table, packages } = context.options[0] as Options;
    const file = relative(root, context.filename).split(sep).join("/");
    const check = (node: Source): void => {
      const specifier = node.source?.value;
      if (typeof specifier !== "string") return;
      const message =
        importProblem(table, file, specifier) ??
        suffixProblem(file, specifier) ??
        packageProblem(packages, file, specifier);
      if (message !== undefined) context.report({ node, message });
    };
    return {
      Program(node: Node): void {
        const message = placeProblem(table, file);
        if (message !== undefined) context.report({ node, message });
      },
      ImportDeclaration: check,
      ImportExpression: check,
      TSImportType: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
    };
  },
};

/** A name is imported from the file that declares it. */
const noReexport = {
  create(context: Context) {
    const check = (node: Source): void => {
      if (node.source)
        context.report({ node, message: "no barrels: import from the file that declares the name" });
    };
    return { ExportNamedDeclaration: check, ExportAllDeclaration: check };
  },
};

/** A pure function is told the time. */
const noCurrentDate = {
  create(context: Context) {
    return {
      NewExpression(node: Construction): void {
        if (node.callee.name !== "Date" || node.arguments.length > 0) return;
        context.report({ node, message: "no clock here: take the time as an argument" });
      },
    };
  },
};

/** Whatever a request runs is a statement of the registry, where tests hold it to one workspace. */
const registeredStatements = {
  create(context: Context) {
    const message =
      "no SQL beside the registry: make its function with src/store/query.ts in src/store/queries";
    return {
      CallExpression(node: Call): void {
        if (node.callee.property?.name === "query") context.report({ node, message });
      },
      ObjectExpression(node: Literal): void {
        const keys = new Set(node.properties.map(({ key }) => key?.name));
        if (!keys.has("name") || !keys.has("text")) return;
        if (node.parent?.callee?.name !== "defineStatement") context.report({ node, message });
      },
    };
  },
};

const plugin = {
  meta: { name: "house" },
  rules: {
    "html-places": htmlPlaces,
    imports,
    "linear-patterns": linearPatterns,
    "no-reexport": noReexport,
    "no-current-date": noCurrentDate,
    "registered-statements": registeredStatements,
  },
};

export default plugin;
