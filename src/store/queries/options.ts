import { queryColumn, queryValue } from "../query.ts";
import type { Workspace } from "../workspace.ts";
import { lowered } from "./selection.ts";

/** How the workspace writes the name of an option, which is compared without case (M22); null = no variant has it. Primary key of variant. */
export const findOptionName = queryValue<string, [workspace: Workspace, name: string]>(
  "find_option_name",
  `select e.entry ->> 'name' as name
     from variant v cross join jsonb_array_elements(v.options) e (entry)
    where v.shop_key = $1 and ${lowered("e.entry ->> 'name'")} = ${lowered("$2::text")}
    order by v.variant_id limit 1`,
  ({ shopKey }, name) => [shopKey, name],
);

/** The names of the options of the workspace's variants, those of most variants first. Reads all variants of the workspace. */
export const listOptionNames = queryColumn<string, [workspace: Workspace]>(
  "list_option_names",
  `select min(e.entry ->> 'name' collate "C") as name
     from variant v cross join jsonb_array_elements(v.options) e (entry)
    where v.shop_key = $1
    group by ${lowered("e.entry ->> 'name'")}
    order by count(*) desc, 1 limit 1000`,
  ({ shopKey }) => [shopKey],
);
