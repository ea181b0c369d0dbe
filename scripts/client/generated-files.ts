import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { camelCase, isPaged, listParameters, pascalCase } from "../../src/contract/endpoint.ts";
import type { Endpoint } from "../../src/contract/endpoint.ts";
import { entitySelector } from "../../src/contract/entities.ts";
import { ERROR_STATUS } from "../../src/contract/errors.ts";
import {
  cohortEcho,
  freshness,
  leaderboardProduct,
  meta,
  monthCoverage,
  selectorEcho,
} from "../../src/contract/meta.ts";
import {
  monthParameters,
  reportStateParameters,
  selectorParameters,
  windowParameters,
} from "../../src/contract/parameters.ts";
import { ENDPOINTS } from "../../src/contract/registry.ts";
import { listedSaleEvent } from "../../src/contract/sale-event.ts";
import { projectRoot } from "../lint/tool.ts";
import { createTypeWriter, docText } from "./type-text.ts";
import type { Schema, SharedMembers, TypeWriter } from "./type-text.ts";

const HEADER = "// Made from the contract by scripts/client-types.ts; not edited by hand.\n\n";

/** The client's files that follow from the contract, formatted, by their path from the project's root. */
export function generatedFiles(): Map<string, string> {
  const files: [name: string, text: string][] = [
    ["parameters.ts", parametersText()],
    ["answers.ts", answersText()],
    ["methods.ts", methodsText()],
    ["endpoints.ts", endpointsText()],
  ];
  return new Map(
    files.map(([name, text]) => {
      const path = `src/client/generated/${name}`;
      return [path, formatted(path, HEADER + text)];
    }),
  );
}

function parametersText(): string {
  const writer = createTypeWriter({
    shared: [
      shared(
        "SelectorParameters",
        selectorParameters,
        "One selector at most: sku, or product_gid (or an alias), or product_group_type with product_group_key.\n" +
          "None = the whole workspace.",
      ),
      shared("MonthParameters", monthParameters, "The range of order months, both ends included.", true),
      shared("WindowParameters", windowParameters, "Which returns and which months count."),
      shared("SaleEventParameters", reportStateParameters, "A sale event to look at."),
    ],
    named: [],
    allowsUndefined: true,
    prefixOf: (name) => name,
  });
  for (const endpoint of ENDPOINTS) {
    writer.declareObject(
      parametersName(endpoint),
      endpoint.parameters as Schema,
      `Parameters of ${endpoint.path}.`,
    );
  }
  return writer.text();
}

function answersText(): string {
  const writer = createTypeWriter({
    shared: [
      shared("ApiMeta", meta({}).properties, "What every answer says about itself.", true),
      shared("CohortEcho", cohortEcho, "The request over order months, as applied.", true),
      shared("MonthCoverage", monthCoverage, "How much of the range of order months is counted.", true),
      shared("LeaderboardProduct", leaderboardProduct, "The product of a SKU; both ids are the same.", true),
    ],
    named: [
      { name: "Freshness", schema: nonNull(freshness) },
      { name: "SelectorEcho", schema: selectorEcho },
      { name: "EntitySelector", schema: entitySelector },
      { name: "SaleEvent", schema: listedSaleEvent },
    ],
    allowsUndefined: false,
    // The data of an answer and its meta are no level of their own in the names below them.
    prefixOf: (name) => name.replace(/(?:Data|Meta)$/u, "") || name,
  });
  for (const endpoint of jsonEndpoints()) {
    const name = pascalCase(endpoint.name);
    const { data, meta: metaSchema } = bodyOf(endpoint);
    if (data.type === "array") writer.typeText(name, data);
    else writer.declareObject(`${name}Data`, data, `What ${endpoint.path} answers.`);
    writer.declareObject(`${name}Meta`, metaSchema);
  }
  return `// oxlint-disable max-lines\n\n${writer.text()}`;
}

function methodsText(): string {
  const answers = new Set<string>();
  const methods = ENDPOINTS.map((endpoint) => methodText(endpoint, answers));
  return (
    `import type { CsvExport } from "../csv-export.ts";\n` +
    `import type { RequestOptions, Result } from "../result.ts";\n` +
    `import type { ${[...answers].toSorted().join(", ")} } from "./answers.ts";\n` +
    `import type { ${ENDPOINTS.map(parametersName).toSorted().join(", ")} } from "./parameters.ts";\n\n` +
    docText("One method for every endpoint, and an iterator for every endpoint that has pages.") +
    `export interface EndpointMethods {\n${methods.join("\n")}}\n`
  );
}

