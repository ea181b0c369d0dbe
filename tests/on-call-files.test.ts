import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createMetrics } from "../src/operations/metrics.ts";
import { openDatabase } from "../src/store/database.ts";
import { groupOf, ROLES } from "../src/store/role-rights.ts";
import { findPromtool, runPromtool } from "./support/promtool.ts";
import { RULES, RULES_TEXT } from "./support/scrape.ts";

const read = (path: string): string => readFileSync(join(import.meta.dirname, "..", path), "utf8");
const guide = read("docs/on-call.md");
const dashboard = read("deploy/grafana/returns-analytics.json");
const monitor = read("docs/operating/monitor.md");

/** Every metric of a process, by name with its type; histograms by the names of their series, too. */
let metrics: ReadonlyMap<string, string>;
const database = openDatabase({
  url: "postgres://nobody@127.0.0.1:1/nothing",
  maxConnections: 1,
  readOnly: true,
  statementTimeoutMs: 1000,
  applicationName: "returns-test",
  onConnectionError: () => {},
});
before(async () => {
  const { body } = await createMetrics(database).render();
  metrics = new Map(
    [...body.matchAll(/^# TYPE (\S+) (\w+)$/gmu)].flatMap(([, name = "", type = ""]) =>
      type === "histogram"
        ? ["", "_bucket", "_count", "_sum"].map((end) => [name + end, type] as const)
        : [[name, type] as const],
    ),
  );
});
after(() => database.close());

test("each alert has a row of the guide with its severity and duration, and links to its section by a URL", () => {
  for (const { alert, for: duration, labels, annotations } of RULES) {
    const anchor = alert.toLowerCase();
    assert.match(annotations.runbook_url, new RegExp(`^file:///\\S+/docs/on-call.md#${anchor}$`, "u"));
    assert.match(
      guide,
      new RegExp(
        `^\\| \\[${alert}\\]\\(#${anchor}\\) \\| ${labels.severity} \\| .+ \\| ${duration} \\|`,
        "mu",
      ),
    );
  }
});

test("the guide searches the log for messages of the service", () => {
  const source = globSync("src/**/*.ts", { cwd: join(import.meta.dirname, "..") })
    .filter((path) => !path.endsWith(".test.ts"))
    .map(read)
    .join("\n");
  const searched = [
    ...guide.matchAll(/grep '(?:"msg":")?([a-z ]+)"?'/gu),
    ...guide.matchAll(/Search the log for `([a-z ]+)` and `([a-z ]+)`/gu),
  ].flatMap(([, ...messages]) => messages);
  assert.equal(searched.length, 4);
  for (const message of searched) assert.ok(source.includes(message), message);
});

test(
  "Prometheus accepts the rules",
  { skip: findPromtool() === undefined && "There is no promtool on this machine." },
  () => {
    const output = runPromtool(["check", "rules", "rules.yml"], { "rules.yml": RULES_TEXT });
    assert.match(output, new RegExp(`SUCCESS: ${RULES.length} rules found`, "u"));
  },
);

test("every rule has a section of the guide, in the order of the table, and there is no other section", () => {
  const sections = [...guide.matchAll(/^### (.+)$/gmu)].map(([, name]) => name);
  assert.deepEqual(
    sections,
    RULES.map(({ alert }) => alert),
  );
});

test("rules and dashboard query metrics that a process has", () => {
  const own = /\b(?:returns|http_server|nodejs|process)_\w+/gu;
  const asked = new Set(
    [...RULES.map(({ expr }) => expr), dashboard].flatMap((text) => text.match(own) ?? []),
  );
  assert.ok(asked.size > 25);
  assert.deepEqual(
    [...asked].filter((name) => !metrics.has(name)),
    [],
  );
});

test("monitor.md lists every metric of the service, and no other", () => {
  const own = [...metrics.keys()].filter(
    (name) => name.startsWith("returns_") && !/_(?:bucket|count|sum)$/u.test(name),
  );
  const roles = new Set<string>(ROLES.map(groupOf));
  const listed = (monitor.match(/(?<=`)returns_\w+/gu) ?? []).filter((name) => !roles.has(name));
  assert.deepEqual([...new Set(listed)].toSorted(), own.toSorted());
  const named = new Set(guide.match(/(?<=`)returns_\w+/gu));
  assert.deepEqual(
    [...named].filter((name) => !metrics.has(name)),
    [],
  );
});

type Panel = {
  id: number;
  type: string;
  title: string;
  gridPos: { x: number; y: number; w: number; h: number };
  datasource?: { uid: string };
  fieldConfig?: { defaults: { unit?: string } };
  targets?: { expr: string; refId: string; datasource: { uid: string } }[];
};

test("Grafana can import the dashboard: panels with ids, positions, units and a selectable data source", () => {
  const { uid, schemaVersion, templating, panels } = JSON.parse(dashboard) as {
    uid: string;
    schemaVersion: number;
    templating: { list: { name: string; type: string }[] };
    panels: Panel[];
  };
  assert.ok(uid.length <= 40 && schemaVersion >= 39);
  assert.deepEqual(
    templating.list.map(({ name, type }) => [name, type]),
    [
      ["datasource", "datasource"],
      ["job", "query"],
      ["instance", "query"],
    ],
  );
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  const drawn = panels.filter(({ type }) => type !== "row");
  assert.ok(drawn.length >= 20);
  for (const { title, gridPos, datasource, fieldConfig, targets = [] } of drawn) {
    assert.ok(Object.values(gridPos).every(Number.isInteger) && gridPos.x + gridPos.w <= 24, title);
    assert.match(fieldConfig?.defaults.unit ?? "", /^(?:s|reqps|percentunit|bytes|short)$/u, title);
    assert.equal(new Set(targets.map(({ refId }) => refId)).size, targets.length, title);
    for (const source of [datasource, ...targets.map((target) => target.datasource)])
      assert.equal(source?.uid, "${datasource}", title);
  }
  const places = panels.map(({ gridPos }) => `${gridPos.x} ${gridPos.y}`);
  assert.equal(new Set(places).size, panels.length, "no panel covers another");
});

test(
  "the dashboard's queries are PromQL",
  { skip: findPromtool() === undefined && "There is no promtool on this machine." },
  () => {
    const { panels } = JSON.parse(dashboard) as { panels: Panel[] };
    const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    const rules = queries.map((expr, index) => ({
      record: `dashboard:query:${index}`,
      expr: expr.replaceAll("$__rate_interval", "5m").replaceAll(/\$\w+/gu, ".+"),
    }));
    const groups = [{ name: "dashboard", rules }];
    const output = runPromtool(["check", "rules", "rules.yml"], { "rules.yml": JSON.stringify({ groups }) });
    assert.match(output, new RegExp(`SUCCESS: ${rules.length} rules found`, "u"));
  },
);
