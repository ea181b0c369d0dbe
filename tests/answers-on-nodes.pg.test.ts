import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { text as textOf } from "node:stream/consumers";
import { isDeepStrictEqual } from "node:util";
import { createAdmit } from "../src/access/admit.ts";
import { createSnapshots } from "../src/access/operation.ts";
import { notReady } from "../src/access/admit-member.ts";
import { createWorkspaceNodes } from "../src/access/workspace-nodes.ts";
import { REST_WORDS } from "../src/contract/errors.ts";
import { ENDPOINTS } from "../src/contract/registry.ts";
import { parseQueryString } from "../src/http/query-string.ts";
import type { Endpoint } from "../src/contract/endpoint.ts";
import type { DatabasePool, Queryable } from "../src/store/database.ts";
import type { Workspace } from "../src/store/workspace.ts";
import { isCitus } from "./support/citus.ts";
import { asRole, openConnections } from "./support/database.ts";
import { openOperations } from "./support/operations.ts";
import { leastParameters, parametersOf } from "./support/requests.ts";
import { startServerProcess } from "./support/server-process.ts";
import { startTestService } from "./support/service.ts";
import { service } from "./support/shared-service.ts";
import { createSmallStore } from "./support/small-store.ts";
import type { Tenant } from "./support/tenants.ts";
import { eventually } from "./support/worker.ts";

/** On Citus, uncached answers come directly from the workspace's node, and equal those of the coordinator. */

const READING = { maxConnections: 4, readOnly: true, ofOneWorkspace: true, hasCitus: isCitus() };
const SUMMARY = "/api/v1/summary?start_month=2025-01&end_month=2026-06";

let tenant: Tenant;
let reading: DatabasePool;
let admitted: Workspace;

before(async () => {
  tenant = await createSmallStore(service.database);
  reading = openConnections(asRole(service.databaseUrl, "reader"), READING);
  const admit = createAdmit({
    database: service.installation.database,
    pepper: service.keys.tokenPepper,
    nodeOfWorkspace: isCitus() ? createWorkspaceNodes(service.installation.database) : null,
  });
  const need = { scope: null, entitlements: [], counted: false };
  admitted = (await admit(`Bearer ${tenant.token}`, need)).workspace;
});
after(() => reading.close());

/** A node that answers as the database does, with the workspace's row changed by `change`. */
function nodeWith(change: (row: object | undefined) => object | undefined): Pick<DatabasePool, "snapshot"> {
  const rows =
    (connection: Queryable): Queryable["rows"] =>
    async (statement, values) => {
      const found = await connection.rows<never>(statement, values);
      if (statement.name !== "load_workspace") return found;
      return [change(found[0])].filter((row) => row !== undefined) as never[];
    };
  return {
    snapshot: (shopKey, work) => reading.snapshot(shopKey, (connection) => work({ rows: rows(connection) })),
  };
}

/** Who answers: a node's connection is not the database's own. */
async function answerOf(
  node: Pick<DatabasePool, "snapshot">,
  work: () => unknown = () => "answer",
): Promise<{ opened: string[]; answer: unknown }> {
  const opened: string[] = [];
  const watched = (name: string, database: Pick<DatabasePool, "snapshot">): typeof database => ({
    snapshot: (...asked) => {
      opened.push(name);
      return database.snapshot(...asked);
    },
  });
  const openSnapshot = createSnapshots(watched("coordinator", reading), () =>
    Promise.resolve(watched("node", node)),
  );
  const answer = await openSnapshot(admitted, async () => work()).catch((error: unknown) => error);
  return { opened, answer };
}

const failing = (code: string): Pick<DatabasePool, "snapshot"> => ({
  snapshot: () => Promise.reject(Object.assign(new Error("refused"), { code })),
});

