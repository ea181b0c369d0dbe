import { byCodePoint, rateOf } from "./numbers.ts";
import type { LedgerLine } from "./ledger.ts";
import type { Question } from "./oracle.ts";
import type { OracleStore } from "./store.ts";
import { countedMonths, windowDaysOf } from "./selection.ts";

/** The groups of M22, each with the names of reasons that belong to it. */
const NAMES: Record<string, readonly string[]> = {
  too_small: ["too_small", "too-small", "too small", "size-too-small"],
  too_large: ["too_large", "too-large", "too large", "size-too-large"],
  not_as_described: ["not_as_described", "not-as-described", "not as described"],
  damaged: ["damaged", "defective"],
  changed_mind: ["changed_mind", "changed-mind", "changed mind", "unwanted", "color", "style"],
  late: ["late"],
  wrong_item: ["wrong_item", "wrong-item", "wrong item"],
  other: ["other"],
};
const SIZE_NAMES = new Set(["size", "größe", "taille", "talla", "taglia"]);
/** Sizes of the random stores in ascending order. */
const SIZES = ["s", "m", "l", "xl", "9.5", "10"];

type Unit = { line: LedgerLine; size: string; day: number; group: string; isMapped: boolean; reason: string };
type Beta = { alpha: number; beta: number };

/** M22: the section fit; null unless a product with a size option is selected. */
export function fitPart(question: Question) {
  const { store, ledger, selected, params } = question;
  const gid = params["product_gid"];
  const option = gid === undefined ? undefined : sizeOptionOf(question, String(gid));
  if (option === undefined) return null;
  const months = countedMonths(store, params, String(params["start_month"]), String(params["end_month"]));
  const inMonths = ledger.lines.filter((line) => line.sold > 0 && months.includes(line.month));
  const own = inMonths.filter((line) => selected.holds(line));
  const sizeOf = (line: LedgerLine): string => valueOf(line, option)?.toLowerCase() ?? "";
  const unitsOf = (lines: readonly LedgerLine[]) => unitsIn(question, lines, sizeOf);
  const usual = {
    too_small: usualShare(question, String(gid), "too_small", unitsOf(inMonths)),
    too_large: usualShare(question, String(gid), "too_large", unitsOf(inMonths)),
  };
  const returned = unitsOf(own);
  const sizes = [...new Set(own.map(sizeOf))].toSorted((one, other) => rank(one) - rank(other));
  const named = sizes.filter((size) => size !== "");
  const judged = named.map((size) => ({ size, ...judge(returned, named, size, usual) }));
  const whole = judge(returned, named, null, usual);
  const labelOf = (size: string): string | undefined =>
    own
      .filter((line) => sizeOf(line) === size)
      .flatMap((line) => valueOf(line, option) ?? [])
      .toSorted(byCodePoint)[0];
  return {
    option,
    sentence: sentenceOf(
      judged.map(({ size, fit }) => ({ label: labelOf(size), fit })),
      whole.fit,
    ),
    usual_too_small_share: rounded(usual.too_small),
    usual_too_large_share: rounded(usual.too_large),
    sizes: sizes.map((size) => {
      const sold = own.reduce((sum, line) => sum + (sizeOf(line) === size ? line.sold : 0), 0);
      const back = returned.filter((unit) => unit.size === size);
      const found = judged.find((one) => one.size === size);
      const groups = [...Object.keys(NAMES), "no_reason"];
      return {
        size,
        ...(size === "" ? {} : { label: labelOf(size) }),
        sold_units: sold,
        returned_units: back.length,
        return_rate: rateOf(back.length, sold),
        ...Object.fromEntries(
          groups.map((group) => [`${group}_units`, back.filter((unit) => unit.group === group).length]),
        ),
        returns_with_reason: returnsOf(returned, size, null),
        too_small: found?.too_small ?? null,
        too_large: found?.too_large ?? null,
        fit: found?.fit ?? null,
        low_evidence: size === "" || returnsOf(returned, size, null) < 20,
      };
    }),
    bracketing: bracketingOf(own, sizeOf, returned),
    exchanges: exchangesOf(question, own, sizeOf),
    unmapped_reasons: unmappedOf(returned),
  };
}

/** The first option named size, else the first whose values are all sizes; in order of the first position at a variant, then by name. */
function sizeOptionOf({ ledger }: Question, gid: string): string | undefined {
  const options = ledger.catalogue.variants
    .filter((variant) => variant.productGid === gid)
    .flatMap((variant) => variant.options.map(([name, value], place) => ({ name, value, place })))
    .toSorted((one, other) => one.place - other.place || byCodePoint(one.name, other.name));
  const isSame = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();
  const called = options.find(({ name }) => SIZE_NAMES.has(name.toLowerCase()));
  const ofSizes = options.find(({ name }) =>
    options.every((other) => !isSame(other.name, name) || SIZES.includes(other.value.toLowerCase())),
  );
  const { name } = called ?? ofSizes ?? {};
  if (name === undefined) return undefined;
  const spelled = options.map((option) => option.name).filter((other) => isSame(other, name));
  return spelled.toSorted(byCodePoint)[0];
}

