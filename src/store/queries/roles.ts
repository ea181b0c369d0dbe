import { VIEW_SCHEMA } from "../database.ts";
import { query, queryColumn, queryRow, requireRow, requireValue } from "../query.ts";

/** The roles that exist on this server. */
export const listRoles = queryColumn<string, [names: readonly string[]]>(
  "list_roles",
  "select r.rolname as name from pg_roles r where r.rolname = any ($1) order by 1",
);

/** A right that a role has by itself; `column`: null = the whole table. */
export type HeldRightRow = {
  role_name: string;
  table_name: string;
  privilege: string;
  column_name: string | null;
};

/** The rights of roles with tables and sequences. */
export const listHeldRights = query<HeldRightRow, [roles: readonly string[], tables: readonly string[]]>(
  "list_held_rights",
  `select r.rolname as role_name, c.relname as table_name, lower(x.privilege_type) as privilege, held.column_name
           from pg_class c
          cross join lateral (
            select c.relacl as acl, null as column_name
            union all
            select a.attacl, a.attname::text from pg_attribute a where a.attrelid = c.oid and a.attacl is not null) held
          cross join lateral aclexplode(held.acl) x
           join pg_roles r on r.oid = x.grantee and r.rolname = any ($1)
          where c.relnamespace = 'public'::regnamespace and c.relname = any ($2)`,
);

/** Every column of these tables and sequences, those that are there. */
export const listColumns = query<{ table_name: string; columns: string[] }, [tables: readonly string[]]>(
  "list_columns",
  `select c.relname as table_name,
                array(select a.attname::text from pg_attribute a
                       where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns
           from pg_class c
          where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'S') and c.relname = any ($1)`,
);

/** `is_open`: everybody may call it. `is_safe`: it runs as its owner, with a fixed search path. */
export type FunctionStateRow = {
  name: string;
  signature: string;
  is_safe: boolean;
  is_open: boolean;
  callers: string[];
};

export const FUNCTION_PATH = "pg_catalog, public, pg_temp";

/** Functions of the service by name, and which of the roles may call them. */
export const listFunctionStates = query<
  FunctionStateRow,
  [names: readonly string[], roles: readonly string[]]
>(
  "list_function_states",
  `select p.proname as name, p.oid::regprocedure::text as signature,
                p.prosecdef and coalesce('search_path=${FUNCTION_PATH}' = any (p.proconfig), false) as is_safe,
                has_function_privilege('public', p.oid, 'execute') as is_open,
                array(select r.rolname::text from pg_roles r
                       cross join lateral aclexplode(p.proacl) x
                       where r.oid = x.grantee and r.rolname = any ($2)) as callers
           from pg_proc p
          where p.pronamespace = 'public'::regnamespace and p.proname = any ($1)`,
);

/** Everybody's rights on this database, and whether this login can change them. */
export type DatabaseStateRow = {
  database_name: string;
  /** null = this login cannot change it. */
  temporary_is_open: boolean | null;
  schema_is_open: boolean | null;
  large_objects_are_open: boolean | null;
  may_worker_use_temporary: boolean;
  /** Of the roles, those that cannot reach the tables. */
  outside_schema: string[];
};

/** Functions of the system belong to the first superuser. */
export const findDatabaseState = requireRow<DatabaseStateRow, [roles: readonly string[], worker: string]>(
  "find_database_state",
  `select quote_ident(d.datname) as database_name,
                case when pg_has_role(d.datdba, 'usage')
                     then has_database_privilege('public', d.oid, 'temporary') end as temporary_is_open,
                case when pg_has_role(n.nspowner, 'usage')
                     then has_schema_privilege('public', n.oid, 'create') end as schema_is_open,
                case when u.rolsuper
                     then has_function_privilege('public', 'lo_create(oid)', 'execute') end as large_objects_are_open,
                exists (select from aclexplode(d.datacl) x join pg_roles r on r.oid = x.grantee
                         where r.rolname = $2 and x.privilege_type = 'TEMPORARY') as may_worker_use_temporary,
                array(select r.rolname::text from pg_roles r
                       where r.rolname = any ($1) and not has_schema_privilege(r.oid, n.oid, 'usage')) as outside_schema
           from pg_database d join pg_namespace n on n.nspname = 'public' join pg_roles u on u.rolname = current_user
          where d.datname = current_database()`,
);

