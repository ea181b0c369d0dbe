import { VIEW_SCHEMA } from "../database.ts";
import { query, requireValue } from "../query.ts";

/** A table with a shop_key, a view of it, or both; columns in their order, null = there is none. */
export type WorkspaceViewRow = {
  name: string;
  table_columns: string[] | null;
  view_columns: string[] | null;
};

/** One row per table with a shop_key and per view of one, by name. Names are quoted where they have to be. */
export const listWorkspaceViews = query<WorkspaceViewRow>(
  "list_workspace_views",
  `with relation as (
           select c.relname, c.relkind = 'v' as is_view,
                  (select array_agg(quote_ident(a.attname) order by a.attnum) from pg_attribute a
                    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns
             from pg_class c
             join pg_namespace n on n.oid = c.relnamespace
            where n.nspname = 'public' and c.relkind in ('r', 'p') or n.nspname = '${VIEW_SCHEMA}' and c.relkind = 'v'
         )
         select quote_ident(coalesce(t.relname, v.relname)) as name, t.columns as table_columns, v.columns as view_columns
           from (select * from relation where not is_view and 'shop_key' = any (columns)) t
           full join (select * from relation where is_view) v using (relname)
          order by 1`,
);

/** Whether this login may read the views: on a node that joined a Citus later nobody may. */
export const readsViews = requireValue<boolean>(
  "reads_views",
  `select coalesce(bool_and(has_table_privilege(c.oid, 'select')), true) as reads_views
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = '${VIEW_SCHEMA}' and c.relkind = 'v'`,
);

/** Whether the names of tables lead this connection to the views first. */
export const findsViewsFirst = requireValue<boolean>(
  "finds_views_first",
  `select split_part(current_setting('search_path'), ',', 1) = '${VIEW_SCHEMA}' as finds_views_first`,
);
