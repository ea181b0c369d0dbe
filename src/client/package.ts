import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { VERSION } from "../lib/version.ts";
import { ENDPOINTS, ERROR_STATUS } from "./endpoints.ts";
import { contractTypes } from "./written-out.ts";

/** Files of this folder that the package has without their types. */
const SOURCES = ["answer", "client", "errors", "retry", "command"];

/**
 * The client as the file that npm installs, without dependencies, made of this folder and the contract: the same bytes each
 * time. `address`: where its command finds the service; null = on this machine.
 */
export function clientPackage(address: string | null): Buffer {
  const files: Record<string, string> = {
    "package.json": JSON.stringify(MANIFEST, null, 2),
    "lib/endpoints.js":
      `export const ENDPOINTS = ${JSON.stringify(ENDPOINTS, null, 2)};\n` +
      `export const ERROR_STATUS = ${JSON.stringify(ERROR_STATUS)};\n`,
    "lib/index.js": 'export * from "./client.js";\nexport * from "./errors.js";\n',
    "lib/index.d.ts": [source("result.ts"), errorTypes(), CLIENT_TYPES, contractTypes()].join("\n"),
    "README.md": readFileSync(join(PROJECT, "docs/client.md"), "utf8"),
    LICENSE: readFileSync(join(PROJECT, "LICENSE"), "utf8"),
  };
  for (const name of SOURCES) {
    const text = stripTypeScriptTypes(source(`${name}.ts`));
    files[`lib/${name}.js`] = text.replaceAll(/(from "\.\/[a-z-]+)\.ts"/gu, '$1.js"');
  }
  const command = files["lib/command.js"] ?? "";
  const placed = address === null ? command : command.replace("http://127.0.0.1:8080", () => address);
  files["lib/command.js"] = `#!/usr/bin/env node\n${placed}`;
  return gzipSync(Buffer.concat([...Object.entries(files).map(archived), Buffer.alloc(1024)]));
}

const PROJECT = join(import.meta.dirname, "../..");

const MANIFEST = {
  name: "returns-analytics-client",
  version: VERSION,
  description: "Typed client of the Returns Analytics API, for Node.js and browsers, without dependencies.",
  license: "MIT",
  type: "module",
  engines: { node: ">=20" },
  sideEffects: ["./lib/command.js"],
  types: "./lib/index.d.ts",
  exports: { ".": { types: "./lib/index.d.ts", default: "./lib/index.js" } },
  bin: { "returns-query": "lib/command.js" },
};

/** Types of the files that hold code; a test compares them with those files. */
function errorTypes(): string {
  return (
    source("errors.ts")
      .replaceAll(/^import .*\n/gmu, "")
      .replaceAll("export class", "export declare class")
      // oxlint-disable-next-line house/linear-patterns -- sees a file of this folder alone
      .replaceAll(/\) \{\n {4}super[^}]*(?:\}[^}]*)?\n {2}\}/gu, ");")
  );
}

const CLIENT_TYPES = `/** A client of the token's workspace. */
export type ReturnsClient = EndpointMethods;
/** Makes a client; no request is sent yet. Throws \`TypeError\` for options that cannot be right. */
export declare function createClient(options: ClientOptions): ReturnsClient;
/** The answers of a method that has pages, one request each, as in \`iteratePages(client.entities, { limit: 100 })\`. */
export declare function iteratePages<Parameters, Data, Meta extends { next_cursor: string | null }>(
  method: (parameters: Parameters & { cursor?: string | undefined }, options?: RequestOptions) => Promise<Result<Data, Meta>>,
  parameters: Parameters & { cursor?: string | undefined },
  options?: RequestOptions,
): AsyncGenerator<Result<Data, Meta>, void, undefined>;
`;

function source(name: string): string {
  return readFileSync(join(import.meta.dirname, name), "utf8");
}

/** One file of a tar archive (POSIX ustar), in the folder that npm expects. */
function archived([name, text]: [string, string]): Buffer {
  const body = Buffer.from(text);
  const octal = (value: number, width: number): string => `${value.toString(8).padStart(width, "0")}\u0000`;
  const mode = octal(name.endsWith("command.js") ? 0o755 : 0o644, 7);
  const owner = octal(0, 7).repeat(2);
  const before =
    `package/${name}`.padEnd(100, "\u0000") + mode + owner + octal(body.length, 11) + octal(0, 11);
  const after = `0${"\u0000".repeat(100)}ustar\u000000`;
  const sum = Buffer.from(`${before}        ${after}`).reduce((total, byte) => total + byte, 0);
  const head = Buffer.from(`${before}${octal(sum, 6)} ${after}`.padEnd(512, "\u0000"));
  return Buffer.concat([head, body, Buffer.alloc((512 - (body.length % 512)) % 512)]);
}