export type LoginRow = {
  name: string;
  /** A superuser, or another login that rights do not restrict. */
  is_privileged: boolean;
  may_create: boolean;
  database_name: string;
  /** With the server's start time it distinguishes two copies. */
  database_key: number;
  server_started_at: string;
  is_replica: boolean;
};

/** The login of this connection. */
export const findLogin = requireRow<LoginRow>(
  "find_login",
  `select u.rolname as name,
                u.rolsuper or u.rolbypassrls or u.rolcreaterole or u.rolcreatedb or u.rolreplication as is_privileged,
                has_schema_privilege('public', 'create') or has_database_privilege(current_database(), 'create') as may_create,
                d.datname as database_name, d.oid::bigint as database_key, pg_postmaster_start_time()::text as server_started_at,
                pg_is_in_recovery() as is_replica
           from pg_roles u join pg_database d on d.datname = current_database()
          where u.rolname = current_user`,
);

/** A right with a table; as values of a statement, one array for each member. */
export type RightValues = [tables: string[], privileges: string[], columns: (string | null)[]];

/** The first of these rights that this login lacks; a missing table counts as without rights. */
export const findMissingRight = queryRow<{ table_name: string; privilege: string }, RightValues>(
  "find_missing_right",
  `select w.table_name, w.privilege
           from unnest($1::text[], $2::text[], $3::text[]) w (table_name, privilege, column_name)
           join pg_class c on c.relname = w.table_name and c.relnamespace = 'public'::regnamespace
          where case when w.column_name is null then not has_table_privilege(c.oid, w.privilege)
                     else not has_column_privilege(c.oid, w.column_name, w.privilege) end
          order by 1, 2 limit 1`,
);

/**
 * The first right on these tables ($4) that this login has beyond the given ones: on a whole table, or to write any column of
 * one.
 */
export const findExcessRight = queryRow<
  { table_name: string; privilege: string },
  [...RightValues, tables: readonly string[]]
>(
  "find_excess_right",
  `select c.relname as table_name, p.name as privilege
           from pg_class c cross join unnest('{select,insert,update,delete,truncate}'::text[]) p (name)
          where c.relnamespace = 'public'::regnamespace and c.relname = any ($4)
            and (has_table_privilege(c.oid, p.name)
                   and not exists (select from unnest($1::text[], $2::text[], $3::text[]) w (table_name, privilege, column_name)
                                    where w.table_name = c.relname and w.privilege = p.name and w.column_name is null)
                 or exists (select from pg_attribute a
                             where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                               and p.name in ('select', 'insert', 'update')
                               and has_column_privilege(c.oid, a.attnum, p.name)
                               and not exists (select from unnest($1::text[], $2::text[], $3::text[]) w (table_name, privilege, column_name)
                                                where w.table_name = c.relname and w.privilege = p.name
                                                  and coalesce(w.column_name = a.attname, true))))
          order by 1, 2 limit 1`,
);

/** Whether this login may call a function of the service. */
export const mayCall = requireValue<boolean, [name: string]>(
  "may_call",
  `select coalesce(bool_and(has_function_privilege(p.oid, 'execute')), true) as may_call from pg_proc p
          where p.pronamespace = 'public'::regnamespace and p.proname = $1`,
);

/** A table with a shop_key, a view of it, or both; columns in their order, null = there is none. */
export type WorkspaceViewRow = {
  name: string;
  table_columns: string[] | null;
  view_columns: string[] | null;
};

/** One row per table with a shop_key and per view of one, by name. Names are quoted where necessary. */
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
