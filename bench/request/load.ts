import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { boundCommand } from "./server-process.ts";

export type LoadRequest = {
  method: "GET" | "POST";
  path: string;
  headers: Record<string, string>;
  body?: string;
};

export type Load = {
  address: string;
  /** Asked in turn. */
  requests: readonly LoadRequest[];
  connections: number;
  seconds: number;
  /** null = as many as there are answers. */
  ratePerSecond: number | null;
};

export type Outcome = { perSecond: number; requests: number; failures: number; p50Ms: number; p99Ms: number };

const LOAD_PROCESS = join(import.meta.dirname, "load-process.ts");

/** Puts a load on a server from a process of its own; throws when a request is not answered with a 200. */
export async function putLoad(load: Load): Promise<Outcome> {
  const outcome = await tryLoad(load);
  if (outcome.failures > 0) throw new Error(`${outcome.failures} of ${outcome.requests} requests failed`);
  return outcome;
}

/** The same, with the requests that failed counted. */
export async function tryLoad(load: Load): Promise<Outcome> {
  const [command, args] = boundCommand("load", [LOAD_PROCESS]);
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(JSON.stringify(load));
  return JSON.parse(await text(child.stdout)) as Outcome;
}

/** Median, least and most of some rounds. */
export type Spread = { median: number; least: number; most: number };

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((left, right) => left - right);
  return {
    median: sorted[Math.floor((sorted.length - 1) / 2)] ?? Number.NaN,
    least: sorted[0] ?? Number.NaN,
    most: sorted.at(-1) ?? Number.NaN,
  };
}

/** "0.58 (0.49–0.63)". */
export function shownSpread({ median, least, most }: Spread, digits: number): string {
  const shown = (value: number): string =>
    value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${shown(median)} (${shown(least)}–${shown(most)})`;
}
