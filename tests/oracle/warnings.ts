import type { MadeLine, WarningStore } from "./warning-store.ts";

/** A warning as rule M17 reads, from a loop over the lines. */
export type OracleWarning = {
  kind: string;
  key: string;
  windowDays: number;
  lines: number;
  returnedOrders: number;
  expected: number;
  p: number;
  soldUnits: number;
  returnedUnits: number;
  returnedLines: number;
  refundMinor: number;
};

type Known = MadeLine & { family: string | null; category: string | null };

/** M17 for every entity of a store as of a day. */
export function oracleWarnings(
  store: WarningStore,
  asOfDay: number,
  primaryWindowDays: number,
): OracleWarning[] {
  const horizon = Math.max(60, primaryWindowDays);
  const sold = store.lines
    .filter((line) => line.soldUnits > 0 && line.orderedDay <= asOfDay)
    .map((line): Known => {
      const product = store.products.find(({ id }) => id === line.product);
      return { ...line, family: product?.family ?? null, category: product?.analytics_category ?? null };
    });
  const base = sold.filter(
    ({ orderedDay }) => orderedDay >= asOfDay - horizon - 240 && orderedDay < asOfDay - horizon,
  );
  if (new Set(base.map(({ orderedDay }) => orderedDay)).size < 60) return [];
  const recent = sold.filter(({ orderedDay }) => orderedDay > asOfDay - 56);
  const isEvidence = (line: Known): boolean => isBackBy(line, asOfDay) && lagOf(line) <= horizon;
  const baseOf = (category: string | null) => {
    const own = base.filter((line) => line.category === category && category !== null);
    return own.filter(isEvidence).length >= 200 ? own : base;
  };
  if (base.filter(isEvidence).length === 0) return [];
  const bases = new Map(
    [...new Set(sold.map(({ category }) => category))].map((name) => [name, baseOf(name)]),
  );
  const shareOf = new Map(
    [...bases].map(([name, lines]) => {
      const lags = lines.filter(isEvidence).map(lagOf);
      const shares = Array.from(
        { length: 57 },
        (_, age) => lags.filter((lag) => lag <= age).length / lags.length,
      );
      return [name, { shares, rate: lags.length / lines.length }];
    }),
  );
  const warnings: OracleWarning[] = [];
  for (const kind of ["sku", "product", "family", "analytics_category"]) {
    const keys = new Set(recent.map((line) => keyOf(line, kind)).filter((key) => key !== null));
    for (const key of keys) {
      const own = recent.filter((line) => keyOf(line, kind) === key);
      const past = base.filter((line) => keyOf(line, kind) === key);
      const all = [...own, ...past];
      const usual =
        all.reduce((sum, line) => sum + (shareOf.get(line.category)?.rate ?? NaN), 0) / all.length;
      const shape = past.filter(isEvidence).length + 5;
      const weight = past.length + 5 / usual;
      let best: OracleWarning | null = null;
      for (const windowDays of [7, 14, 28, 56]) {
        const window = own.filter(({ orderedDay }) => orderedDay > asOfDay - windowDays);
        const exposure = window.reduce(
          (sum, line) => sum + (shareOf.get(line.category)?.shares[asOfDay - line.orderedDay] ?? NaN),
          0,
        );
        const back = window.filter((line) => isBackBy(line, asOfDay));
        const returnedOrders = new Set(back.map(({ orderId }) => orderId)).size;
        const expected = (exposure * shape) / weight;
        if (returnedOrders < 5 || returnedOrders < 1.5 * expected) continue;
        const p = 4 * keys.size * gammaPoissonTail(returnedOrders, shape, weight, exposure);
        if (p > 0.001 || (best !== null && p >= best.p)) continue;
        best = {
          kind,
          key,
          windowDays,
          lines: window.length,
          returnedOrders,
          expected,
          p,
          soldUnits: total(window, ({ soldUnits }) => soldUnits),
          returnedUnits: total(back, (line) => Math.min(line.soldUnits, line.back?.units ?? 0)),
          returnedLines: back.length,
          refundMinor: total(back, (line) => line.back?.refundMinor ?? 0),
        };
      }
      if (best !== null) warnings.push(best);
    }
  }
  return warnings;
}

function keyOf(line: Known, kind: string): string | null {
  if (kind === "sku") return line.sku;
  if (kind === "product")
    return line.used || line.product === null ? null : `gid://import/Product/${line.product}`;
  return kind === "family" ? line.family : line.category;
}

function isBackBy(line: MadeLine, asOfDay: number): boolean {
  return line.back !== null && line.back.day <= asOfDay;
}

function lagOf(line: MadeLine): number {
  return Math.max(0, (line.back?.day ?? NaN) - line.orderedDay);
}

function total<Item>(items: readonly Item[], valueOf: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + valueOf(item), 0);
}

/**
 * P(Y ≥ count), Y Poisson over an exposure with a Gamma(shape, weight) rate: Simpson's rule over the logarithm of the rate,
 * twelve standard deviations to either side.
 */
export function gammaPoissonTail(count: number, shape: number, weight: number, exposure: number): number {
  const middle = Math.log(shape / weight);
  const reach = 12 / Math.sqrt(shape) + 2;
  const steps = 4000;
  const step = (2 * reach) / steps;
  let sum = 0;
  for (let place = 0; place <= steps; place += 1) {
    const logRate = middle - reach + place * step;
    const logDensity =
      shape * Math.log(weight) + shape * logRate - weight * Math.exp(logRate) - logGamma(shape);
    const part = Math.exp(logDensity) * poissonTail(count, Math.exp(logRate) * exposure);
    sum += part * (place === 0 || place === steps ? 1 : place % 2 === 1 ? 4 : 2);
  }
  return (sum * step) / 3;
}

function poissonTail(count: number, mean: number): number {
  if (mean === 0) return 0;
  let term = Math.exp(count * Math.log(mean) - mean - logGamma(count + 1));
  if (count <= mean) {
    let below = 0;
    for (let number = 0; number < count; number += 1) {
      below += Math.exp(number * Math.log(mean) - mean - logGamma(number + 1));
    }
    return 1 - below;
  }
  let tail = 0;
  for (let number = count; term > tail * 1e-16; number += 1) {
    tail += term;
    term *= mean / (number + 1);
  }
  return tail;
}

/** Stirling's series, shifted to where it converges. */
function logGamma(value: number): number {
  let shift = 0;
  let at = value;
  for (; at < 12; at += 1) shift -= Math.log(at);
  const inverse = 1 / (at * at);
  const series = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse / 1680))) / at;
  return shift + (at - 0.5) * Math.log(at) - at + 0.5 * Math.log(2 * Math.PI) + series;
}
