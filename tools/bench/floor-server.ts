/**
 * The reference ("floor"): the service's own HTTP server with operations that answer fixed bytes and check nothing.
 * node floor-server.ts serve <file>: JSON, a text of an answer for each endpoint by name.
 */
import { readFileSync } from "node:fs";
import type { Operation } from "../../src/access/operation.ts";
import { createServiceLogger } from "../../src/cli/service-logger.ts";
import type { Endpoint } from "../../src/contract/endpoint.ts";
import { ENDPOINTS } from "../../src/contract/registry.ts";
import { createHttpMetrics } from "../../src/http/metrics.ts";
import { createServer } from "../../src/http/server.ts";

const texts = JSON.parse(readFileSync(process.argv[3] ?? "", "utf8")) as Record<string, string>;
const server = createServer({
  operations: (ENDPOINTS as readonly Endpoint[]).map((endpoint): Operation => {
    const answer = { kind: "json", text: texts[endpoint.name] ?? "{}" } as const;
    const ask = () => Promise.resolve(answer);
    return { endpoint, perform: ask, read: ask };
  }),
  routeGroups: [],
  logger: createServiceLogger("info"),
  metrics: createHttpMetrics(),
  notFoundPage: null,
  registerOperationsRoutes: null,
});
const address = await server.listen({ host: "127.0.0.1", port: 0 });
console.log(JSON.stringify({ address }));
process.once("SIGTERM", () => void server.close());