function methodText(endpoint: Endpoint, answers: Set<string>): string {
  const method = camelCase(endpoint.name);
  const isRequired = listParameters(endpoint.parameters).some((parameter) => parameter.isRequired);
  const given = `(parameters${isRequired ? "" : "?"}: ${parametersName(endpoint)}, options?: RequestOptions)`;
  const needs = [...endpoint.entitlements].filter((name) => name !== "api_access");
  const entitled = needs.length === 0 ? "" : ` and the entitlement \`${needs.join("`, `")}\``;
  const doc = docText(
    `${endpoint.summary}. ${endpoint.description}\n` +
      `GET ${endpoint.path}; needs the scope \`${endpoint.scope}\`${entitled}.`,
  );
  if (endpoint.response === null) return `${doc}${method}: ${given} => Promise<CsvExport>;\n`;
  const name = pascalCase(endpoint.name);
  const { data } = bodyOf(endpoint);
  const writer = rowNames();
  const dataType = data.type === "array" ? writer.typeText(name, data) : `${name}Data`;
  for (const type of [dataType.replace("[]", ""), `${name}Meta`]) answers.add(type);
  const text = `${doc}${method}: ${given} => Promise<Result<${dataType}, ${name}Meta>>;\n`;
  if (!isPaged(endpoint)) return text;
  const iteratorDoc = docText(`Every row of \`${method}\`, page after page; each page is one request.`);
  const row = dataType.replace("[]", "");
  return `${text}\n${iteratorDoc}iterate${pascalCase(method)}: ${given} => AsyncGenerator<${row}, void, undefined>;\n`;
}

/** The runtime knows of an endpoint only this: schemas stay out of a caller's bundle. */
function endpointsText(): string {
  const entries = ENDPOINTS.map((endpoint) => {
    const facts = {
      path: endpoint.path,
      format: endpoint.response === null ? "csv" : "json",
      isPaged: isPaged(endpoint),
      parameters: Object.keys(endpoint.parameters.properties),
    };
    return `${camelCase(endpoint.name)}: ${JSON.stringify(facts)},`;
  });
  return (
    `export const ENDPOINTS = {${entries.join("\n")}} as const;\n\n` +
    `/** The closed list of error codes, with the HTTP status of each. */\n` +
    `export const ERROR_STATUS = ${JSON.stringify(ERROR_STATUS)} as const;\n\n` +
    `export type ErrorCode = keyof typeof ERROR_STATUS;\n`
  );
}

function jsonEndpoints(): Endpoint[] {
  return ENDPOINTS.filter((endpoint) => endpoint.response !== null);
}

function bodyOf(endpoint: Endpoint): { data: Schema; meta: Schema } {
  return (endpoint.response as Schema).properties as { data: Schema; meta: Schema };
}

function parametersName(endpoint: Endpoint): string {
  return `${pascalCase(endpoint.name)}Parameters`;
}

function nonNull(schema: Schema): Schema {
  return schema.anyOf?.find((variant) => variant.type !== "null") ?? schema;
}

function rowNames(): TypeWriter {
  return createTypeWriter({ shared: [], named: [], allowsUndefined: false, prefixOf: (name) => name });
}

/** Optional members are those that TypeBox would leave out of `required`. */
function shared(
  name: string,
  properties: Record<string, unknown>,
  description: string,
  areRequired = false,
): SharedMembers {
  const schema = { properties: properties as Record<string, Schema>, description };
  return { name, schema: areRequired ? { ...schema, required: Object.keys(properties) } : schema };
}

function formatted(path: string, text: string): string {
  const tool = join(projectRoot, "node_modules/oxfmt/bin/oxfmt");
  const { status, stdout, stderr } = spawnSync(process.execPath, [tool, `--stdin-filepath=${path}`], {
    cwd: projectRoot,
    input: text,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`${path} is not formatted: ${stderr}`);
  return stdout;
}
