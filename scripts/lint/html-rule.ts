import { hasUnquotedAttribute, holdsAttributes, placesOf } from "../../src/lib/html-places.ts";
import type { Place } from "../../src/lib/html-places.ts";

/** The parts of a syntax tree that the rule reads. */
type Node = { type: string };
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
type Context = { report(problem: Problem): void };

/** Holds templates of the tag `html` to places in which escaping suffices. */
export const htmlPlaces = {
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
