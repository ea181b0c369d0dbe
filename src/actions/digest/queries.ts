import type { Member } from "../../store/workspace.ts";
import { command, queryAny, queryRow } from "../../store/query.ts";

export type DigestRow = {
  /** "" = it is off. */
  address: string;
  time_zone: string;
  asked_at: Date;
  /** null = the address has not confirmed it, or refuses mail. */
  due_at: Date | null;
  last_sent_at: Date | null;
  last_problem: string | null;
};

/** A member's digest, by primary key; null = they have none. */
export const findDigest = queryRow<DigestRow, [shopKey: number, userId: string]>(
  "find_digest",
  `select address, time_zone, asked_at, due_at, last_sent_at, last_problem
     from weekly_digest where shop_key = $1 and user_id = $2`,
);

type NewDigest = Pick<DigestRow, "address" | "time_zone" | "asked_at" | "due_at">;

/** Creates or changes a member's digest, by primary key. */
export const putDigest = command<[shopKey: number, userId: string, digest: NewDigest]>(
  "put_digest",
  `insert into weekly_digest (shop_key, user_id, address, time_zone, asked_at, due_at) values ($1, $2, $3, $4, $5, $6)
   on conflict (shop_key, user_id) do update
     set address = $3, time_zone = $4, asked_at = $5, due_at = $6, failures = 0, last_problem = null`,
  ["address", "time_zone", "asked_at", "due_at"],
);

/** Deletes the address, and keeps when one was last asked to confirm; false = it was off already. By primary key. */
export const endDigests = queryAny<[shopKey: number, userId: string]>(
  "end_digests",
  `update weekly_digest set address = '', due_at = null
    where shop_key = $1 and user_id = $2 and address <> '' returning 1 as gone`,
);

export type DueDigest = {
  shop_key: number;
  user_id: string;
  address: string;
  time_zone: string;
  failures: number;
};

/** Takes the digest that has been due for longest, which until `lease` no other worker does; null = none is: weekly_digest_due. */
export const claimDigest = queryRow<DueDigest, [now: Date, lease: Date]>(
  "claim_digest",
  `update weekly_digest d set due_at = $2
     from (select shop_key, user_id from weekly_digest where due_at <= $1
            order by due_at limit 1 for update skip locked) f
    where d.shop_key = f.shop_key and d.user_id = f.user_id
    returning d.shop_key, d.user_id, d.address, d.time_zone, d.failures`,
);

/** How a claimed digest ended; one that was changed meanwhile keeps its change. By primary key. */
export const endDigest = command<
  [
    due: DueDigest,
    lease: Date,
    end: { dueAt: Date | null; failures: number; sentAt: Date | null; problem: string | null },
  ]
>(
  "end_digest",
  `update weekly_digest set due_at = $4, failures = $5, last_sent_at = coalesce($6, last_sent_at), last_problem = $7
    where shop_key = $1 and user_id = $2 and due_at = $3`,
  ({ shop_key: shopKey, user_id: userId }, lease, { dueAt, failures, sentAt, problem }) => [
    shopKey,
    userId,
    lease,
    dueAt,
    failures,
    sentAt,
    problem,
  ],
);

/** Who gets a digest, while they are a member who may sign in: primary keys; null = they are none. */
export const findReader = queryRow<
  { role: Member["role"]; shop_domain: string; workspace_name: string },
  [shopKey: number, userId: string]
>(
  "find_reader",
  `select m.role, d.shop_domain, coalesce(d.display_name, d.shop_domain) as workspace_name
     from workspace_member m
     join console_user u on u.user_id = m.user_id
     join shop_directory d on d.shop_key = m.shop_key
    where m.shop_key = $1 and m.user_id = $2 and u.disabled_at is null`,
);
