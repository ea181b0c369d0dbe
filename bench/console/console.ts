import type { BenchContext } from "../context.ts";
import type { BenchRow } from "../table.ts";
import { measureBesideApi } from "./beside-api.ts";
import { measurePages } from "./pages.ts";
import { measurePaint } from "./paint.ts";

/** The console's pages, how soon they are seen, and what they cost the API. */
export async function measureConsole(context: BenchContext): Promise<BenchRow[]> {
  return [
    ...(await measurePages(context)),
    ...(await measurePaint(context)),
    ...(await measureBesideApi(context)),
  ];
}
