-- Works with 0015_upgrades.

-- Alerts of early warnings that go on are open; older ones have no state.
update alert a
   set metadata = jsonb_set(jsonb_set(a.metadata, '{started_on}', a.metadata -> 'as_of'), '{state}', '"open"')
  from warning_episode e, workspace w
 where e.shop_key = a.shop_key and w.shop_key = a.shop_key
   and a.metadata ->> 'kind' = 'early_warning' and a.metadata ->> 'episode_id' = e.episode_id
   and (e.is_announced or e.has_warned) and e.latest_on >= w.warned_on - 45;
