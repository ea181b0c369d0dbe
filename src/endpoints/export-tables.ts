import { jsonAnswer, type Answer } from "../contract/endpoint.ts";
import type { exportTables as contract } from "../contract/export-tables.ts";
import { TABLES } from "../contract/tables.ts";
import { listTableSizes } from "../store/queries/tables.ts";
import type { EndpointCall } from "./call.ts";
import { areLabelCostsIncluded } from "../metrics/label.ts";

const MONTH_CHARACTERS = "YYYY-MM".length;

/** The tables with their columns, and how much of them there is. */
export async function exportTables({ database, workspace }: EndpointCall<typeof contract>): Promise<Answer> {
  const sizes = new Map((await listTableSizes(database, workspace)).map((row) => [row.name, row]));
  const data = TABLES.map(({ name, description, columns }) => {
    const size = sizes.get(name);
    return {
      name,
      description,
      rows: size?.rows ?? 0,
      start_month: size?.first_month?.slice(0, MONTH_CHARACTERS) ?? null,
      end_month: size?.last_month?.slice(0, MONTH_CHARACTERS) ?? null,
      columns,
    };
  });
  return jsonAnswer(data, {
    data_version: workspace.dataVersion,
    currency_code: workspace.currencyCode,
    primary_window_days: workspace.primaryWindowDays,
    min_sold_units: workspace.minSoldUnits,
    label_costs_included: areLabelCostsIncluded(workspace),
  });
}
