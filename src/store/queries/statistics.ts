import { command } from "../query.ts";

/** Analyzes the shards that hold a shop's rows of these tables, on its node alone. What a node refuses is left out. */
export const analyzeShards = command<[shopKey: number, tables: readonly string[]]>(
  "analyze_shards",
  `select done.success
           from (select array_agg(n.nodename::text) as hosts, array_agg(n.nodeport) as ports,
                        array_agg('analyze ' || shard_name(shard.table_name, shard.shard_id)) as commands
                   from (select t.name::regclass as table_name,
                                get_shard_id_for_distribution_column(t.name::regclass, $1::bigint) as shard_id
                           from unnest($2::text[]) t (name)) shard
                   join pg_dist_placement p on p.shardid = shard.shard_id
                   join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary') here,
                master_run_on_worker(here.hosts, here.ports, here.commands, false) done`,
);

/** What an import writes. */
export const FACT_TABLES = [
  "product",
  "variant",
  "sku",
  "entity",
  "order_document",
  "return_label",
  "order_line",
  "return_event",
  "return_request",
  "label_share",
  "cohort",
  "listing",
  "sku_quarter",
  "group_day",
  "unmatched_label",
] as const;

/** One server analyzes a table as a whole, by a sample whose size does not grow with it. */
export const analyzeFacts = command<[]>("analyze_data", `analyze ${FACT_TABLES.join(", ")}`);

export const analyzeFetched = command<[]>("analyze_sync_records", "analyze sync_record");
