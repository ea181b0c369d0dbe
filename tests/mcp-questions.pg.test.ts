import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { INSTRUCTIONS } from "../src/contract/tools.ts";
import { makeDemo } from "../src/demo/demo-workspace.ts";
import type { Demo } from "../src/demo/demo-workspace.ts";
import { post, toolCall, toolText } from "./support/mcp.ts";
import { startTestService } from "./support/service.ts";
import { before, use } from "./support/use.ts";

// A merchant's questions, answered through tools alone: each call uses only the instructions and the answers before it.
// The demo store is generated for this day.
const NOW = new Date("2026-08-20T06:00:00Z");

const service = use(startTestService);
let demo: Demo;
const folder = mkdtempSync(join(tmpdir(), "returns-questions-"));

before(async () => {
  const { keys } = service;
  const { database } = service.installation;
  demo = await makeDemo({
    database,
    dataFolder: folder,
    tokenFile: join(folder, "token"),
    keys,
    keepFolder: null,
    now: NOW,
    today: NOW.toISOString().slice(0, 10),
    onProgress: () => {},
  });
});
after(async () => {
  rmSync(folder, { recursive: true, force: true });
});

type Ask = (tool: string, values: Record<string, unknown>) => Promise<unknown>;

/** The member of an answer at a path. */
function at(answer: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce((value, step) => (value as Record<string | number, unknown>)[step], answer);
}

const listAt = (answer: unknown, ...path: readonly string[]): unknown[] => at(answer, ...path) as unknown[];
const textAt = (answer: unknown, ...path: readonly (string | number)[]): string =>
  String(at(answer, ...path));

const YEAR = { start_month: "2025-08", end_month: "2026-07" };

type Question = {
  question: string;
  /** Asks and returns the sentence that the merchant gets. */
  answer: (ask: Ask) => Promise<string>;
  expected: RegExp;
};

