import assert from "node:assert/strict";
import { test } from "node:test";
import { REPORT_SECTIONS } from "../contract/parameters.ts";
import type { Queryable } from "../store/database.ts";
import { makeReportStore } from "../../tests/support/random-report-store.ts";
import { countDaysSold, dayAfter } from "../../tests/support/report-oracle.ts";
import { report } from "./report.ts";
import {
  AS_OF,
  WINDOW_DAYS,
  oracleRequest,
  reportInput,
  startReportService,
} from "../../tests/support/report-service.ts";
import { reportWorkspace } from "../../tests/support/report-store.ts";
import type { StoreLine } from "../../tests/support/report-store.ts";
import { use } from "../../tests/support/use.ts";

const store = makeReportStore(7);
const WINDOWS = ["primary", "30d", "90d", "lifetime"] as const;

const service = use(() => startReportService(store));
const ask = (parameters: Record<string, unknown>) => service.ask(parameters);

test("M15: a sale event and each baseline are what a loop over the days' lines counts", async () => {
  const periods = {
    matched_prior: [dayAfter("2024-11-20", -16), "2024-11-19"],
    prior_year: ["2023-11-20", "2023-12-05"],
    selected_non_sale: null,
  };
  const months = { startMonth: "2024-03", endMonth: "2025-06" };
  const isSale = (day: string) => store.saleEvents.some((row) => row.starts_on <= day && day <= row.ends_on);
  for (const baseline of ["matched_prior", "prior_year", "selected_non_sale"] as const) {
    for (const scope of ["current_selection", "event_scope"] as const) {
      for (const window of WINDOWS) {
        const { data } = await ask({
          sku: "SHOE-2",
          window,
          saleEvent: "socks",
          saleEventBaseline: baseline,
          saleEventScope: scope,
        });
        const event = data.sale_event ?? assert.fail();
        const period = periods[baseline];
        const request = oracleRequest({
          selects: (line) => line.sku === (scope === "event_scope" ? "SOCK" : "SHOE-2"),
          windowDays: WINDOW_DAYS[window],
        });
        const sold = countDaysSold(store, request, (day) => "2024-11-20" <= day && day <= "2024-12-05");
        const soldBefore = countDaysSold(store, request, (day) =>
          period === null
            ? day >= `${months.startMonth}-01` && day <= `${months.endMonth}-30` && !isSale(day)
            : (period[0] ?? "") <= day && day <= (period[1] ?? ""),
        );
        assert.deepEqual(
          [event.event.sold_units, event.event.returned_units],
          [sold.soldUnits, sold.returnedUnits],
        );
        assert.deepEqual(
          [event.baseline_period.sold_units, event.baseline_period.returned_units],
          [soldBefore.soldUnits, soldBefore.returnedUnits],
        );
        assert.deepEqual(
          [event.baseline_period.starts_on, event.baseline_period.ends_on],
          period ?? [null, null],
        );
        if (baseline !== "selected_non_sale") assert.equal(event.baseline_period.days, 16);
        if (baseline === "prior_year") assert.equal(event.return_rate_change, null);
      }
    }
  }
});

test("M5, M15: days whose window is open are left out of a sale event unless asked for", async () => {
  const isLate = (day: string) => "2025-04-20" <= day && day <= "2025-06-10";
  for (const includeIncomplete of [false, true]) {
    const { data } = await ask({
      saleEvent: "late",
      saleEventScope: "event_scope",
      include_incomplete: includeIncomplete,
    });
    const selects = (line: StoreLine) => line.sku === "SHOE-1" || line.sku === "SHOE-1-USED";
    const sold = countDaysSold(store, oracleRequest({ selects, includeIncomplete }), isLate);
    assert.ok(sold.soldUnits > 0);
    assert.equal(data.sale_event?.event.sold_units, sold.soldUnits);
    assert.equal(data.sale_event?.event.returned_units, sold.returnedUnits);
    assert.equal(data.sale_event?.baseline_period.starts_on, "2025-02-27");
    // 15 June − 45 days = 1 May is the first day that is still open; the baseline ended before.
    assert.equal(data.sale_event?.baseline_period.days, 52);
  }
  const [closed, open] = await Promise.all(
    [false, true].map((include_incomplete) => ask({ saleEvent: "late", include_incomplete })),
  );
  assert.ok(
    (closed?.data.sale_event?.event.sold_units ?? 0) < (open?.data.sale_event?.event.sold_units ?? 0),
  );
});