test("a node with the data version that admission saw answers; otherwise the coordinator does", async () => {
  const same = await answerOf(nodeWith((row) => row));
  assert.deepEqual(same, { opened: ["node"], answer: "answer" });
  const behind = [
    nodeWith((row) => ({ ...row, data_version: admitted.dataVersion - 1 })),
    nodeWith((row) => ({ ...row, primary_window_days: 999 })),
    nodeWith((row) => ({ ...row, readiness: "empty" })),
    nodeWith(() => undefined),
    failing("42P01"),
    failing("57P01"),
  ];
  for (const node of behind) {
    assert.deepEqual(await answerOf(node), { opened: ["node", "coordinator"], answer: "answer" });
  }
});

test("after a refusal or a timeout the coordinator is not asked", async () => {
  const refusal = notReady("empty", null);
  const refused = await answerOf(
    nodeWith((row) => row),
    () => {
      throw refusal;
    },
  );
  assert.deepEqual(refused, { opened: ["node"], answer: refusal });
  const { opened } = await answerOf(failing("57014"));
  assert.deepEqual(opened, ["node"]);
});

/** Imitates a Citus of one node in this database: its catalogue, and shards that are copies of the tables. Only the copies keep the figures. */
const PRETEND_CITUS = `
  create schema shards;
  do $$ declare name text; begin
    for name in select c.relname from pg_class c where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace loop
      execute format('create table shards.%1$I as table public.%1$I', name);
    end loop;
  end $$;
  create function create_distributed_table(t regclass, c text) returns void return null;
  create function shard_name(t regclass, shard bigint) returns text
    return (select 'shards.' || relname from pg_class where oid = t);
  create function get_shard_id_for_distribution_column(t regclass, k bigint) returns bigint return 7;
  create table pg_dist_partition as
    select c.oid::regclass as logicalrelid, case when c.relname = 'plan' then 't' else 's' end as repmodel
      from pg_class c where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace;
  create table pg_dist_shard as
    select logicalrelid, case when logicalrelid = 'daily_usage'::regclass then 7 else logicalrelid::oid::bigint end as shardid, case when repmodel = 's' then '0' end as shardminvalue from pg_dist_partition;
  create table pg_dist_placement as select 7::bigint as shardid, 1 as groupid;
  create table pg_dist_local_group as select 1 as groupid;
  create table pg_dist_node as select 1 as groupid, host(inet_server_addr()) as nodename, inet_server_port() as nodeport,
    'primary' as noderole, true as isactive, true as hasmetadata, true as metadatasynced;
  grant usage on schema shards to public;
  grant select on all tables in schema shards to public;
  grant select on pg_dist_partition, pg_dist_shard, pg_dist_placement, pg_dist_local_group, pg_dist_node to public;
  truncate cohort, sku_quarter, sku_year, group_day, entity, sku, variant, product, alert, order_line, return_event,
    return_request, return_label, sale_event cascade`;

const SELECTORS = [
  { sku: "JACKET-M", include_used_variants: "true" },
  { product_gid: "gid://shopify/Product/1" },
  { product_group_type: "family", product_group_key: "Outerwear" },
  { vendor: "Nordwind" },
  { q: "jacket" },
  { saleEvent: "summer" },
];

type Question = { endpoint: Endpoint; params: Record<string, string> };

/** Every endpoint, with each selector and filter; a table is read over connections of its own. */
const QUESTIONS: readonly Question[] = ENDPOINTS.filter(({ name }) => name !== "export-table").flatMap(
  (endpoint) => {
    const names = new Set(parametersOf(endpoint).map(([name]) => name));
    const selectors = SELECTORS.filter((params) => Object.keys(params).every((name) => names.has(name)));
    return [{}, ...selectors].map((params) => ({
      endpoint,
      params: { ...leastParameters(endpoint), ...params },
    }));
  },
);

