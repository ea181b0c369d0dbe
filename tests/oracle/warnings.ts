import { dayText } from "./calendar.ts";
import { byCodePoint, logGamma, total } from "./numbers.ts";
import type { MadeLine, WarningStore } from "./warning-store.ts";

/** A warning by rule M17, from a loop over the lines. */
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
  /** Refunds and labels, never below 0. */
  costMinor: number;
  /** The largest first. */
  parts: { kind: string; key: string; excess: number }[];
};

const KINDS = ["sku", "product", "family", "analytics_category"];

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
  /** The prior for the lines of an entity. */
  const priorOf = (own: readonly Known[], past: readonly Known[]) => {
    const all = [...own, ...past];
    const usual = total(all, (line) => shareOf.get(line.category)?.rate ?? NaN) / all.length;
    return { own, shape: past.filter(isEvidence).length + 5, weight: past.length + 5 / usual };
  };
  /** Tests the lines in a window against the prior. */
  const judge = ({ own, shape, weight }: ReturnType<typeof priorOf>, windowDays: number) => {
    const window = own.filter(({ orderedDay }) => orderedDay > asOfDay - windowDays);
    const exposure = total(
      window,
      (line) => shareOf.get(line.category)?.shares[asOfDay - line.orderedDay] ?? NaN,
    );
    const back = window.filter((line) => isBackBy(line, asOfDay));
    const returnedOrders = new Set(back.map(({ orderId }) => orderId)).size;
    return { shape, weight, exposure, window, back, returnedOrders, expected: (exposure * shape) / weight };
  };
  const partsOf = (kind: string, key: string, windowDays: number, excess: number): OracleWarning["parts"] =>
    KINDS.slice(0, KINDS.indexOf(kind))
      .flatMap((narrower) => {
        const own = recent.filter((line) => keyOf(line, kind) === key);
        return [...new Set(own.map((line) => keyOf(line, narrower)))].flatMap((name) => {
          if (name === null) return [];
          const isShared = (line: Known) => keyOf(line, kind) === key && keyOf(line, narrower) === name;
          const found = judge(priorOf(recent.filter(isShared), base.filter(isShared)), windowDays);
          return [{ kind: narrower, key: name, excess: found.returnedOrders - found.expected }];
        });
      })
      .filter((part) => part.excess >= 0.2 * excess)
      .toSorted(
        (left, right) =>
          right.excess - left.excess ||
          KINDS.indexOf(left.kind) - KINDS.indexOf(right.kind) ||
          byCodePoint(left.key, right.key),
      );
  const warnings: OracleWarning[] = [];
  for (const kind of KINDS) {
    const past = Map.groupBy(base, (line) => keyOf(line, kind));
    const entities = [...Map.groupBy(recent, (line) => keyOf(line, kind))].flatMap(([key, own]) =>
      key === null ? [] : [{ key, prior: priorOf(own, past.get(key) ?? []) }],
    );
    for (const { key, prior } of entities) {
      let best: OracleWarning | null = null;
      for (const windowDays of [7, 14, 28, 56]) {
        const found = judge(prior, windowDays);
        const { returnedOrders, expected, window, back } = found;
        if (returnedOrders < 5 || returnedOrders < 1.5 * expected) continue;
        const tail = gammaPoissonTail(returnedOrders, found.shape, found.weight, found.exposure);
        const p = 4 * entities.length * tail;
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
          costMinor: Math.max(
            0,
            total(back, (line) => (line.back?.refundMinor ?? 0) + labelMinorBy(line, asOfDay)),
          ),
          parts: [],
        };
      }
      if (best === null) continue;
      best.parts = partsOf(kind, key, best.windowDays, best.returnedOrders - best.expected);
      warnings.push(best);
    }
  }
  return warnings;
}

export type OracleAnnouncement = OracleWarning & { episodeId: string };

