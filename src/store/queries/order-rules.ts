import type { Connection } from "../database.ts";
import { command, cursor, queryRow } from "../query.ts";
import { measureDocuments, type StoredOrderRow } from "./order-document.ts";

/** Of a workspace: the rules that it wants, and those that its facts follow; null = from before there were rules. */
type OrderRulesRow = { wanted: unknown; applied: unknown };

/** null = there is no such workspace. Primary key of workspace. */
export const findOrderRules = queryRow<OrderRulesRow, [shopKey: number]>(
  "find_order_rules",
  "select w.order_rules as wanted, w.order_rules_applied as applied from workspace w where w.shop_key = $1",
);

/**
 * Locks a workspace's settings until the transaction ends, before it reads those that it changes: others save theirs before or after.
 * Requests go on. Primary key of workspace.
 */
export const lockSettings = command<[shopKey: number], Connection>(
  "lock_settings",
  "select 1 as is_there from workspace w where w.shop_key = $1 for no key update",
);

/**
 * Records the rules that the facts follow. To be called at the end: until the transaction ends, nobody can save a setting. Primary
 * key of workspace.
 */
export const followOrderRules = command<[shopKey: number, rules: object], Connection>(
  "follow_order_rules",
  "update workspace set order_rules_applied = $2::jsonb where shop_key = $1",
);

/** Orders that two sets of rules may count differently (src/metrics/order-rules.ts). */
type OrderFilter = {
  /** In lower case, for ASCII letters only, like the texts they are compared with. */
  names: readonly string[];
  tags: readonly string[];
  channels: readonly string[];
  areFree: boolean;
  areUnpaid: boolean;
  haveRefundsWithoutRestock: boolean;
};

const lowered = (text: string): string => `lower((${text}) collate "C")`;

/**
 * Opens the cursor over the documents that the filter finds: a scan of the workspace's documents. `from`: ISO 8601; the first
 * moment of orders that are wanted, null = of all. Lines that changed later may count later.
 */
export const openOrdersOfFilter = cursor<
  StoredOrderRow,
  [shopKey: number, filter: OrderFilter, from: string | null]
>(
  "order_of_filter",
  500,
  `select d.order_id, d.document
           from order_document d
          where d.shop_key = $1
            and (exists (select 1 from unnest($2::text[]) n (beginning)
                          where starts_with(${lowered("d.document ->> 'orderName'")}, n.beginning))
                 or exists (select 1 from jsonb_array_elements_text(coalesce(d.document -> 'tags', '[]')) t (tag)
                             where ${lowered("t.tag")} = any($3::text[]))
                 or ${lowered("d.document ->> 'channel'")} = any($4::text[])
                 or ($5::boolean and d.document -> 'free' = 'true')
                 or ($6::boolean and d.document ->> 'unpaidStatus' is not null)
                 or ($7::boolean and d.document @?
                     '$.refunds[*] ? (!exists(@.restockType) || @.restockType == "NO_RESTOCK")'))
            and ($8::text is null or d.document @? '$.lines[*].changes' or d.document ->> 'orderedAt' >= $8
                 or jsonb_path_exists(d.document, '$.lines[*].orderedAt ? (@ >= $from)', jsonb_build_object('from', $8::text)))`,
  measureDocuments,
  (shopKey, filter, from) => [
    shopKey,
    filter.names,
    filter.tags,
    filter.channels,
    filter.areFree,
    filter.areUnpaid,
    filter.haveRefundsWithoutRestock,
    from,
  ],
);
