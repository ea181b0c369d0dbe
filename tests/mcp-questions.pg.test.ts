import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { INSTRUCTIONS } from "../src/contract/tools.ts";
import { writeDemoStore } from "../src/demo/demo-store.ts";
import { dayOf, dayText, monthsFrom } from "./oracle/calendar.ts";
import { ledgerOf, type LedgerLine } from "./oracle/ledger.ts";
import { liabilityRule, type RefundedLine } from "./oracle/liability.ts";
import { monthOutlooks, togetherOf } from "./oracle/outlook.ts";
import { USUAL_SETTINGS, type StoreFiles } from "./oracle/store.ts";
import { DEMO_DAY, startConsoleDemo } from "./support/console-demo.ts";
import { readImportFolder } from "./support/import-counting.ts";
import { post, toolCall, toolText } from "./support/mcp.ts";
import { before, use } from "./support/use.ts";
import { makeFolder } from "./support/folder.ts";

// A merchant's questions, answered by tools alone: each call uses only the instructions and earlier answers.
const NOW = new Date(`${DEMO_DAY}T06:00:00Z`);

const shown = use(startConsoleDemo);
/** The lines of the demo store with their returns, from its import files, by the second implementation of METRICS.md. */
let sold: LedgerLine[];
let dressGids: ReadonlySet<string>;

before(async () => {
  const folder = makeFolder();
  await writeDemoStore({ folder, today: DEMO_DAY });
  const read = await readImportFolder(folder);
  const files = Object.fromEntries(
    ROWS.map((name) => [name, read[name].map(typedRow)]),
  ) as unknown as Required<StoreFiles>;
  const settings = { ...USUAL_SETTINGS, currency_code: "GBP", primary_window_days: WINDOW_DAYS };
  const { lines } = ledgerOf({ settings, as_of: NOW.toISOString(), files });
  sold = lines.filter((line) => line.sold > 0);
  const dresses = files.products.filter((product) => product.analytics_category === "Apparel > Dresses");
  dressGids = new Set(dresses.map((product) => `gid://import/Product/${product.product_id}`));
});

type Ask = (tool: string, values: Record<string, unknown>) => Promise<unknown>;

/** The member of an answer at a path. */
function at(answer: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce((value, step) => (value as Record<string | number, unknown>)[step], answer);
}

const listAt = (answer: unknown, ...path: readonly string[]): unknown[] => at(answer, ...path) as unknown[];
const textAt = (answer: unknown, ...path: readonly (string | number)[]): string =>
  String(at(answer, ...path));

const ROWS = ["products", "variants", "order_lines", "returns", "refunds"] as const;
const NUMBERS = new Set(["units", "removed_units", "processed_units"]);

/** Empty cells are left out. */
function typedRow(row: Record<string, string>): Record<string, string | number | boolean> {
  const typed = Object.entries(row).flatMap(([name, cell]) => {
    if (cell === "") return [];
    const flag = cell === "true" || cell === "false" ? cell === "true" : cell;
    return [[name, NUMBERS.has(name) ? Number(cell) : flag] as const];
  });
  return Object.fromEntries(typed);
}

const WINDOW_DAYS = 30;

const unitsOf = (lines: readonly LedgerLine[]): number => lines.reduce((sum, line) => sum + line.sold, 0);
const backOf = (lines: readonly LedgerLine[]): LedgerLine["returned"] =>
  lines.flatMap(({ returned }) => returned.filter(({ lagDays }) => lagDays <= WINDOW_DAYS));
const rateText = (back: number, units: number): string => String(Number((back / units).toFixed(6)));
const soldIn = (start: string, end: string): LedgerLine[] =>
  sold.filter(({ month }) => month >= start && month <= end);

const YEAR = { start_month: "2025-11", end_month: "2026-10" };

type Question = {
  question: string;
  /** Asks and returns the sentence that the merchant gets. */
  answer: (ask: Ask) => Promise<string>;
  expected: RegExp;
  /** The same sentence from the rows of the import files. */
  recomputed?: () => string;
};

const BATCH_MONTHS = { start_month: "2026-07", end_month: "2026-10" };
const QUARTERS = [
  { start_month: "2026-04", end_month: "2026-06" },
  { start_month: "2026-07", end_month: "2026-09" },
] as const;
const OPEN_MONTHS = { start_month: "2026-09", end_month: "2026-11" };

/** The rates before and after the batch. */
function sayBatch(weeks: readonly { start: string; units: number; back: number }[], from: string): string {
  const rates = [weeks.filter(({ start }) => start < from), weeks.filter(({ start }) => start >= from)].map(
    (part) =>
      rateText(
        part.reduce((sum, { back }) => sum + back, 0),
        part.reduce((sum, { units }) => sum + units, 0),
      ),
  );
  return `${rates[0]} before ${from}, ${rates[1]} since`;
}

