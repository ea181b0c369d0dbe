import { curlPostText, curlText } from "../contract/written-request.ts";
import { html } from "../lib/html.ts";
import type { Html } from "../lib/html.ts";
import { codeBlock, renderDescription, tableBlock } from "./docs-markdown.ts";
import type { NavigationLink } from "./docs-page.ts";
import type { JsonSchema } from "./openapi-schemas.ts";
import type { OpenApiDocument } from "./openapi.ts";

type Example = { schema: JsonSchema; example?: unknown; examples?: Record<string, { value: unknown }> };
type Answer = { $ref?: string; description?: string; content?: Record<string, Example> };
type Parameter = {
  name: string;
  required: boolean;
  description: string;
  schema: JsonSchema & { default?: string | number | boolean; minimum?: number; maximum?: number };
  example?: string | number | boolean;
};
type Operation = {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  security: { bearerAuth: string[] }[];
  parameters?: Parameter[];
  requestBody?: { content: Record<string, Example> };
  responses: Record<string, Answer>;
};
/** The pages' script puts the service's own address in its place. */
const EXAMPLE_ADDRESS = "http://127.0.0.1:8080";

type Place = { path: string; method: string; operation: Operation };

/** The reference's contents, by tag in the order in which the contract names them. */
export function referenceNavigation(document: OpenApiDocument): NavigationLink[] {
  return placesOf(document).map(({ path, operation }) => ({
    href: `/docs/reference#${operation.operationId}`,
    text: path.replace("/api/v1", ""),
  }));
}

/** The body of the reference page: every operation with a form that sends it. */
export function renderReference(document: OpenApiDocument): Html {
  return html`<h1>Reference</h1>
<div class="lead">${renderDescription(document.info.description)}</div>
<form id="access" class="access" autocomplete="off">
<label for="token">Token for trying requests</label>
<input id="token" type="password" placeholder="rta_live_…" spellcheck="false" autocomplete="off">
<p>It stays on this page, is sent to this service only, and is forgotten when you leave. Each request counts against the daily quota.</p>
</form>
<noscript><p class="note">Trying requests needs JavaScript; everything else on this page does not.</p></noscript>
${placesOf(document).map((place) => renderOperation(place, document))}`;
}

function placesOf(document: OpenApiDocument): Place[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      path,
      method: method.toUpperCase(),
      operation: operation as unknown as Operation,
    })),
  );
}

function renderOperation({ path, method, operation }: Place, document: OpenApiDocument): Html {
  const { operationId, summary, description, parameters, responses } = operation;
  const answer = responses["200"] ?? {};
  return html`<section class="operation" id="${operationId}" aria-labelledby="${operationId}-title">
<h2 id="${operationId}-title"><a class="anchor" href="#${operationId}">${summary}</a></h2>
<p class="endpoint"><span class="method">${method}</span> <code>${path}</code></p>
<div class="columns">
<div class="words">${renderDescription(description)}${parameters && renderForm(path, operationId, parameters)}
${renderFields(answer, document)}
${renderRefusals(responses, document)}
</div>
${renderPanel({ path, method, operation }, answer)}
</div>
</section>`;
}

function renderForm(path: string, operationId: string, parameters: readonly Parameter[]): Html {
  return html`<form class="try" data-path="${path}" novalidate>
<h3>Parameters</h3>
${parameters.map((parameter) => renderParameter(operationId, parameter))}
<p class="actions"><button type="submit">Send request</button><button type="reset" class="quiet">Reset</button></p>
<p class="note missing" role="status" hidden>A request needs a token: enter yours in <a href="#token">the field at the top of this page</a>, then send it again.</p>
</form>`;
}

function renderParameter(operationId: string, parameter: Parameter): Html {
  const { name, required, description, schema } = parameter;
  const id = `${operationId}-${name}`;
  const facts = [
    typeText([schema.enum === undefined ? schema : { type: "string" }]),
    ...(required ? ["required"] : []),
    ...(schema.default === undefined ? [] : [`default ${String(schema.default)}`]),
    ...boundsOf(schema),
  ];
  return html`<div class="parameter">
<div><label for="${id}"><code>${name}</code></label> <span class="facts">${facts.join(" · ")}</span>
<p id="${id}-about">${description}</p></div>
${renderInput(id, parameter)}
</div>`;
}

function boundsOf({ minimum, maximum }: Parameter["schema"]): string[] {
  if (minimum === undefined) return [];
  return maximum === undefined || maximum === Number.MAX_SAFE_INTEGER
    ? [`at least ${minimum}`]
    : [`${minimum} to ${maximum}`];
}

function renderInput(id: string, { name, required, schema, example }: Parameter): Html {
  const choices = schema.enum ?? (schema.type === "boolean" ? [true, false] : null);
  const given = example === undefined ? "" : String(example);
  if (choices === null) {
    return html`<input id="${id}" name="${name}" aria-describedby="${id}-about"${required && html` required`} value="${given}" autocomplete="off" spellcheck="false">`;
  }
  const option = (value: string, text = value): Html =>
    html`<option value="${value}"${value === given && html` selected`}>${text}</option>`;
  const options = choices.map((choice) => option(String(choice)));
  return html`<select id="${id}" name="${name}" aria-describedby="${id}-about"${required && html` required`}>${option("", "—")}${options}</select>`;
}