/** M17: returns which of a day's warnings are announced; called for each day, the oldest first. */
export function createAnnouncer(): (
  warnings: readonly OracleWarning[],
  asOfDay: number,
) => OracleAnnouncement[] {
  const named = ({ kind, key }: { kind: string; key: string }): string => `${kind}:${key}`;
  const warnedOn = new Map<string, number>();
  const announcedEpisodes = new Set<string>();
  const ids = new Map<string, string>();
  return (warnings, asOfDay) => {
    const isInEpisode = (name: string): boolean => asOfDay - (warnedOn.get(name) ?? -Infinity) <= 45;
    for (const name of announcedEpisodes) if (!isInEpisode(name)) announcedEpisodes.delete(name);
    const going = new Set([...ids].filter(([name]) => isInEpisode(name)).map(([, id]) => id));
    for (const [name, id] of ids) if (!going.has(id)) ids.delete(name);

    const today = new Set(warnings.map(named));
    const toldBefore = new Set(announcedEpisodes);
    const partsOfToday = new Set<string>();
    const announced: OracleAnnouncement[] = [];
    const explained: { name: string; by: string[] }[] = [];
    const broadestFirst = warnings.toSorted(
      (left, right) => KINDS.indexOf(right.kind) - KINDS.indexOf(left.kind) || left.p - right.p,
    );
    for (const warning of broadestFirst) {
      const name = named(warning);
      if (isInEpisode(name) || partsOfToday.has(name)) continue;
      const enough = 0.8 * (warning.returnedOrders - warning.expected);
      const one = warning.parts.find((part) => today.has(named(part)) && part.excess >= enough);
      const told = warning.parts.filter((part) => toldBefore.has(named(part)));
      if (one !== undefined || total(told, ({ excess }) => excess) >= enough) {
        explained.push({ name, by: one === undefined ? told.map(named) : [named(one)] });
        continue;
      }
      const wholes = broadestFirst.filter(({ parts }) => parts.some((part) => named(part) === name));
      const related = [name, ...warning.parts.map(named), ...wholes.map(named).toReversed()];
      const first = related.find((other) => ids.has(other));
      const episodeId = ids.get(first ?? "") ?? `${name}:${dayText(asOfDay)}`;
      announced.push({ ...warning, episodeId });
      announcedEpisodes.add(name);
      for (const other of [name, ...warning.parts.map(named)]) {
        if (!ids.has(other)) ids.set(other, episodeId);
        if (other !== name) partsOfToday.add(other);
      }
    }
    for (const { name, by } of explained.toReversed()) {
      const id = by.map((other) => ids.get(other)).find((other) => other !== undefined);
      if (!ids.has(name)) ids.set(name, id ?? `${name}:${dayText(asOfDay)}`);
    }
    for (const name of today) warnedOn.set(name, asOfDay);
    return announced;
  };
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

function labelMinorBy({ orderedDay, back }: MadeLine, asOfDay: number): number {
  const label = back?.label ?? null;
  return label !== null && Math.max(label.day, orderedDay) <= asOfDay ? label.minor : 0;
}

function lagOf(line: MadeLine): number {
  return Math.max(0, (line.back?.day ?? NaN) - line.orderedDay);
}

/**
 * P(Y ≥ count) for Y Poisson over an exposure with a Gamma(shape, weight) rate: Simpson's rule over the logarithm of the rate,
 * twelve standard deviations to either side.
 */
export function gammaPoissonTail(count: number, shape: number, weight: number, exposure: number): number {
  const middle = Math.log(shape / weight);
  const reach = 12 / Math.sqrt(shape) + 2;
  const steps = 1000;
  const step = (2 * reach) / steps;
  const constant = shape * Math.log(weight) - logGamma(shape);
  let sum = 0;
  for (let place = 0; place <= steps; place += 1) {
    const logRate = middle - reach + place * step;
    const logDensity = constant + shape * logRate - weight * Math.exp(logRate);
    const part = Math.exp(logDensity) * poissonTail(count, Math.exp(logRate) * exposure);
    sum += part * (place === 0 || place === steps ? 1 : place % 2 === 1 ? 4 : 2);
  }
  return (sum * step) / 3;
}

function poissonTail(count: number, mean: number): number {
  if (mean === 0) return 0;
  let term = Math.exp(count * Math.log(mean) - mean - logFactorial(count));
  if (count <= mean) {
    let below = 0;
    for (let number = 0; number < count; number += 1) {
      below += Math.exp(number * Math.log(mean) - mean - logFactorial(number));
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

/** Each term of each step needs one of a few values. */
const logFactorials: number[] = [];

function logFactorial(number: number): number {
  return (logFactorials[number] ??= logGamma(number + 1));
}
