import type { Connection } from "../database.ts";
import { command, inOrder } from "../query.ts";

const INSERT_UNMATCHED = `insert into unmatched_label (shop_key, source, label_id, charged_on, amount_minor)
  select b.shop_key, b.source, b.label_id, (b.charged_at at time zone 'UTC')::date, b.amount_minor
    from return_label b
    join workspace w on w.shop_key = $1 and w.currency_code = b.currency_code
   where b.shop_key = $1 and b.voided_at is null
     and not exists (
       select from label_share s where s.shop_key = $1 and s.source = b.source and s.label_id = b.label_id)`;

/**
 * M10: brings some labels of a source up to date among the unmatched; belongs after they were split. Primary keys of
 * unmatched_label and return_label, label_share_by_label.
 */
export const refreshUnmatched = inOrder<
  [shopKey: number, source: string, labelIds: readonly string[]],
  void,
  Connection
>(
  command(
    "remove_unmatched",
    "delete from unmatched_label u where u.shop_key = $1 and u.source = $2 and u.label_id = any($3)",
  ),
  command("insert_unmatched", `${INSERT_UNMATCHED} and b.source = $2 and b.label_id = any($3)`),
);

/** M10: recomputes the unmatched labels of a shop. Reads all its labels. */
export const refreshAllUnmatched = inOrder<[shopKey: number], void, Connection>(
  command("remove_all_unmatched", "delete from unmatched_label where shop_key = $1"),
  command("insert_all_unmatched", INSERT_UNMATCHED),
);