test("M15: an event without SKUs of its own is the whole workspace; an unknown slug is no event", async () => {
  const { data: whole } = await ask({ saleEvent: "summer", sku: "HAT", saleEventScope: "event_scope" });
  const { data: all } = await ask({ saleEvent: "summer" });
  assert.deepEqual(whole.sale_event?.event, all.sale_event?.event);
  assert.equal(all.sale_event?.label, '@Summer "sale", big');
  assert.equal((await ask({ saleEvent: "nothing" })).data.sale_event, null);
});

test("M15: every section lists the workspace's events by slug, and says when the one asked for is unknown", async () => {
  const events = store.saleEvents
    .map(({ slug, label, starts_on, ends_on }) => ({ slug, label, starts_on, ends_on }))
    .toSorted((left, right) => (left.slug < right.slug ? -1 : 1));
  assert.equal(events.length, 4);
  for (const reportSection of REPORT_SECTIONS) {
    for (const [saleEvent, isUnknown] of [
      [undefined, false],
      ["", false],
      ["summer", false],
      ["Summer", true],
      ["x".repeat(600), true],
      ["sum\u0000mer", true],
    ] as const) {
      const { data } = await ask({ reportSection, saleEvent });
      assert.deepEqual(data.sale_events, events);
      assert.equal(data.sale_event_unknown, isUnknown);
      assert.equal(data.sale_event?.slug ?? null, saleEvent === "summer" ? "summer" : null);
    }
  }
});

test("a report loads its figures by one statement, sums over orders by another, and a sale event by one more", async () => {
  for (const [saleEvent, expected] of [
    [undefined, ["load_report_figures", "load_order_sums"]],
    ["nothing", ["load_report_figures", "load_order_sums"]],
    ["summer", ["load_report_figures", "load_order_sums", "load_group_sale_figures"]],
  ] as const) {
    const names: string[] = [];
    const counting: Queryable = {
      rows: (statement, values) => {
        names.push(statement.name);
        return service.database.rows(statement, values);
      },
    };
    const call = {
      database: counting,
      workspace: reportWorkspace(1, AS_OF),
      input: reportInput({ saleEvent }),
    };
    await report(call);
    assert.deepEqual(names, expected);
  }
});

const ofProduct = (line: StoreLine, numbers: readonly number[]) =>
  numbers.some((number) => line.product_gid === `gid://shop/Product/${number}`);
const SELECTIONS: { parameters: Record<string, unknown>; selects: (line: StoreLine) => boolean }[] = [
  { parameters: {}, selects: () => true },
  {
    parameters: { product_group_type: "analytics_category", product_group_key: "Feet" },
    selects: (line) => ofProduct(line, [1, 2]),
  },
  {
    parameters: { product_group_type: "family", product_group_key: "Shoes" },
    selects: (line) => ofProduct(line, [1]),
  },
  {
    parameters: { product_gid: "gid://shop/Product/1" },
    selects: (line) => ofProduct(line, [1]) && !line.used,
  },
  {
    parameters: { product_gid: "gid://shop/Product/1", include_used_variants: true },
    selects: (line) => ofProduct(line, [1]),
  },
  {
    parameters: { sku: "SHOE-1", include_used_variants: true },
    selects: (line) => line.sku === "SHOE-1" || line.sku === "SHOE-1-USED",
  },
];

test("M7, M15: the days of every kind of selection are those of its lines, whichever way they are counted", async () => {
  const isSale = (day: string) => store.saleEvents.some((row) => row.starts_on <= day && day <= row.ends_on);
  for (const { parameters, selects } of SELECTIONS) {
    for (const window of WINDOWS) {
      for (const includeIncomplete of [false, true]) {
        const { data } = await ask({
          ...parameters,
          window,
          include_incomplete: includeIncomplete,
          saleEvent: "late",
          saleEventBaseline: "selected_non_sale",
        });
        const request = oracleRequest({ selects, windowDays: WINDOW_DAYS[window], includeIncomplete });
        const sold = countDaysSold(store, request, (day) => "2025-04-20" <= day && day <= "2025-06-10");
        const soldElse = countDaysSold(
          store,
          request,
          (day) => day >= "2024-03-01" && day <= "2025-06-30" && !isSale(day),
        );
        const { event, baseline_period: baseline } = data.sale_event ?? assert.fail();
        assert.deepEqual(
          [event.sold_units, event.returned_units, baseline.sold_units, baseline.returned_units],
          [sold.soldUnits, sold.returnedUnits, soldElse.soldUnits, soldElse.returnedUnits],
        );
      }
    }
  }
});
