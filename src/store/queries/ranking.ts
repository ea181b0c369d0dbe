import { query, requireRow, type Query } from "../query.ts";
import type { Workspace } from "../workspace.ts";
import {
  CANDIDATE,
  CHOSEN,
  CHOSEN_SKUS,
  FOUND,
  SHOWN,
  SHOWN_OF_CANDIDATE,
  vendorFound,
} from "./selection.ts";
import type { Found, Selection } from "./selection.ts";
import { CANDIDATES_ALONE, EVERY_LISTING, exactSums, listingParts } from "./sku-rollup.ts";
import type { Narrowing, OtherBlocks, Blocks } from "./sku-rollup.ts";

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

/** A ranking of SKUs as statements: over a workspace, over the SKUs of one vendor, and over a selection. */
type RankingStatements<Answer> = (
  selection: Selection,
  isVendorAlone: boolean,
  blocks: Blocks,
) => Query<unknown[], Answer>;

/**
 * `name` follows "load_"; `vendor`: the parameter that names one, of so many `parameters`; `steps`: what follows `ranked`, the
 * sums of `columns` by SKU over the blocks inside $8 days, quarters in $6 and months in $7; it ends with `first` and `total`.
 * `rows`: the rows of `first` as JSON.
 */
export function rankingStatements<Answer extends Ranking<unknown>>(
  name: string,
  parts: {
    columns: readonly string[];
    vendor: string;
    parameters: number;
    steps: (narrowing: Narrowing) => string;
    rows: string;
  },
): RankingStatements<Answer> {
  const { columns, vendor, parameters, steps, rows } = parts;
  const years = { years: `$${parameters + 1}`, lessMonths: `$${parameters + 2}` };
  const define = (scope: string, shown: string, narrowing: Narrowing, others: OtherBlocks | null) =>
    requireRow<Answer, unknown[]>(
      `load_${scope}${name}${others === null ? "" : "_of_years"}`,
      `with ${CHOSEN}, ${shown}, ${listingParts(columns, narrowing, others)}, ranked as (
    select p.sku, ${exactSums("p", columns)} from part p where p.sku <> '' group by p.sku
    ${others === null ? "" : "having sum(p.sold_units::float8) > 0"}
  ), ${steps(narrowing)}
  select ${FOUND}, ${vendorFound(vendor)} as vendor_known, ${CHOSEN_SKUS} as skus, t.*,
         coalesce((select ${rows} from first f left join shown s on s.sku = f.sku), '[]') as rows
    from total t`,
    );
  // Without years most rankings read a month: looking for years in vain takes as long.
  const statement = (scope: string, shown: string, narrowing: Narrowing) => {
    const plain = define(scope, shown, narrowing, null);
    const ofYears = define(scope, shown, narrowing, years);
    return ({ years: lastMonths, lessMonths }: Blocks): Query<unknown[], Answer> =>
      lastMonths.length + lessMonths.length === 0
        ? plain
        : (database, ...values) => ofYears(database, ...values, lastMonths, lessMonths);
  };
  const vendorAlone: Narrowing = (sku) =>
    `and ${sku} in (select s.sku from sku s where s.shop_key = $1 and s.vendor = ${vendor})`;
  const whole = statement("", SHOWN, EVERY_LISTING);
  const ofVendor = statement("vendor_", SHOWN, vendorAlone);
  const narrowed = statement("narrowed_", `${CANDIDATE}, ${SHOWN_OF_CANDIDATE}`, CANDIDATES_ALONE);
  return ({ kind }, isVendorAlone, blocks) =>
    (kind === "workspace" ? (isVendorAlone ? ofVendor : whole) : narrowed)(blocks);
}

/** What a leaderboard shows of one SKU's product, with the picture of its variant if that has one. */
type LeaderboardProductRow = {
  sku: string;
  product_gid: string | null;
  product_title: string | null;
  handle: string | null;
  vendor: string | null;
  image_url: string | null;
  image_alt: string | null;
};

/** One row per ranked SKU that the catalogue knows, with the product to show; primary keys of sku and product. */
export const loadLeaderboardProducts = query<
  LeaderboardProductRow,
  [workspace: Workspace, rows: readonly { sku: string; product_gid: string | null }[]]
>(
  "load_leaderboard_products",
  `select s.sku, p.product_gid, coalesce(p.title, s.product_title) as product_title, p.handle,
                case when p.product_gid is null then s.vendor else p.vendor end as vendor,
                coalesce(s.image_url, p.image_url) as image_url, case when s.image_url is null then p.image_alt end as image_alt
           from unnest($2::text[], $3::text[]) r (sku, product_gid)
           join sku s on s.shop_key = $1 and s.sku = r.sku
           left join product p on p.shop_key = $1 and p.product_gid = r.product_gid`,
  (workspace, rows) => [workspace.shopKey, rows.map((row) => row.sku), rows.map((row) => row.product_gid)],
);