/** The request as a shell would send it, and below it the answer: the example until a request was sent. */
function renderPanel(place: Place, answer: Answer): Html {
  const [media] = Object.values(answer.content ?? {});
  // A new endpoint has none until a test has written it down.
  const example = media?.example ?? null;
  const isText = typeof example === "string";
  const shown = isText ? example.replaceAll("\r\n", "\n") : JSON.stringify(example, null, 2);
  return html`<div class="panel">
<h3>Request</h3>
<div class="request">${codeBlock(requestText(place), "sh")}</div>
<h3 class="outcome" aria-live="polite">Example answer</h3>
<div class="answer">${codeBlock(shown, isText ? "csv" : "json")}</div>
</div>`;
}

function requestText({ path, method, operation }: Place): string {
  if (method === "POST") {
    const { examples } = operation.requestBody?.content["application/json"] ?? {};
    return curlPostText(EXAMPLE_ADDRESS, path, Object.values(examples ?? {})[0]?.value);
  }
  const given = (operation.parameters ?? []).flatMap(({ name, example }) =>
    example === undefined ? [] : [[name, example] as const],
  );
  return curlText(EXAMPLE_ADDRESS, path, given);
}

function renderFields(answer: Answer, document: OpenApiDocument): Html | null {
  const schema = answer.content?.["application/json"]?.schema;
  if (schema === undefined) return null;
  const fields = listFields(schema, document.components["schemas"] ?? {}).map(
    ({ name, type, description }) =>
      html`<dt><code>${name}</code> <span class="facts">${type}</span></dt><dd>${description}</dd>`,
  );
  return html`<details><summary>Fields of the answer</summary><dl class="fields">${fields}</dl></details>`;
}

function renderRefusals(responses: Readonly<Record<string, Answer>>, document: OpenApiDocument): Html {
  const rows = Object.entries(responses)
    .filter(([status]) => status !== "200")
    .map(([status, response]) => {
      const name = response.$ref?.split("/").at(-1) ?? "";
      const { description = "" } =
        (document.components["responses"]?.[name] as Answer | undefined) ?? response;
      return html`<tr><td>${status}</td><td>${renderDescription(description)}</td></tr>`;
    });
  const head = html`<tr><th>Status</th><th>When</th></tr>`;
  return html`<details><summary>Other answers</summary>${tableBlock(head, rows)}</details>`;
}

/** A field of an answer by its full name, such as `data.rows[].sku`. */
type Field = { name: string; type: string; description: string };

/** A field with the words of its type, which variants that share it add up to. */
type Found = { name: string; types: string[]; description: string };

type Schema = JsonSchema & { $ref?: string; oneOf?: Schema[]; const?: unknown; format?: string };

/** Every field of an answer's schema in reading order, references followed. */
function listFields(schema: JsonSchema, components: Readonly<Record<string, unknown>>): Field[] {
  const resolve = (given: Schema): Schema => {
    const name = given.$ref?.split("/").at(-1);
    if (name === undefined) return given;
    // What a reference says of itself is more to the point than what it refers to.
    return {
      ...(components[name] as Schema),
      ...(given.description === undefined ? {} : { description: given.description }),
    };
  };
  const visit = (given: Schema, name: string): Found[] => {
    const resolved = resolve(given);
    const variants = (resolved.oneOf ?? [resolved]).map(resolve);
    const own = { name, types: typeWords(variants), description: resolved.description ?? "" };
    const inner = mergeShared(variants.flatMap((variant) => innerFields(variant, name, visit)));
    return name === "" ? inner : [own, ...inner];
  };
  return visit(schema, "").map(({ name, types, description }) => ({
    name,
    type: types.join(" or "),
    description,
  }));
}

/** The variants of a selector share members: each is listed once, with what every variant makes of it. */
function mergeShared(fields: readonly Found[]): Found[] {
  const merged = new Map<string, Found>();
  for (const field of fields) {
    const types = [...(merged.get(field.name)?.types ?? []), ...field.types];
    merged.set(field.name, { ...field, ...merged.get(field.name), types: [...new Set(types)] });
  }
  return [...merged.values()];
}

function innerFields(
  schema: Schema,
  name: string,
  visit: (schema: Schema, name: string) => Found[],
): Found[] {
  if (schema.items !== undefined) {
    const [, ...fields] = visit(schema.items, `${name}[]`);
    return fields;
  }
  const prefix = name === "" ? "" : `${name}.`;
  return Object.entries(schema.properties ?? {}).flatMap(([member, property]) =>
    visit(property, `${prefix}${member}`),
  );
}

/** A schema's type in a few words: `integer`, `string or null`, `"month" or "year"`. */
function typeText(variants: readonly Schema[]): string {
  return typeWords(variants).join(" or ");
}

function typeWords(variants: readonly Schema[]): string[] {
  const words = variants.flatMap((schema) => {
    if (schema.const !== undefined) return [JSON.stringify(schema.const)];
    if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value));
    const types = [schema.type ?? "any"].flat();
    return types.map((type) => namedType(type, schema));
  });
  return [...new Set(words)];
}

function namedType(type: string, { format, items }: Schema): string {
  if (type === "string" && format !== undefined) return format;
  if (type === "array")
    return items?.type === undefined || items.type === "object" ? "list" : `list of ${String(items.type)}s`;
  return type;
}
