import assert from "node:assert/strict";
import { test } from "node:test";
import { alerts } from "../../contract/alerts.ts";
import { exportReport } from "../../contract/export-report.ts";
import { report } from "../../contract/report.ts";
import { renderHtml } from "../../lib/html.ts";
import { apiBox } from "./api-box.ts";

const MONTHS = { start_month: "2026-01", end_month: "2026-05" };

test("the box lists each request with its path, its scope and its cost, and hostile text stays text", () => {
  const sku = `"><script>'$(x)`;
  const markup = renderHtml(
    apiBox(
      [
        { name: "report", endpoint: report, parameters: { ...MONTHS, sku } },
        { name: "newest", endpoint: alerts, parameters: { limit: "5" } },
      ],
      "https://returns.example",
    ),
  );
  assert.match(
    markup,
    /data-request="report" data-path="\/api\/v1\/report\?sku=%22%3E%3Cscript%3E%27%24%28x%29&amp;/u,
  );
  assert.match(markup, /data-request="newest" data-path="\/api\/v1\/alerts\?limit=5"/u);
  assert.match(markup, /scope <code>read:reports<\/code>\./u);
  assert.match(markup, /Together these take 2 requests of the daily quota/u);
  assert.doesNotMatch(markup, /<script|style=|onclick/u);
  const forms = [...markup.matchAll(/data-form="(\w+)"/gu)].map(([, form]) => form);
  assert.deepEqual(forms, ["curl", "mcp", "query", "client", "curl", "mcp", "query", "client"]);
});

test("a file has no tool call, and names the plan that it needs", () => {
  const request = { name: "file", endpoint: exportReport, parameters: MONTHS };
  const markup = renderHtml(apiBox([request], "https://returns.example"));
  assert.match(markup, /scope <code>read:exports<\/code>, and a plan with <code>data_export<\/code>\./u);
  assert.match(markup, /AI agents have no tool for this request/u);
  assert.match(markup, /It takes 1 request of the daily quota/u);
  assert.doesNotMatch(markup, /data-form="mcp"/u);
});

test("a page without requests has no box", () =>
  assert.equal(renderHtml(apiBox([], "https://returns.example")), ""));
