import { summary } from "./summary.ts";
import { timeseries } from "./timeseries.ts";
import type { Endpoint } from "./endpoint.ts";

/** Every endpoint of the contract, in the order of the documents. */
export const ENDPOINTS = [summary, timeseries] as const satisfies readonly Endpoint[];
