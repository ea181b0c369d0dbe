import { findRule } from "../../src/on-call/rules.ts";
import type { RuleName } from "../../src/on-call/rules.ts";
import { DASHBOARD_ROWS } from "./dashboard-panels.ts";
import type { Panel } from "./dashboard-panels.ts";

export const DASHBOARD_FILE = "deploy/grafana/returns-analytics.json";

/** Of the classic dashboard model, which every current Grafana imports; 41 came with Grafana 12. */
const SCHEMA_VERSION = 41;
const DATASOURCE = { type: "prometheus", uid: "${datasource}" };
const GRID_COLUMNS = 24;
const PANEL_HEIGHT = 8;

/** The dashboard as Grafana imports it. */
export function dashboardText(): string {
  return `${JSON.stringify(dashboard(), null, 2)}\n`;
}

function dashboard(): object {
  return {
    uid: "returns-analytics",
    title: "Returns Analytics",
    description:
      "Traffic, database, syncs and deliveries. docs/on-call.md explains the alerts, whose limits are the red lines.",
    tags: ["returns-analytics"],
    schemaVersion: SCHEMA_VERSION,
    editable: true,
    graphTooltip: 1,
    refresh: "1m",
    time: { from: "now-6h", to: "now" },
    timezone: "browser",
    templating: { list: [datasourceVariable(), labelVariable("job"), labelVariable("instance")] },
    annotations: { list: [] },
    links: [],
    panels: layOut(),
  };
}

function datasourceVariable(): object {
  return {
    type: "datasource",
    name: "datasource",
    label: "Data source",
    query: "prometheus",
    refresh: 1,
    hide: 0,
  };
}

function labelVariable(label: "job" | "instance"): object {
  const query =
    label === "job" ? "label_values(returns_info, job)" : 'label_values(returns_info{job=~"$job"}, instance)';
  return {
    type: "query",
    name: label,
    label: label === "job" ? "Job" : "Instance",
    datasource: DATASOURCE,
    definition: query,
    query: { query, refId: "StandardVariableQuery" },
    refresh: 2,
    sort: 1,
    includeAll: true,
    multi: true,
    allValue: ".+",
    current: { text: ["All"], value: ["$__all"] },
    hide: 0,
  };
}

/** Rows one below the other, their panels side by side in equal widths. */
function layOut(): object[] {
  let id = 0;
  let y = 0;
  return DASHBOARD_ROWS.flatMap(({ title, panels }) => {
    const header = {
      id: (id += 1),
      type: "row",
      title,
      collapsed: false,
      gridPos: { x: 0, y, w: GRID_COLUMNS, h: 1 },
      panels: [],
    };
    y += 1;
    const w = GRID_COLUMNS / panels.length;
    const placed = panels.map((panel, index) => ({
      id: (id += 1),
      ...panelOf(panel),
      gridPos: { x: index * w, y, w, h: PANEL_HEIGHT },
    }));
    y += PANEL_HEIGHT;
    return [header, ...placed];
  });
}

function panelOf({ title, description, unit, rule, isStacked = false, queries }: Panel): object {
  return {
    type: "timeseries",
    title,
    description,
    datasource: DATASOURCE,
    fieldConfig: {
      defaults: {
        unit,
        min: 0,
        color: { mode: "palette-classic" },
        custom: {
          lineWidth: 1,
          fillOpacity: isStacked ? 30 : 0,
          showPoints: "never",
          stacking: { mode: isStacked ? "normal" : "none", group: "A" },
          thresholdsStyle: { mode: rule === undefined ? "off" : "line" },
        },
        thresholds: { mode: "absolute", steps: stepsOf(rule) },
      },
      overrides: [],
    },
    options: {
      legend: { displayMode: "list", placement: "bottom", showLegend: true, calcs: [] },
      tooltip: { mode: "multi", sort: "desc" },
    },
    targets: queries.map(([expr, legendFormat], index) => ({
      refId: String.fromCodePoint(65 + index),
      datasource: DATASOURCE,
      editorMode: "code",
      range: true,
      expr,
      legendFormat,
    })),
  };
}

function stepsOf(rule: RuleName | undefined): object[] {
  const base = { color: "green", value: null };
  return rule === undefined ? [base] : [base, { color: "red", value: findRule(rule).limit }];
}
