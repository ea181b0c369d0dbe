import { readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";

/** SQL of a database of version 0.2.0: its schema, from the catalogue, and rows in every table. */
export const OF_0_2_0 = readFileSync(join(import.meta.dirname, "../upgrade/0.2.0.sql"), "utf8");

/** Everything of a schema that a migration can change, as one line each. Citus hides its shards only in pg_class. */
const PARTS: Readonly<Record<string, string>> = {
  extensions: "select extname from pg_extension",
  relations: `select n.nspname, c.relname, c.relkind, c.reloptions, c.relacl::text[],
                     case when c.relkind = 'v' then pg_get_viewdef(c.oid) end as definition
                from pg_class c join pg_namespace n on n.oid = c.relnamespace
               where n.nspname in ('public', 'one_shop') and c.relkind in ('r', 'p', 'v', 'm', 'S')`,
  columns: `select n.nspname, c.relname, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull,
                   a.attidentity, a.attgenerated, a.attstorage, a.attacl::text[], l.collname,
                   pg_get_expr(d.adbin, d.adrelid) as default
              from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
              left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum left join pg_collation l on l.oid = a.attcollation
             where n.nspname in ('public', 'one_shop') and c.relkind in ('r', 'p', 'v') and a.attnum > 0`,
  constraints: `select k.conrelid::regclass::text as relation, k.conname, pg_get_constraintdef(k.oid) as definition
                  from pg_constraint k join pg_class c on c.oid = k.conrelid where k.connamespace = 'public'::regnamespace`,
  indexes: `select i.indrelid::regclass::text as relation, pg_get_indexdef(i.indexrelid) as definition, i.indisvalid
              from pg_index i join pg_class c on c.oid = i.indexrelid where c.relnamespace = 'public'::regnamespace`,
  sequences: `select sequencename, data_type::text, start_value, min_value, max_value, increment_by, cycle, cache_size
                from pg_sequences where schemaname = 'public'`,
  functions: `select p.oid::regprocedure::text as name, pg_get_functiondef(p.oid) as definition, p.proacl::text[]
                from pg_proc p where p.pronamespace = 'public'::regnamespace and p.prokind = 'f'
                 and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')`,
};

/** The schema of a database, comparable with that of another on the same server. */
export async function schemaOf(url: string): Promise<Record<string, string[]>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const schema: Record<string, string[]> = {};
    for (const [part, text] of Object.entries(PARTS)) {
      const { rows } = await client.query<{ line: string }>(
        `select to_jsonb(t)::text as line from (${text}) t`,
      );
      schema[part] = rows.map(({ line }) => line).toSorted();
    }
    return schema;
  } finally {
    await client.end();
  }
}
