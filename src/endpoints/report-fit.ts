import type { ReportFit } from "../contract/report-sections.ts";
import { fitOfSizes, fitSentence, usualShares, type FitCounts, type FitShare } from "../metrics/fit.ts";
import { rate, share } from "../metrics/rate.ts";
import { groupsByReason, REASON_GROUPS, type ReasonMapping } from "../metrics/reason-groups.ts";
import { compareSizes, sizePlace } from "../metrics/size-order.ts";
import { findReasonGroups, listProductOptions, loadFit as load } from "../store/queries/fit.ts";
import type { FitCountsRow, FitFigures, ProductOptionRow } from "../store/queries/fit.ts";
import { countedMonths } from "./cohort-months.ts";
import type { CohortQuery } from "./selection.ts";

const SIZE_NAME =
  /^(?:(?:shoe|eu|uk|us)[ -]?)?(?:size|sizes)$|^(?:schuh)?gr(?:ö|oe)(?:ß|ss)e$|^taille$|^pointure$|^talla$|^taglia$/iu;
/** Number of returns of the category's other products that suffices for a usual share (as in M6 and M17). */
const ENOUGH_RETURNS = 200;
const MOST_SIZES = 60;

/** M22: the fit of a product; null for other selections, and without an option that is a size. */
export async function loadFit({
  database,
  workspace,
  range,
  selection,
}: CohortQuery): Promise<ReportFit | null> {
  if (selection.kind !== "product") return null;
  const option = sizeOption(await listProductOptions(database, workspace, selection.key));
  if (option === null) return null;
  const mapping = (await findReasonGroups(database, workspace.shopKey)) as ReasonMapping | null;
  const figures = await load(database, workspace, {
    selection,
    windowDays: range.windowDays,
    countedMonths: countedMonths(range),
    option,
    groups: groupsByReason(mapping ?? {}),
  });
  return presentFit(option, figures);
}

/** The first option that is called size in one of five languages, else the first whose values are all sizes. */
function sizeOption(options: readonly ProductOptionRow[]): string | null {
  const named = options.find(({ name }) => SIZE_NAME.test(name));
  const valued = options.find(({ option_values: values }) =>
    values.every((value) => sizePlace(value) !== null),
  );
  return (named ?? valued)?.name ?? null;
}

function presentFit(option: string, figures: FitFigures): ReportFit {
  const sizes = figures.sizes
    .slice(0, MOST_SIZES)
    .toSorted(
      (left, right) =>
        Number(left.size === "") - Number(right.size === "") || compareSizes(left.size, right.size),
    );
  const isSize = ({ size }: (typeof sizes)[number]): boolean => size !== "";
  const ofSizes = sizes.filter(isSize);
  const others = countsOf(
    figures.others.find(
      ({ entity_kind: kind, returns }) => kind !== "workspace" && returns >= ENOUGH_RETURNS,
    ) ?? figures.others.find(({ entity_kind: kind }) => kind === "workspace"),
  );
  const fits = fitOfSizes(ofSizes.map(countsOf), others, figures.sizes.filter(isSize).map(countsOf));
  const usual = usualShares(others);
  const labels = ofSizes.map(({ size, label }) => label ?? size);
  return {
    option,
    sentence: fitSentence(labels, fits),
    usual_too_small_share: rounded(usual.tooSmall),
    usual_too_large_share: rounded(usual.tooLarge),
    sizes: sizes.map((row) => {
      const fit = fits.sizes[ofSizes.indexOf(row)];
      const groups = figures.reasons.filter(({ size }) => size === row.size);
      const unitsOf = (group: string | null): number =>
        groups.find(({ reason_group: each }) => each === group)?.returned_units ?? 0;
      const returned = groups.reduce((sum, { returned_units: units }) => sum + units, 0);
      return {
        size: row.size,
        label: row.size === "" ? "No value" : (row.label ?? row.size),
        sold_units: row.sold_units,
        returned_units: returned,
        return_rate: rate(returned, row.sold_units),
        ...(Object.fromEntries(
          REASON_GROUPS.map((group) => [`${group}_units`, unitsOf(group)]),
        ) as GroupUnits),
        no_reason_units: unitsOf(null),
        returns_with_reason: row.returns,
        too_small: fit === undefined ? null : presentShare(fit.tooSmall),
        too_large: fit === undefined ? null : presentShare(fit.tooLarge),
        fit: fit?.fit ?? null,
        low_evidence: fit?.isThin ?? true,
      };
    }),
    bracketing: {
      orders: figures.orders,
      bracketed_orders: figures.bracketed_orders,
      share: share(figures.bracketed_orders, figures.orders),
      sold_units: figures.bracketed_sold_units,
      returned_units: figures.bracketed_returned_units,
    },
    exchanges: figures.exchanges.map(({ from_size: from, to_size: to, units }) => ({ from, to, units })),
    unmapped_reasons: figures.unmapped,
  };
}

type GroupUnits = Record<`${(typeof REASON_GROUPS)[number]}_units`, number>;

function countsOf(row: FitCountsRow | undefined): FitCounts {
  const { returns = 0, too_small: tooSmall = 0, too_large: tooLarge = 0 } = row ?? {};
  return { returns, tooSmall, tooLarge };
}

function presentShare({ share: value, low, high }: FitShare) {
  return { share: rounded(value), low: rounded(low), high: rounded(high) };
}

function rounded(value: number): number {
  return Math.round(value * 1e6) / 1e6;
}
