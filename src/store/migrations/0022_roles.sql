-- Works with 0014_erasure.

-- Gives the planner the sizes of one table, of which a distributed database looks at the shop's shard alone, on its node. Only
-- the owner of a table may analyze it: the function does so for workers, who are not.
create or replace function analyze_shop(p_shop_key bigint, p_table text) returns void
  language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
  is_distributed boolean := false;
begin
  if to_regproc('create_distributed_table') is not null then
    execute 'select exists (select from pg_dist_partition where logicalrelid = $1::regclass)'
      into is_distributed using format('public.%I', p_table);
  end if;
  if not is_distributed then
    execute format('analyze public.%I', p_table);
    return;
  end if;
  -- What a node refuses is left out.
  execute 'select done.success
             from pg_dist_placement p join pg_dist_node n on n.groupid = p.groupid and n.noderole = ''primary''
            cross join lateral master_run_on_worker(array[n.nodename::text], array[n.nodeport],
                                 array[format(''analyze %s'', shard_name($2::regclass, p.shardid))], false) done
            where p.shardid = get_shard_id_for_distribution_column($2::regclass, $1)'
    using p_shop_key, format('public.%I', p_table);
end $$;
revoke execute on function analyze_shop(bigint, text) from public;
