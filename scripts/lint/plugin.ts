import { relative, sep } from "node:path";
import { hasUnquotedAttribute, holdsAttributes, placesOf } from "../../src/lib/html-places.ts";
import type { Place } from "../../src/lib/html-places.ts";
import { importProblem, packageProblem, placeProblem, suffixProblem } from "./import-table.ts";
import type { ImportTable } from "./import-table.ts";

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

/** Checks `src/` against the import table, whatever form an import has. */
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

/** A pure function receives the time as an argument. */
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

/** Requests only run statements of the registry; tests check that each is limited to one workspace. */
const registeredStatements = {
  create(context: Context) {
    const message =
      "no SQL beside the registry: make its function with src/store/query.ts in src/store/queries or src/actions/<noun>/queries.ts";
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

type Template = Node & {
  tag: Node & { name?: string };
  quasi: { quasis: { value: { cooked: string } }[]; expressions: Node[] };
};
type Choice = Node & {
  operator?: string;
  right?: Node;
  consequent?: Node;
  alternate?: Node;
  value?: unknown;
};
type Problem = { node: Node; message: string };

/** Allows values in templates of the tag `html` only where escaping suffices. */
const htmlPlaces = {
  create(context: Context) {
    return {
      TaggedTemplateExpression(node: Template): void {
        if (node.tag.name !== "html") return;
        const parts = partsOf(node);
        if (hasUnquotedAttribute(parts)) {
          context.report({ node, message: "write the value of an attribute in double quotes" });
          return;
        }
        const places = placesOf(parts);
        const problems = node.quasi.expressions.flatMap((value, index) => problemOf(places[index], value));
        const end = holdsAttributes(parts) ? "attributes" : "text";
        if (problems.length === 0 && places.at(-1) !== end) {
          problems.push({ node, message: "close each tag and comment in the template that opens it" });
        }
        for (const problem of problems) context.report(problem);
      },
    };
  },
};

function problemOf(place: Place | undefined, node: Node): Problem[] {
  if (place === "nowhere") {
    return [{ node, message: "no value here: only in text and in an attribute in double quotes" }];
  }
  if (place === "attributes" && !isAttributes(node)) {
    return [{ node, message: 'no value here but attributes, such as ${isNew && html` class="new"`}' }];
  }
  return [];
}

/** A template of attributes, or a choice of templates and nothing. */
function isAttributes(value: Choice): boolean {
  if (value.type === "TaggedTemplateExpression") {
    const template = value as Node as Template;
    return template.tag.name === "html" && holdsAttributes(partsOf(template));
  }
  if (value.type === "LogicalExpression") {
    return value.operator === "&&" && value.right !== undefined && isAttributes(value.right);
  }
  if (value.type === "ConditionalExpression") {
    return [value.consequent, value.alternate].every(
      (branch) => branch !== undefined && isAttributes(branch),
    );
  }
  return value.type === "Literal" && (value.value === null || value.value === false || value.value === "");
}

function partsOf({ quasi }: Template): string[] {
  return quasi.quasis.map(({ value }) => value.cooked);
}

type Text = Node & { value?: unknown; regex?: { pattern: string; flags: string } };

/** Patterns of schemas are strings. */
const IS_SCHEMA_PATTERN = /^\^./u;

/**
 * Runs each pattern on long repeated texts made of its own parts, and refuses one whose time grows faster than the text's
 * length: a caller's text could otherwise block the service.
 */
const linearPatterns = {
  create(context: Context) {
    const check = (node: Node, pattern: string, flags: string): void => {
      const attack = findAttack(pattern, flags);
      if (attack === null) return;
      const [before, part, after] = [attack.before, attack.part, attack.after].map((text) =>
        JSON.stringify(text),
      );
      context.report({
        node,
        message: `takes more than linear time for ${before} + ${part}.repeat(n) + ${after}`,
      });
    };
    return {
      Literal(node: Text): void {
        const { regex, value } = node;
        if (regex) check(node, regex.pattern, regex.flags);
        else if (typeof value === "string" && IS_SCHEMA_PATTERN.test(value)) check(node, value, "u");
      },
      TemplateLiteral(node: Template["quasi"] & Node): void {
        const pattern = node.quasis.map(({ value }) => value.cooked).join("a");
        if (IS_SCHEMA_PATTERN.test(pattern)) check(node, pattern, "u");
      },
    };
  },
};

/** A text in which `part` is repeated. */
type Attack = { before: string; part: string; after: string };

/** Short texts reveal exponential time before a test would take forever. */
const SHORT = [8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 56, 64, 96];
const LENGTHS = [...SHORT, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768];
/** Each time is compared with the one this many lengths before: for long texts, of an eighth of the length. */
const STEPS_BACK = 3;
/** How many times faster than the length the time may grow: quadratic time grows eight times as fast. */
const MOST_GROWTH = 3;
/** Shorter times are only compared for the longest text: bounded repetitions grow as fast up to their bound. */
const LONG_MS = 100;
/** Times below this are never compared. */
const SHORTEST_MS = 2;

const TRIES = [1, 2, 3, 4, 5, 6];

/** A text for which a pattern takes more than linear time; null = none was found. */
function findAttack(pattern: string, flags: string): Attack | null {
  const regex = new RegExp(pattern, flags);
  const timeOf = (text: string): number => {
    const start = performance.now();
    if (regex.global) text.replaceAll(regex, "");
    else regex.test(text);
    return performance.now() - start;
  };
  // A pause of the process, or code that is not compiled yet, only makes a text slower.
  const fastestOf = (text: string): number => Math.min(...TRIES.map(() => timeOf(text)));
  for (const attack of attacksOn(pattern, flags)) {
    for (const [index, length] of LENGTHS.entries()) {
      const text = textOf(attack, length);
      const leastMs = index === LENGTHS.length - 1 ? SHORTEST_MS : LONG_MS;
      if (timeOf(text) <= leastMs) continue;
      const shorter = LENGTHS[index - STEPS_BACK] ?? length;
      const [milliseconds, shorterMs] = [fastestOf(text), fastestOf(textOf(attack, shorter))];
      if (milliseconds > leastMs && milliseconds / shorterMs > (length / shorter) * MOST_GROWTH)
        return attack;
    }
  }
  return null;
}

/** As one flat string: otherwise even a pattern that reads only the first character would take the time of joining its pieces. */
function textOf({ before, part, after }: Attack, length: number): string {
  const repeated = before + part.repeat(Math.ceil(length / part.length)) + after;
  return Buffer.from(repeated, "utf16le").toString("utf16le");
}

/** A character, a word or a group of a pattern: texts that it matches, and the sequences inside a group. */
type Term = { samples: string[]; choices: Term[][] };

/** Terms are repeated in runs up to this long, and to the end of their sequence. */
const LONGEST_PIECE = 4;
/** A character that classes are unlikely to contain, and one that `.` does not match. */
const MISMATCHES = ["\0", "\n"];

/** Pieces of the pattern, repeated with and without what precedes them, before a mismatch. */
function attacksOn(pattern: string, flags: string): Iterable<Attack> {
  const attacks = new Map<string, Attack>();
  const visit = (sequence: readonly Term[], lead: string): void => {
    for (const [index, term] of sequence.entries()) {
      const before = lead + sampleOf(sequence.slice(0, index));
      for (let end = index + 1; end <= sequence.length; end += 1) {
        if (end - index > LONGEST_PIECE && end < sequence.length) continue;
        for (const part of variationsOf(sequence.slice(index, end))) add(before, part);
      }
      for (const choice of term.choices) visit(choice, before);
    }
  };
  const add = (lead: string, part: string): void => {
    if (part === "") return;
    for (const before of new Set([lead, ""])) {
      for (const after of MISMATCHES) {
        const attack = { before, part, after };
        attacks.set(JSON.stringify(attack), attack);
      }
    }
  };
  for (const choice of readPattern(pattern, flags)) visit(choice, "");
  return attacks.values();
}

const sampleOf = (terms: readonly Term[]): string => terms.map(({ samples }) => samples[0] ?? "").join("");

/** The text of some terms, and those with another sample for one of them. */
function variationsOf(terms: readonly Term[]): string[] {
  return terms.flatMap(({ samples }, index) =>
    samples.map((sample) => sampleOf(terms.slice(0, index)) + sample + sampleOf(terms.slice(index + 1))),
  );
}

const TOKEN =
  /\((?:\?(?:[:=!]|<[=!]|<\w+>|[a-z-]+:))?|\[(?:[^\]\\]|\\.)*\]|\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|k<\w+>|c[A-Za-z]|\d+|.)|[*+?]\??|\{\d+(?:,\d*)?\}\??|./gsu;
const QUANTIFIER = /^(?:[*+?]|\{\d)/u;
const OTHER_CHARACTERS = "a0A _-./:;,=\"'<\\\n\u00e9";
const MOST_SAMPLES = 6;

/** The alternatives of a pattern, each a sequence of terms. It has been compiled before and so is well-formed. */
function readPattern(pattern: string, flags: string): Term[][] {
  const tokens = pattern.match(TOKEN) ?? [];
  const characters = new Set((pattern + OTHER_CHARACTERS).split(""));
  const samplesOf = (token: string): string[] => {
    if (/^(?:[\^$]|\\[bBk\d].*)$/su.test(token)) return [""];
    const one = new RegExp(`^(?:${token})$`, flags.replaceAll(/[gym]/gu, ""));
    const samples = [...characters].filter((character) => one.test(character)).slice(0, MOST_SAMPLES);
    for (let code = 0; samples.length === 0 && code < 0xffff; code += 1) {
      if (one.test(String.fromCharCode(code))) samples.push(String.fromCharCode(code));
    }
    return samples;
  };
  let at = 0;
  const readChoices = (): Term[][] => {
    const choices: Term[][] = [[]];
    for (; at < tokens.length && tokens[at] !== ")"; at += 1) {
      const token = tokens[at] as string;
      const least = /^\{(\d+)/u.exec(token)?.[1];
      const sequence = choices.at(-1) as Term[];
      const last = sequence.at(-1);
      if (token === "|") choices.push([]);
      else if (least !== undefined && last !== undefined)
        last.samples = last.samples.map((sample) => sample.repeat(Math.max(Number(least), 1)));
      else if (token.startsWith("(")) {
        at += 1;
        const inner = readChoices();
        sequence.push({ samples: inner.flatMap((choice) => variationsOf(choice)), choices: inner });
      } else if (!QUANTIFIER.test(token)) {
        const samples = samplesOf(token);
        const isRepeated = [tokens[at - 1], tokens[at + 1]].some((next) => QUANTIFIER.test(next ?? ""));
        const isOfWord = samples.length === 1 && last?.samples.length === 1 && last.choices.length === 0;
        if (isOfWord && !isRepeated) last.samples = [last.samples.concat(samples).join("")];
        else sequence.push({ samples, choices: [] });
      }
    }
    return choices;
  };
  return readChoices();
}

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