function valueOf(line: LedgerLine, option: string): string | undefined {
  return line.options.find(([name]) => name.toLowerCase() === option.toLowerCase())?.[1];
}

function rank(size: string): number {
  return size === "" ? Infinity : SIZES.indexOf(size);
}

/** Every unit that came back inside the window, with the group of its reason. */
function unitsIn(
  { store, params }: Question,
  lines: readonly LedgerLine[],
  sizeOf: (line: LedgerLine) => string,
): Unit[] {
  const windowDays = windowDaysOf(store, params);
  return lines.flatMap((line) =>
    line.returned
      .filter(({ lagDays }) => windowDays === null || lagDays <= windowDays)
      .map(({ day, reason }) => {
        const group = reason.kind === "stated" ? groupOf(store, reason.reason) : "no_reason";
        const isMapped = group !== null;
        return { line, size: sizeOf(line), day, group: group ?? "other", isMapped, reason: reason.reason };
      }),
  );
}

/** The group that the workspace assigned to a reason, else the one that M22 names; null = none. */
function groupOf({ settings }: OracleStore, reason: string): string | null {
  const found = Object.entries(NAMES).find(([, names]) => names.includes(reason.toLowerCase()));
  return settings.reason_groups?.[reason.toLowerCase()] ?? found?.[0] ?? null;
}

/** The usual share: of the category's other products if at least 200 of their units have a reason, else of all other products. */
function usualShare({ ledger }: Question, gid: string, group: string, units: readonly Unit[]): number {
  const categoryOf = (of: string | null) =>
    ledger.catalogue.products.find((product) => product.gid === of)?.analyticsCategory ?? null;
  const stated = units.filter((unit) => unit.group !== "no_reason" && unit.line.productGid !== gid);
  const category = categoryOf(gid);
  const ofCategory = stated.filter(
    ({ line }) => category !== null && categoryOf(line.productGid) === category,
  );
  const counted = ofCategory.length >= 200 ? ofCategory : stated;
  return (counted.filter((unit) => unit.group === group).length + 5) / (counted.length + 20);
}

/** How many orders returned units of the size (null: any, counted once for each size) with a stated reason, or one of this group. */
function returnsOf(units: readonly Unit[], size: string | null, group: string | null): number {
  const found = units.filter(
    (unit) =>
      (size === null || unit.size === size) &&
      unit.group !== "no_reason" &&
      (group === null || unit.group === group),
  );
  return new Set(found.map((unit) => JSON.stringify([unit.line.orderId, unit.size]))).size;
}

/** Compares the shares of a size with the other sizes', or (null) of all sizes with the usual ones. */
function judge(
  all: readonly Unit[],
  sizes: readonly string[],
  size: string | null,
  usual: { too_small: number; too_large: number },
) {
  const units = all.filter((unit) => sizes.includes(unit.size));
  const n = returnsOf(units, size, null);
  const shareOf = (group: "too_small" | "too_large") => {
    const k = returnsOf(units, size, group);
    const u = usual[group];
    const m =
      size === null
        ? u
        : (returnsOf(units, null, group) - k + 5) / (returnsOf(units, null, null) - n + 5 / u);
    const { low, high, mean } = quantilesOf({ alpha: 5 + k, beta: 5 / m - 5 + n - k });
    return { k, u, low, high, mean };
  };
  const [small, large] = [shareOf("too_small"), shareOf("too_large")];
  const runs = (one: typeof small, other: typeof small): boolean =>
    one.k >= 5 && one.low >= 1.75 * one.u && one.low > other.high;
  const shown = ({ mean, low, high }: typeof small) => ({
    share: rounded(mean),
    low: rounded(low),
    high: rounded(high),
  });
  return {
    too_small: shown(small),
    too_large: shown(large),
    fit: runs(small, large) ? "small" : runs(large, small) ? "large" : null,
  };
}

function sentenceOf(
  sizes: readonly { label: string | undefined; fit: string | null }[],
  whole: string | null,
): string | null {
  const partOf = (fit: string): string => {
    const labels = sizes.flatMap((size) => (size.fit === fit ? [String(size.label)] : []));
    if (labels.length === 0) return whole === fit ? `${fit} on the whole` : "";
    return `${fit} in ${labels.join(", ").replace(/, (?<last>[^,]*)$/u, " and $<last>")}`;
  };
  const [small, large] = [partOf("small"), partOf("large")];
  if (small === "" && large === "") return null;
  return `Runs ${small}${small === "" || large === "" ? "" : ", and "}${large}.`;
}

