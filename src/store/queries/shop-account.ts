import { command, query, queryColumn, queryRow } from "../query.ts";

/** Notes which account of a source a shop is connected to. Primary key. */
export const putAccount = command<[shopKey: number, source: string, account: string]>(
  "put_shop_account",
  `insert into shop_account as a (shop_key, source, account) values ($1, $2, $3)
         on conflict (shop_key, source) do update set account = excluded.account where a.account <> excluded.account`,
);

/** Removes the accounts of a shop. Primary key. */
export const deleteAccounts = command<[shopKey: number]>(
  "delete_shop_accounts",
  "delete from shop_account a where a.shop_key = $1",
);

/** Shops of an account of a source, and the one whose own domain it is. shop_account_by_account, and the directory's key. */
export const listAccountShops = queryColumn<number, [source: string, account: string]>(
  "list_account_shops",
  `select a.shop_key from shop_account a where a.source = $1 and a.account = $2
         union
         select d.shop_key from shop_directory d where d.shop_domain = $2
          order by shop_key`,
);

/** A workspace that belongs to an account at a source. */
export type AccountRow = {
  shop_key: number;
  shop_domain: string;
  /** null = the workspace has the account's domain, but was never connected. */
  settings: Record<string, unknown> | null;
  sealed_credentials: Buffer | null;
  status: string | null;
};

/** A shop that the directory found, as its own rows have it; null = they are of another account, or gone. Primary keys. */
export const findAccountWorkspace = queryRow<AccountRow, [shopKey: number, source: string, account: string]>(
  "find_account_workspace",
  `select w.shop_key, w.shop_domain, s.settings, s.sealed_credentials, s.status
           from workspace w
           left join data_source s on s.shop_key = $1 and s.source = $2 and s.is_connection
          where w.shop_key = $1 and coalesce(s.settings ->> 'shop', $3) = $3`,
);

/** A shop of the directory. */
export type ShopAddressRow = { shop_key: number; shop_domain: string };

/** A page of all shops, in the order of their keys. The directory's unique index. */
export const listDirectory = query<ShopAddressRow, [after: number, most: number]>(
  "list_directory",
  `select d.shop_key, d.shop_domain from shop_directory d
          where d.shop_key > $1 order by d.shop_key limit $2`,
);
