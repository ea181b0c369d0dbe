import { command, queryRow } from "../query.ts";

/** What is set up of a workspace. */
export type SetupRow = {
  has_store: boolean;
  has_labels: boolean;
  has_window: boolean;
  has_others: boolean;
  has_token: boolean;
};

/**
 * What is set up; null = the workspace is gone. Primary keys, and audit_event_time: a new workspace has few events, and the
 * list is closed once all of it is done.
 */
export const readSetup = queryRow<SetupRow, [shopKey: number]>(
  "read_setup",
  `select exists (select from data_source s where s.shop_key = $1 and s.kind = 'store'
                    and (s.sealed_credentials is not null or s.last_synced_at is not null)) as has_store,
                exists (select from data_source s where s.shop_key = $1 and s.kind = 'label_cost'
                    and (s.sealed_credentials is not null or s.last_synced_at is not null)) as has_labels,
                exists (select from audit_event a where a.shop_key = $1 and a.action = 'windows.set') as has_window,
                (select count(*) > 1 from workspace_member m where m.shop_key = $1) as has_others,
                exists (select from api_token t where t.shop_key = $1 and t.revoked_at is null) as has_token
           from workspace w where w.shop_key = $1`,
);

/** The overview no longer lists what is left to set up. Primary key. */
export const closeSetupList = command<[shopKey: number]>(
  "close_setup_list",
  "update workspace set is_setup_open = false where shop_key = $1 and is_setup_open",
);
