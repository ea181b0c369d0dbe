import { once } from "node:events";
import type { ReturnsClient } from "../client/client.ts";
import type { ExportReportParameters } from "../client/generated/parameters.ts";
import { iteratePages } from "../client/pages.ts";
import type { RequestOptions, Result } from "../client/result.ts";
import { camelCase, listParameters } from "../contract/endpoint.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import { dataText, rowsCsv } from "./query-output.ts";
import type { Terminal } from "./terminal.ts";

/** One request as the command line describes it; only the service validates values. */
export type Ask = { endpoint: Endpoint; parameters: Record<string, unknown>; signal: AbortSignal };

type Meta = {
  returned?: number;
  next_cursor?: string | null;
  start_month?: string;
  end_month?: string;
  months_included?: number;
  excluded_months?: string[];
  complete_through?: string | null;
  /** Answers of figures have one. */
  data_as_of?: string | null;
  freshness: { data_updated_at: string | null } | null;
};
type Answer = Result<unknown, Meta>;
type Method = (parameters: Record<string, unknown>, options?: RequestOptions) => Promise<Answer>;

/** Asks and prints: a table for people, or the body as JSON, or the rows as CSV. */
export async function printAnswer(
  client: ReturnsClient,
  ask: Ask,
  { terminal, isAll, isCsv }: { terminal: Terminal; isAll: boolean; isCsv: boolean },
): Promise<void> {
  const { endpoint, parameters, signal } = ask;
  // The names of the methods are those of the contract, as the options are.
  const method = (client as unknown as Record<string, Method>)[camelCase(endpoint.name)] as Method;
  const answer = isAll ? await askAll(method, ask, terminal) : await method(parameters, { signal });
  const { data, meta } = answer;
  const columns = columnsOf(endpoint);
  if (isCsv) process.stdout.write(rowsCsv(data, columns));
  else terminal.print({ data, meta }, dataText(data, columns, terminal.style));
  if (typeof meta.next_cursor === "string") {
    terminal.hint(`There are more rows: --all prints them, --cursor ${meta.next_cursor} the next page.`);
  }
  if (isCsv) return;
  const months = monthsLine(meta);
  if (months !== null) terminal.hint(months);
  terminal.hint(statusLine(answer));
}

type DataSchema = { properties?: Record<string, DataSchema>; items?: DataSchema };

/** The members of a row of its list, or of its data when that is one thing. */
function columnsOf({ response }: Endpoint): string[] {
  const { data } = (response as { properties: { data: DataSchema } } | null)?.properties ?? { data: {} };
  const row = data.items ?? data.properties?.["rows"]?.items ?? data;
  return Object.keys(row.properties ?? {});
}

/** Copies the CSV file to standard output while it arrives. */
export async function copyExport(client: ReturnsClient, { parameters, signal }: Ask): Promise<void> {
  const given: unknown = parameters;
  const { stream } = await client.exportReport(given as ExportReportParameters, { signal });
  for await (const piece of stream) {
    if (!process.stdout.write(piece)) await once(process.stdout, "drain");
  }
}

/** All pages as one answer; pages are as long as may be, because each counts against the quota. */
async function askAll(
  method: Method,
  { endpoint, parameters, signal }: Ask,
  terminal: Terminal,
): Promise<Answer> {
  const limit =
    parameters["limit"] ??
    listParameters(endpoint.parameters).find(({ name }) => name === "limit")?.schema.maximum;
  const pages = method as (
    parameters: Record<string, unknown>,
    options?: RequestOptions,
  ) => Promise<Result<unknown[], Meta & { next_cursor: string | null }>>;
  const rows: unknown[] = [];
  let last: Answer | undefined;
  for await (const page of iteratePages(pages, { ...parameters, limit }, { signal })) {
    rows.push(...page.data);
    last = page;
    terminal.showStatus(`${rows.length.toLocaleString("en")} rows`);
  }
  terminal.showStatus("");
  const { meta, ...rest } = last as Answer;
  return { ...rest, data: rows, meta: { ...meta, returned: rows.length } };
}

/** Rows alone do not say which months they count; null where the answer's data says so itself. */
function monthsLine(meta: Meta): string | null {
  const { start_month: start, end_month: end, months_included: included, excluded_months: excluded } = meta;
  if (included === undefined) return null;
  const range = start === undefined ? "Order months" : `Order months ${start} to ${end}`;
  const through =
    typeof meta.complete_through === "string" ? `; complete through ${meta.complete_through}` : "";
  return `${range}: ${included} counted, ${excluded?.length ?? 0} left out as incomplete${through}.`;
}

function statusLine({ meta, quota }: Answer): string {
  const asOf = meta.data_as_of ?? meta.freshness?.data_updated_at ?? null;
  const age = asOf === null ? "The age of the data is not known" : `Data as of ${asOf}`;
  if (quota === null) return `${age}.`;
  const left = quota.remaining.toLocaleString("en");
  return `${age}; ${left} of ${quota.limit.toLocaleString("en")} requests left until ${quota.resetsAt.toISOString()}.`;
}
