import { requireRow, type Query } from "../query.ts";
import {
  CANDIDATE,
  CHOSEN,
  CHOSEN_SKUS,
  FOUND,
  SHOWN,
  SHOWN_OF_CANDIDATE,
  shownOfVendor,
  vendorFound,
} from "./selection.ts";
import type { Found, Selection } from "./selection.ts";
import {
  blockRows,
  CANDIDATES_ALONE,
  EVERY_LISTING,
  exactSums,
  SHOWN_ALONE,
  type BlockNames,
  type Blocks,
  type Narrowing,
} from "./sku-rollup.ts";

/** `eligible_…`: over the SKUs of the whole ranking that pass the filters; `rows`: the SKUs to show, in their order. */
export type Ranking<Row> = Found & {
  vendor_known: boolean;
  skus: string[] | null;
  eligible_count: number;
  eligible_sold_units: number;
  eligible_returned_units: number;
  eligible_sold_minor: number;
  eligible_valued_sold_units: number;
  eligible_refund_minor: number;
  rows: Row[];
};

/** A listed SKU's product, with its variant's picture, if any; nulls where the catalogue does not know it. */
export type ListedProduct = {
  product_gid: string | null;
  product_title: string | null;
  handle: string | null;
  vendor: string | null;
  image_url: string | null;
  image_alt: string | null;
};

/** Names and values of `ListedProduct`, for the `rows` of a ranking. */
export const LISTED_PRODUCT = `'product_gid', p.product_gid, 'product_title', coalesce(p.title, k.product_title), 'handle', p.handle,
                       'vendor', case when p.product_gid is null then k.vendor else p.vendor end,
                       'image_url', coalesce(k.image_url, p.image_url),
                       'image_alt', case when k.image_url is null then p.image_alt end`;

/** A ranking of SKUs as statements: over a workspace, over the SKUs of one vendor, and over a selection, by the blocks they read. */
type RankingStatements<Answer> = (
  selection: Selection,
  isVendorAlone: boolean,
  blocks: Blocks,
) => Query<unknown[], Answer>;

/** Which blocks a statement reads. */
type Shape = "months" | "years" | "month" | "year";

/** The names of the blocks that follow that many parameters. */
const NAMES: Record<Shape, (parameters: number) => BlockNames> = {
  months: (after) => ({ quarters: `$${after + 1}`, months: `$${after + 2}` }),
  years: (after) => ({
    quarters: `$${after + 1}`,
    months: `$${after + 2}`,
    years: `$${after + 3}`,
    lessMonths: `$${after + 4}`,
  }),
  month: (after) => ({ month: `$${after + 1}` }),
  year: (after) => ({ year: `$${after + 1}` }),
};

/** The shape of blocks and its values. Most rankings read one month or year: looking for other blocks would take as long again. */
function shapeOf({ quarters, months, years, lessMonths }: Blocks): [Shape, values: unknown[]] {
  const [isMonths, isOne] = [
    years.length + lessMonths.length === 0,
    quarters.length + months.length + years.length + lessMonths.length === 1,
  ];
  if (isOne && months.length === 1) return ["month", months];
  if (isOne && years.length === 1) return ["year", years];
  return isMonths ? ["months", [quarters, months]] : ["years", [quarters, months, years, lessMonths]];
}

/**
 * `name` follows "load_"; `vendor`: the parameter that names one, of so many `parameters`, which those of the ranked blocks follow;
 * `leastSold`: the parameter of the fewest sold units with which a SKU ranks. `steps`: what follows `ranked`, the sums of `columns`
 * by SKU over these blocks inside $8 days; it ends with `first` and `total`. `rows`: the rows of `first` as JSON.
 */
export function rankingStatements<Answer extends Ranking<unknown>>(
  name: string,
  parts: {
    columns: readonly string[];
    vendor: string;
    parameters: number;
    leastSold?: string;
    steps: (narrowing: Narrowing, blocks: BlockNames) => string;
    rows: string;
  },
): RankingStatements<Answer> {
  const { columns, vendor, parameters, leastSold, steps, rows } = parts;
  const define = (scope: string, shown: string, narrowing: Narrowing, shape: Shape) => {
    const blocks = NAMES[shape](parameters);
    return requireRow<Answer, unknown[]>(
      `load_${scope}${name}_of_${shape}`,
      `with ${CHOSEN}, ${shown}, part as (
    ${blockRows(columns, narrowing, blocks, leastSold)}
  ), ranked as (
    select p.sku, ${exactSums("p", columns)} from part p where p.sku <> '' group by p.sku
    ${shape === "years" ? "having sum(p.sold_units::float8) > 0" : ""}
  ), ${steps(narrowing === SHOWN_ALONE ? EVERY_LISTING : narrowing, blocks)}
  select ${FOUND}, ${vendorFound(vendor)} as vendor_known, ${CHOSEN_SKUS} as skus, t.*,
         coalesce((select ${rows}
                     from first f
                     left join shown s on s.sku = f.sku
                     left join sku k on k.shop_key = $1 and k.sku = s.sku
                     left join product p on p.shop_key = $1 and p.product_gid = s.product_gid), '[]') as rows
    from total t`,
    );
  };
  const statement = (scope: string, shown: string, narrowing: Narrowing) => {
    const [months, years, month, year] = (["months", "years", "month", "year"] as const).map((shape) =>
      define(scope, shown, narrowing, shape),
    );
    return { months, years, month, year } as Record<Shape, Query<unknown[], Answer>>;
  };
  const whole = statement("", SHOWN, EVERY_LISTING);
  const ofVendor = statement("vendor_", shownOfVendor(vendor), SHOWN_ALONE);
  const narrowed = statement("narrowed_", `${CANDIDATE}, ${SHOWN_OF_CANDIDATE}`, CANDIDATES_ALONE);
  return ({ kind }, isVendorAlone, blocks) => {
    const statements = kind === "workspace" ? (isVendorAlone ? ofVendor : whole) : narrowed;
    const [shape, blockValues] = shapeOf(blocks);
    return (database, ...values) => statements[shape](database, ...values, ...blockValues);
  };
}
