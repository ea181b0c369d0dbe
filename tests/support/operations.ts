import pino from "pino";
import { createAdmitMember, type AdmitMember, type MemberAdmission } from "../../src/access/admit-member.ts";
import type { Operation } from "../../src/access/operation.ts";
import { createWorkspaceNodes } from "../../src/access/workspace-nodes.ts";
import { readConfig } from "../../src/config.ts";
import type { Endpoint } from "../../src/contract/endpoint.ts";
import { REST_WORDS } from "../../src/contract/errors.ts";
import { parseQueryString } from "../../src/http/query-string.ts";
import { openServingDatabases } from "../../src/installation.ts";
import { createMetrics } from "../../src/operations/metrics.ts";
import { createGuard, createOperations } from "../../src/app.ts";
import { serviceEnvironment, type TestService } from "./service.ts";

export type TestOperations = {
  admitMember: AdmitMember;
  operationOf(endpoint: Endpoint): Operation;
  /** A member's answer to a query string, as text. Throws `ApiError`. */
  read(admission: MemberAdmission, endpoint: Endpoint, query: string): Promise<string>;
  stop(): Promise<void>;
};

/** The operations on a service's database, assembled as the service does, with the given options. */
export async function openOperations(
  service: TestService,
  options: Record<string, string> = {},
): Promise<TestOperations> {
  const config = readConfig({ ...serviceEnvironment(service.databaseUrl), ...options });
  const { installation } = service;
  const databases = await openServingDatabases(config, installation, pino({ enabled: false }));
  const nodeOfWorkspace = databases.nodes === null ? null : createWorkspaceNodes(databases.admission);
  const guard = createGuard(
    config,
    service.keys,
    { ...databases, nodeOfWorkspace },
    {
      metrics: createMetrics(databases.reading),
      countUsage: () => {},
    },
  );
  const operations = createOperations(config, guard, service.keys, databases.exporting);
  const operationOf = (endpoint: Endpoint): Operation => {
    const operation = operations.find((one) => one.endpoint === endpoint);
    if (operation === undefined) throw new Error(`no operation of ${endpoint.name}`);
    return operation;
  };
  return {
    admitMember: createAdmitMember({ database: databases.console }),
    operationOf,
    read: async (admission, endpoint, query) => {
      const parameters = () => parseQueryString(`?${query}`);
      const answer = await operationOf(endpoint).read(admission, { words: REST_WORDS, parameters });
      if (answer.kind === "json") return answer.text;
      let text = "";
      for await (const piece of answer.content) text += piece;
      return text;
    },
    stop: () => databases.close(),
  };
}