test(
  "a node reads the tables of the workspace's shard while it has the shard",
  { skip: isCitus() && "a Citus has shards of its own, which the next test moves" },
  async () => {
    const own = await startTestService();
    const { token } = await createSmallStore(own.database);
    const expected: unknown[] = [];
    for (const { endpoint, params } of QUESTIONS) {
      const { text } = await own.call(endpoint.path, { token, params });
      expected.push(dataOf(text));
    }
    await own.database.query(PRETEND_CITUS);
    const operations = await openOperations(own, { ANSWER_MEMORY_MB: "0" });
    const ask = async ({ endpoint, params }: Question): Promise<unknown> => {
      const request = { words: REST_WORDS, authorization: `Bearer ${token}` };
      const parameters = () => parseQueryString(`?${new URLSearchParams(params).toString()}`);
      const answer = await operations.operationOf(endpoint).perform({ ...request, parameters }, () => {});
      return dataOf(
        answer.kind === "json" ? answer.text : await textOf(answer.content as AsyncIterable<string>),
      );
    };
    const [summary] = QUESTIONS.filter(({ endpoint }) => endpoint.name === "summary") as [Question];
    const figures = expected[QUESTIONS.indexOf(summary)];
    try {
      await eventually(async () => isDeepStrictEqual(await ask(summary), figures), "the node answers");
      for (const [index, question] of QUESTIONS.entries()) {
        assert.deepEqual(await ask(question), expected[index], JSON.stringify(question.params));
      }
      const withoutFigures = async (away: string, back: string): Promise<void> => {
        await own.database.query(away);
        assert.notDeepEqual(await ask(summary), figures, away);
        await own.database.query(back);
        assert.deepEqual(await ask(summary), figures, back);
      };
      await withoutFigures(
        "update pg_dist_placement set groupid = 2",
        "update pg_dist_placement set groupid = 1",
      );
      await withoutFigures(
        "alter table shards.cohort rename to gone",
        "alter table shards.gone rename to cohort",
      );
    } finally {
      await operations.stop();
      await own.stop();
    }
  },
);

/** Of an answer: `data`, or a file's text. */
function dataOf(answer: string): unknown {
  return answer.startsWith("{") ? (JSON.parse(answer) as { data: unknown }).data : answer;
}

test(
  "while a workspace's shards move, every uncached answer is the same",
  { skip: !isCitus() && "needs a Citus: RETURNS_TEST_CITUS=1 (CONTRIBUTING.md)" },
  async (context) => {
    const environment = { ANSWER_MEMORY_MB: "0", REQUESTS_PER_SHOP: "4" };
    const server = await startServerProcess(context, service.databaseUrl, environment);
    const { database } = service;
    const ask = async (): Promise<unknown> => {
      const headers = { authorization: `Bearer ${tenant.token}` };
      const answer = await fetch(`${server.address}${SUMMARY}`, { headers });
      return { status: answer.status, data: ((await answer.json()) as { data: unknown }).data };
    };
    const { rows: nodes } = await database.query<{ host: string; port: number }>(
      `select n.nodename as host, n.nodeport as port from pg_dist_node n
        where n.shouldhaveshards order by n.groupid = (select p.groupid from pg_dist_placement p
          where p.shardid = get_shard_id_for_distribution_column('workspace', $1::bigint)), n.groupid`,
      [tenant.shopKey],
    );
    const [other, own] = [nodes[0], nodes.at(-1)];
    const move = (from = own, to = other): Promise<unknown> =>
      database.query(
        `select citus_move_shard_placement(get_shard_id_for_distribution_column('workspace', $1::bigint),
                                           $2, $3, $4, $5)`,
        [tenant.shopKey, from?.host, from?.port, to?.host, to?.port],
      );
    const expected = await ask();
    assert.equal((expected as { status: number }).status, 200);
    const url = new URL(service.databaseUrl);
    Object.assign(url, { host: `${own?.host}:${own?.port}` });
    const node = openConnections(url.href);
    const text =
      "select from pg_stat_activity where application_name = 'returns-reading' and datname = current_database()";
    await eventually(async () => {
      assert.deepEqual(await ask(), expected);
      return (await node.rows({ name: "readers", text }, [])).length > 0;
    }, "answers come from the node");
    await node.close();
    const moving = { isOver: false };
    const answers: unknown[] = [];
    const asking = Array.from({ length: 3 }, async () => {
      while (!moving.isOver) answers.push(await ask());
    });
    try {
      await move();
      await move(other, own);
    } finally {
      moving.isOver = true;
      await Promise.all(asking);
    }
    assert.ok(answers.length > 10, String(answers.length));
    for (const answer of answers) assert.deepEqual(answer, expected);
  },
);
