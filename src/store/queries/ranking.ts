import { query, requireRow } from "../query.ts";
import type { Query } from "../query.ts";
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
import { CANDIDATES_ALONE, EVERY_LISTING, exactSums, listingParts } from "./sku-quarter.ts";
import type { Narrowing } from "./sku-quarter.ts";

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
type RankingStatements<Answer> = (selection: Selection, isVendorAlone: boolean) => Query<unknown[], Answer>;

/**
 * `name` follows "load_"; `vendor`: the parameter that names one; `steps`: what follows `ranked`, the sums of `columns` by
 * SKU over quarters $6 and months $7 inside $8 days; it ends with `first` and `total`. `rows`: the rows of `first` as JSON.
 */
export function rankingStatements<Answer extends Ranking<unknown>>(
  name: string,
  parts: {
    columns: readonly string[];
    vendor: string;
    steps: (narrowing: Narrowing) => string;
    rows: string;
  },
): RankingStatements<Answer> {
  const { columns, vendor, steps, rows } = parts;
  const statement = (scope: string, shown: string, narrowing: Narrowing): Query<unknown[], Answer> =>
    requireRow<Answer, unknown[]>(
      `load_${scope}${name}`,
      `with ${CHOSEN}, ${shown}, ${listingParts(columns, narrowing)}, ranked as (
    select p.sku, ${exactSums("p", columns)} from part p where p.sku <> '' group by p.sku
  ), ${steps(narrowing)}
  select ${FOUND}, ${vendorFound(vendor)} as vendor_known, ${CHOSEN_SKUS} as skus, t.*,
         coalesce((select ${rows} from first f left join shown s on s.sku = f.sku), '[]') as rows
    from total t`,
    );
  const vendorAlone: Narrowing = (sku) =>
    `and ${sku} in (select s.sku from sku s where s.shop_key = $1 and s.vendor = ${vendor})`;
  const whole = statement("", SHOWN, EVERY_LISTING);
  const ofVendor = statement("vendor_", SHOWN, vendorAlone);
  const narrowed = statement("narrowed_", `${CANDIDATE}, ${SHOWN_OF_CANDIDATE}`, CANDIDATES_ALONE);
  return ({ kind }, isVendorAlone) => (kind === "workspace" ? (isVendorAlone ? ofVendor : whole) : narrowed);
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
