import assert from "node:assert/strict";
import { previewIn } from "./page-figures.ts";
import type { Member } from "./scene.ts";
import type { TestService } from "./service.ts";
import type { Tenant } from "./tenants.ts";

export const PATH = "/settings/windows";
export type Wanted = { primary_window_days: number; min_sold_units: number };

/** The address of the page that previews settings. */
export function queryOf(wanted: Wanted): string {
  return `${PATH}?primary_window_days=${wanted.primary_window_days}&min_sold_units=${wanted.min_sold_units}`;
}

function fieldsOf(wanted: Wanted): Record<string, string> {
  return Object.fromEntries(Object.entries(wanted).map(([name, value]) => [name, String(value)]));
}

/** The same figures from the API. */
export async function answered(
  { call }: Pick<TestService, "call">,
  tenant: Tenant,
  { isUnlimited = false } = {},
): Promise<Record<string, string>> {
  const options = { token: tenant.token, isUnlimited };
  const ranking = await call("/api/v1/leaderboards/return-rate", { ...options, params: { period: "year" } });
  const { data, meta } = ranking.json();
  const { start_month, end_month } = meta as { start_month: string; end_month: string };
  const summary = await call("/api/v1/summary", { ...options, params: { start_month, end_month } });
  const totals = summary.json().data;
  return Object.fromEntries(
    Object.entries({
      complete_through: meta["complete_through"],
      total_eligible_count: data["total_eligible_count"],
      min_sold_units: data["min_sold_units"],
      return_rate: totals["return_rate"],
      returned_units: totals["returned_units"],
      sold_units: totals["sold_units"],
    }).map(([name, value]) => [name, String(value)]),
  );
}

/** `isUnlimited`: the tenant's plan has no daily limit. */
type Previewing = { member: Member; tenant: Tenant; isUnlimited?: boolean };

/** Fails unless the preview of settings shows what the API answers once they are saved. */
export async function assertPreviewed(
  service: Pick<TestService, "call">,
  { member, tenant, isUnlimited = false }: Previewing,
  wanted: Wanted,
): Promise<void> {
  const { status, text } = await member.get(queryOf(wanted));
  assert.equal(status, 200, text);
  const { primary_window_days, ...previewed } = previewIn(text);
  assert.equal(primary_window_days, String(wanted.primary_window_days));
  const saved = await member.post(PATH, fieldsOf(wanted));
  assert.equal(saved.status, 303, saved.text);
  assert.deepEqual(previewed, await answered(service, tenant, { isUnlimited }), JSON.stringify(wanted));
}

/** Settings to preview: the shortest and the longest window, and one between. */
export const SOME: readonly Wanted[] = [
  { primary_window_days: 1, min_sold_units: 0 },
  { primary_window_days: 60, min_sold_units: 5 },
  { primary_window_days: 365, min_sold_units: 1000 },
];