const QUESTIONS: readonly Question[] = [
  {
    question: "Which product has a bad batch, and why?",
    answer: async (ask) => {
      const board = await ask("get_return_rate_leaderboard", { period: "month", limit: 3 });
      const [sku, rate] = ["sku", "return_rate"].map((name) => textAt(board, "data", "rows", 0, name));
      const month = textAt(board, "meta", "start_month");
      const months = { start_month: month, end_month: textAt(board, "meta", "end_month") };
      const report = await ask("get_report", { sku, ...months, reportSection: "reasons" });
      const [label, share] = ["label", "share"].map((name) =>
        textAt(report, "data", "return_reasons", 0, name),
      );
      return `${sku}: ${rate} in ${month}, ${label} ${share}`;
    },
    expected: /^LMP\d+-\w+: 0\.\d+ in 2026-06, Defective 0\.[6-9]/u,
  },
  {
    question: "What do returns cost per month?",
    answer: async (ask) => {
      const report = await ask("get_report", { ...YEAR, reportSection: "trend" });
      const costs = listAt(report, "data", "trend").map(
        (row) => `${textAt(row, "cohort_month")} ${textAt(row, "returns_cost")}`,
      );
      return `${textAt(report, "data", "currency_code")}: ${costs.join(", ")}`;
    },
    expected: /^GBP: (?:\d{4}-\d{2}-01 [\d.]+(?:, )?){11}$/u,
  },
  {
    question: "Which vendor is worst?",
    answer: async (ask) => {
      const report = await ask("get_report", {
        ...YEAR,
        reportSection: "breakdown",
        breakdownBy: "vendor",
      });
      const [first] = listAt(report, "data", "breakdown", "rows");
      return `${textAt(first, "label")}: ${textAt(first, "returns_cost")}, ${textAt(first, "return_rate")}`;
    },
    expected: /^\S.*: [\d.]+, 0\.\d+$/u,
  },
  {
    question: "Did Black Friday bring more returns?",
    answer: async (ask) => {
      const months = { start_month: "2025-11", end_month: "2025-11", reportSection: "refunds" };
      const events = listAt(await ask("get_report", months), "data", "sale_events");
      const event = events.find((row) => textAt(row, "label") === "Black Friday 2025");
      const report = await ask("get_report", { ...months, saleEvent: textAt(event, "slug") });
      const sale = at(report, "data", "sale_event");
      const rates = ["event", "baseline_period"].map((name) => textAt(sale, name, "return_rate"));
      return `${textAt(sale, "label")}: ${rates.join(" after ")}, ${textAt(sale, "return_rate_change")}`;
    },
    expected: /^Black Friday 2025: 0\.\d+ after 0\.\d+, 0\.\d+$/u,
  },
  {
    question: "Is July final?",
    answer: async (ask) => {
      const july = { start_month: "2026-07", end_month: "2026-07", include_incomplete: true };
      const [row] = listAt(await ask("get_timeseries", july), "data", "rows");
      return `${textAt(row, "cohort_month")}: ${textAt(row, "is_complete")}`;
    },
    expected: /^2026-07-01: false$/u,
  },
  {
    question: "Can I export this?",
    answer: async () => /[^.\n]*export[^\n]*/u.exec(INSTRUCTIONS)?.[0] ?? "",
    expected: /GET \/api\/v1\/export\/report\.csv.*read:exports.*data_export/u,
  },
  {
    question: "Which of two groups comes back more?",
    answer: async (ask) => {
      const groups = await ask("list_entities", { type: "product_group", limit: 10 });
      const rates: string[] = [];
      for (const group of listAt(groups, "data").slice(0, 2)) {
        const summary = await ask("get_summary", { ...YEAR, ...(at(group, "selector") as object) });
        rates.push(`${textAt(group, "label")} ${textAt(summary, "data", "return_rate")}`);
      }
      return rates.join(", ");
    },
    expected: /^\S.* 0\.\d+, \S.* 0\.\d+$/u,
  },
  {
    question: "What changed since last week?",
    answer: async (ask) => {
      const alerts = await ask("list_alerts", { since: "2026-08-13T00:00:00Z" });
      return listAt(alerts, "data")
        .map((alert) => textAt(alert, "category"))
        .join(", ");
    },
    expected: /return_rate_watchlist/u,
  },
  {
    question: "Is anything going wrong with returns right now?",
    answer: async (ask) => {
      const alerts = await ask("list_alerts", { category: "return_rate_watchlist", limit: 5 });
      return listAt(alerts, "data")
        .map((alert) => textAt(alert, "body"))
        .join(" ");
    },
    expected:
      /already come back(?:, from \d+ orders)?; at the usual rate, [\d.,]+ would have .* reason given most often is .* To see why, request the report with/u,
  },
  {
    question: "Do used ones come back more often?",
    answer: async (ask) => {
      const found = await ask("list_entities", { q: "waxed field jacket", limit: 1 });
      const selection = { ...YEAR, ...(at(found, "data", 0, "selector") as object) };
      const fresh = await ask("get_summary", selection);
      const all = await ask("get_summary", { ...selection, include_used_variants: true });
      const usedUnits = (name: string): number =>
        Number(at(all, "data", name)) - Number(at(fresh, "data", name));
      const usedRate = usedUnits("returned_units") / usedUnits("sold_units");
      return `new ${textAt(fresh, "data", "return_rate")}, used ${usedRate.toFixed(3)} of ${usedUnits("sold_units")}`;
    },
    expected: /^new 0\.\d+, used 0\.\d+ of [1-9]\d*$/u,
  },
];

/** Calls and bytes of text that the guide says for each question. */
const GUIDE = readFileSync(join(import.meta.dirname, "../docs/mcp.md"), "utf8");

for (const { question, answer, expected } of QUESTIONS) {
  test(question, async (t) => {
    const tools: string[] = [];
    let bytes = 0;
    const answered = await answer(async (tool, values) => {
      const { text, isError } = toolText(
        await post(service.address, toolCall(tool, values), { token: demo.token.token }),
      );
      assert.equal(isError, false, text);
      tools.push(tool);
      bytes += Buffer.byteLength(text);
      return JSON.parse(text) as unknown;
    });
    const calls = tools.map((tool) => `\`${tool}\``).join(", ") || "none";
    t.diagnostic(`| ${question} | ${calls} | ${tools.length} | ${bytes.toLocaleString("en")} |`);
    t.diagnostic(answered);
    assert.match(answered, expected);
    const row = GUIDE.split("\n").find((line) => line.startsWith(`| ${question} |`)) ?? "";
    const [, , named, count, most] = row.split("|").map((cell) => cell.trim());
    assert.deepEqual([named, count], [calls, String(tools.length)], "docs/mcp.md says so");
    const mostBytes = Number(most?.replaceAll(",", ""));
    assert.ok(bytes <= mostBytes * 1.25, `${bytes} bytes, and docs/mcp.md says ${most}`);
  });
}