function bracketingOf(
  own: readonly LedgerLine[],
  sizeOf: (line: LedgerLine) => string,
  returned: readonly Unit[],
) {
  const orders = [...Map.groupBy(own, (line) => `${line.orderedDay} ${line.orderId}`).values()];
  const sizesOf = (lines: readonly LedgerLine[]) => new Set(lines.map(sizeOf).filter((size) => size !== ""));
  const bracketed = orders.filter((lines) => sizesOf(lines).size > 1).flat();
  const count = orders.filter((lines) => sizesOf(lines).size > 1).length;
  return {
    orders: orders.length,
    bracketed_orders: count,
    share: orders.length === 0 ? null : rateOf(count, orders.length),
    sold_units: bracketed.reduce((sum, line) => sum + line.sold, 0),
    returned_units: returned.filter((unit) => bracketed.includes(unit.line)).length,
  };
}

/** M23: units of returns with an exchange, and the only size that their order gained on the day of the return. */
function exchangesOf(
  { store, params, ledger }: Question,
  own: readonly LedgerLine[],
  sizeOf: (line: LedgerLine) => string,
) {
  const windowDays = windowDaysOf(store, params);
  const counts = new Map<string, { from: string; to: string | null; units: number }>();
  for (const line of own) {
    for (const unit of line.returned) {
      const isInside = windowDays === null || unit.lagDays <= windowDays;
      const term = line.returnTerms.find(({ returnId }) => returnId === unit.returnId);
      if (!isInside || term?.isExchange !== true) continue;
      const got = ledger.lines.filter(
        (other) =>
          other.sold > 0 &&
          other.orderId === line.orderId &&
          other.orderedDay === unit.day &&
          other.productGid === params["product_gid"],
      );
      const sizes = [...new Set(got.map(sizeOf).filter((size) => size !== ""))];
      const to = sizes.length === 1 ? (sizes[0] ?? null) : null;
      const key = JSON.stringify([sizeOf(line), to]);
      const entry = counts.get(key) ?? { from: sizeOf(line), to, units: 0 };
      counts.set(key, { ...entry, units: entry.units + 1 });
    }
  }
  return [...counts.values()].toSorted(
    (one, other) =>
      other.units - one.units ||
      byCodePoint(one.from, other.from) ||
      Number(one.to === null) - Number(other.to === null) ||
      byCodePoint(String(one.to), String(other.to)),
  );
}

function unmappedOf(returned: readonly Unit[]) {
  const unmapped = returned.filter(({ isMapped }) => !isMapped);
  return [...Map.groupBy(unmapped, ({ reason }) => reason)]
    .map(([reason, units]) => ({ reason, returned_units: units.length }))
    .toSorted(
      (one, other) => other.returned_units - one.returned_units || byCodePoint(one.reason, other.reason),
    )
    .slice(0, 10);
}

function rounded(share: number): number {
  return Math.round(share * 1_000_000) / 1_000_000;
}

/**
 * The mean and the 5 % and 95 % quantiles of a beta distribution: its density over the logit of the share, where it is smooth
 * and falls off exponentially on both sides, added up by Simpson's rule. Good to 1e-9.
 */
export function quantilesOf({ alpha, beta }: Beta): { low: number; high: number; mean: number } {
  const [first, last, step] = [-60 / alpha - 1, 60 / beta + 1, 0.01];
  const peak = Math.log(alpha / beta);
  const logOf = (y: number): number => -alpha * Math.log1p(Math.exp(-y)) - beta * Math.log1p(Math.exp(y));
  const top = logOf(peak);
  const density = (y: number): number => Math.exp(logOf(y) - top);
  const mass = (from: number, width: number): number =>
    (width / 6) * (density(from) + 4 * density(from + width / 2) + density(from + width));
  const [from, to] = [Math.min(first, peak + first), Math.max(last, peak + last)];
  const places = Math.ceil((to - from) / step);
  const masses = Array.from({ length: places }, (_, place) => mass(from + place * step, step));
  const total = masses.reduce((sum, one) => sum + one, 0);
  const quantile = (part: number): number => {
    let before = 0;
    let place = 0;
    for (; before + (masses[place] ?? 0) < part * total; place += 1) before += masses[place] ?? 0;
    const y = from + place * step;
    let [left, right] = [0, step];
    for (let turn = 0; turn < 40; turn += 1) {
      const middle = (left + right) / 2;
      if (before + mass(y, middle) < part * total) left = middle;
      else right = middle;
    }
    return 1 / (1 + Math.exp(-(y + left)));
  };
  return { low: quantile(0.05), high: quantile(0.95), mean: alpha / (alpha + beta) };
}