/** The reason with the largest growth of its share of sold units from the first period to the second. */
function sayGrowth(
  quarters: readonly { units: number; unitsByReason: ReadonlyMap<string, number> }[],
): string {
  const [earlier, later] = quarters.map(({ units, unitsByReason }) => {
    return (reason: string): number => (unitsByReason.get(reason) ?? 0) / units;
  });
  const grown = (reason: string): number => (later?.(reason) ?? NaN) - (earlier?.(reason) ?? NaN);
  const reasons = [...(quarters[1]?.unitsByReason.keys() ?? [])];
  const [most = ""] = reasons.toSorted((one, other) => grown(other) - grown(one));
  return `${most}: from ${earlier?.(most).toFixed(6)} to ${later?.(most).toFixed(6)} of the units sold`;
}

/** To ten pounds: outlooks may differ by a hundredth of a unit. */
const sayLiability = (amount: number, low: number, high: number): string =>
  [amount, low, high].map((value) => `${(value / 1000).toFixed(2)}k`).join(", ");

/** M21 of the open months together, by the second implementation of METRICS.md. */
function recomputeLiability(): string {
  const asOfDay = dayOf(NOW.toISOString());
  const lines = sold.flatMap((line): RefundedLine[] => {
    const back = line.returned
      .map(({ lagDays }) => ({ lag: lagDays, units: 1 }))
      .toSorted((one, other) => one.lag - other.lag);
    return [{ day: line.orderedDay, units: line.sold, back, refund: null }];
  });
  const paid = sold.flatMap(({ orderedDay: day, refunds }) =>
    refunds.map(({ lagDays: lag, minor }): RefundedLine => ({
      day,
      units: 0,
      back: [],
      refund: { lag, minor },
    })),
  );
  const months = monthsFrom("2026-10", "2026-11");
  const question = { asOfDay, windowDays: WINDOW_DAYS, own: lines, category: [], store: lines };
  const outlooks = monthOutlooks({ ...question, primaryDays: WINDOW_DAYS }, months);
  const money = [...lines, ...paid];
  const rule = liabilityRule({ ...question, own: money, store: money });
  const { minor = NaN, low = NaN, high = NaN } = rule?.(togetherOf([...(outlooks?.values() ?? [])])) ?? {};
  return sayLiability(minor / 100, low / 100, high / 100);
}

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
    expected: /^LMP\d+-\w+: 0\.\d+ in 2026-09, Defective 0\.[6-9]/u,
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
    question: "Is October final?",
    answer: async (ask) => {
      const october = { start_month: "2026-10", end_month: "2026-10", include_incomplete: true };
      const [row] = listAt(await ask("get_timeseries", october), "data", "rows");
      return `${textAt(row, "cohort_month")}: ${textAt(row, "is_complete")}`;
    },
    expected: /^2026-10-01: false$/u,
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
      const alerts = await ask("list_alerts", { since: "2026-11-14T00:00:00Z" });
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
  {
    question: "Which size of dresses comes back most?",
    answer: async (ask) => {
      const found = await ask("list_entities", { q: "dresses", type: "product_group", limit: 1 });
      const report = await ask("get_report", {
        ...YEAR,
        ...(at(found, "data", 0, "selector") as object),
        reportSection: "breakdown",
        breakdownBy: "option:Size",
      });
      const all = listAt(report, "data", "breakdown", "rows");
      // The store's 20 best-selling sizes leave out some with higher rates.
      const rest = all.find((row) => textAt(row, "key") === "other");
      assert.equal(rest === undefined ? 0 : at(rest, "sold_units"), 0);
      const rows = all.filter((row) => row !== rest && textAt(row, "key") !== "");
      const [most] = rows.toSorted(
        (one, other) => Number(at(other, "return_rate")) - Number(at(one, "return_rate")),
      );
      return `${textAt(most, "label")}: ${textAt(most, "return_rate")} of ${textAt(most, "sold_units")}`;
    },
    expected: /^\w+: 0\.\d+ of \d{2,}$/u,
    recomputed: () => {
      const sizeOf = (line: LedgerLine): string =>
        line.options.find(([name]) => name.toLowerCase() === "size")?.[1] ?? "";
      // The newest month of the year is still open.
      const dresses = soldIn("2025-11", "2026-09").filter(({ productGid }) =>
        dressGids.has(productGid ?? ""),
      );
      const sizes = [...Map.groupBy(dresses, sizeOf)]
        .filter(([size]) => size !== "")
        .map(([size, lines]) => ({ size, units: unitsOf(lines), back: backOf(lines).length }));
      const [most] = sizes.toSorted((one, other) => other.back / other.units - one.back / one.units);
      return `${most?.size}: ${rateText(most?.back ?? NaN, most?.units ?? NaN)} of ${most?.units}`;
    },
  },
  {
    question: "Did the new supplier's batch improve?",
    answer: async (ask) => {
      const { sku } = shown.demo.store.badBatch;
      const answer = await ask("get_timeseries", { ...BATCH_MONTHS, sku, interval: "week" });
      const weeks = listAt(answer, "data", "rows").map((row) => ({
        start: textAt(row, "period_start"),
        units: Number(at(row, "sold_units")),
        back: Number(at(row, "returned_units")),
      }));
      return `${sku}: ${sayBatch(weeks, "2026-09-01")}`;
    },
    expected: /^LMP\d+-\w+: 0\.[01]\d* before 2026-09-01, 0\.[5-9]\d* since$/u,
    recomputed: () => {
      const { sku } = shown.demo.store.badBatch;
      const weeks: { start: string; units: number; back: number; last: number }[] = [];
      for (let day = dayOf("2026-07-01"); day <= dayOf("2026-10-31"); day += 1) {
        const isMonday = new Date(dayText(day)).getUTCDay() === 1;
        if (isMonday || dayText(day).endsWith("-01"))
          weeks.push({ start: dayText(day), units: 0, back: 0, last: 0 });
        const lines = sold.filter((line) => line.sku === sku && line.orderedDay === day);
        const week = weeks.at(-1) as (typeof weeks)[number];
        week.units += unitsOf(lines);
        week.back += backOf(lines).length;
        week.last = day;
      }
      const complete = weeks.filter(({ last }) => last + WINDOW_DAYS < dayOf(NOW.toISOString()));
      return `${sku}: ${sayBatch(complete, "2026-09-01")}`;
    },
  },
  {
    question: "How much refund is still to come?",
    answer: async (ask) => {
      const report = await ask("get_report", { ...OPEN_MONTHS, reportSection: "liability" });
      const [amount = NaN, low = NaN, high = NaN] = ["refund_amount", "low_amount", "high_amount"].map(
        (name) => Number(at(report, "data", "liability", name)),
      );
      return sayLiability(amount, low, high);
    },
    expected: /^\d+\.\d\dk, \d+\.\d\dk, \d+\.\d\dk$/u,
    recomputed: recomputeLiability,
  },
  {
    question: "Which reason grew most this quarter?",
    answer: async (ask) => {
      const quarters = [];
      for (const months of QUARTERS) {
        const report = await ask("get_report", { ...months, reportSection: "reasons" });
        quarters.push({
          units: Number(at(report, "data", "summary", "sold_units")),
          unitsByReason: new Map(
            listAt(report, "data", "return_reasons").map((row) => [
              textAt(row, "reason"),
              Number(at(row, "returned_units")),
            ]),
          ),
        });
      }
      return sayGrowth(quarters);
    },
    expected: /^\w+: from 0\.\d+ to 0\.\d+ of the units sold$/u,
    recomputed: () =>
      sayGrowth(
        QUARTERS.map(({ start_month: start, end_month: end }) => {
          const lines = soldIn(start, end);
          const reasons = Map.groupBy(backOf(lines), ({ reason }) => reason.reason);
          const unitsByReason = new Map([...reasons].map(([reason, units]) => [reason, units.length]));
          return { units: unitsOf(lines), unitsByReason };
        }),
      ),
  },
];

/** Calls and bytes of text that the guide states for each question. */
const GUIDE = readFileSync(join(import.meta.dirname, "../docs/mcp.md"), "utf8");

for (const { question, answer, expected, recomputed } of QUESTIONS) {
  test(question, async (t) => {
    const tools: string[] = [];
    let bytes = 0;
    const answered = await answer(async (tool, values) => {
      const { text, isError } = toolText(
        await post(shown.service.address, toolCall(tool, values), { token: shown.demo.token.token }),
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
    if (recomputed !== undefined) assert.equal(answered, recomputed());
    const row = GUIDE.split("\n").find((line) => line.startsWith(`| ${question} |`)) ?? "";
    const [, , named, count, most] = row.split("|").map((cell) => cell.trim());
    assert.deepEqual([named, count], [calls, String(tools.length)], "docs/mcp.md says so");
    const mostBytes = Number(most?.replaceAll(",", ""));
    assert.ok(bytes <= mostBytes * 1.25, `${bytes} bytes, and docs/mcp.md says ${most}`);
  });
}
