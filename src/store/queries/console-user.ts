import type { Connection } from "../database.ts";
import { command, query, queryAny, queryColumn, queryRow, requireRow, queryValue } from "../query.ts";

/** A person who uses the console. */
export type PersonRow = {
  user_id: string;
  name: string;
  is_operator: boolean;
  /** null = may sign in. */
  disabled_at: Date | null;
};

export const COLUMNS = "u.user_id, u.name, u.is_operator, u.disabled_at";
/** In SQL, each as "shop.example (owner)". */
export const MEMBERSHIPS = `array(select d.shop_domain || ' (' || m.role || ')'
                            from workspace_member m join shop_directory d on d.shop_key = m.shop_key
                           where m.user_id = u.user_id order by d.shop_domain)`;

/** The operator who has been one for longest and may sign in: a scan, of some dozens of people. */
export const findFirstOperator = queryRow<PersonRow>(
  "find_first_operator",
  `select ${COLUMNS} from console_user u
    where u.is_operator and u.disabled_at is null order by u.created_at, u.user_id limit 1`,
);

export const insertPerson = requireRow<PersonRow, [name: string, isOperator: boolean, now: Date]>(
  "insert_person",
  `insert into console_user as u (name, is_operator, created_at) values ($1, $2, $3) returning ${COLUMNS}`,
);

/** A person by primary key, locked until the transaction ends; null: deleted. */
export const lockPerson = queryRow<PersonRow, [userId: string], Connection>(
  "lock_person",
  `select ${COLUMNS} from console_user u where u.user_id = $1 for update`,
);

/** The memberships of a person, locked until the transaction ends: workspace_member_user. */
export const lockMemberships = query<{ shop_key: number }, [userId: string], Connection>(
  "lock_memberships",
  "select m.shop_key from workspace_member m where m.user_id = $1 order by m.shop_key for update",
);

/** Records which workspace a person opened, and when, by primary key. */
export const noteSeen = command<[userId: string, shopKey: number, now: Date]>(
  "note_seen",
  "update console_user set last_shop_key = $2, last_seen_at = $3 where user_id = $1",
);

/** Whether a person has looked at no page yet and has neither passkey nor linked account: primary keys, and both by person. */
export const isNewcomer = queryAny<[userId: string]>(
  "is_newcomer",
  `select 1 as is_new from console_user u
    where u.user_id = $1 and u.last_seen_at is null
      and not exists (select from console_passkey p where p.user_id = u.user_id)
      and not exists (select from provider_account a where a.user_id = u.user_id)`,
);

/** A valid session, and whose it is. */
type SessionRow = {
  user_id: string;
  name: string;
  is_operator: boolean;
  last_seen_at: Date;
  ends_at: Date;
  /** When the person last confirmed their identity. */
  proved_at: Date;
  last_shop_key: number | null;
};

type NewSession = {
  sessionHash: Buffer;
  userId: string;
  createdAt: Date;
  /** When the person confirmed who they are. */
  provedAt: Date;
  idleUntil: Date;
  endsAt: Date;
  /** Of a session that began at an identity provider: null = it did not. */
  idToken: string | null;
  /** That provider named the group of operators. */
  isOperator: boolean;
};

export const insertSession = command<[session: NewSession]>(
  "insert_session",
  `insert into console_session
     (session_hash, user_id, created_at, last_seen_at, proved_at, idle_until, ends_at, id_token, is_operator)
   values ($1, $2, $3, $3, $4, $5, $6, $7, $8)`,
  ["sessionHash", "userId", "createdAt", "provedAt", "idleUntil", "endsAt", "idToken", "isOperator"],
);

const SESSION = `select u.user_id, u.name, u.is_operator or s.is_operator as is_operator, s.last_seen_at, s.ends_at, s.proved_at, u.last_shop_key
     from console_session s join console_user u on u.user_id = s.user_id
    where s.session_hash = $1 and u.disabled_at is null and s.idle_until >`;

/** A session by primary key; null = there is none, it has ended, or its person is disabled. */
export const findSession = queryRow<SessionRow, [sessionHash: Buffer, now: Date]>(
  "find_session",
  `${SESSION} $2`,
);

/** The same by the database's clock, locked until the transaction ends. */
export const holdSession = queryRow<SessionRow, [sessionHash: Buffer], Connection>(
  "hold_session",
  `${SESSION} now() for key share of s`,
);

/** Records the use of a session, by primary key. */
export const touchSession = command<[sessionHash: Buffer, now: Date, idleUntil: Date]>(
  "touch_session",
  "update console_session set last_seen_at = $2, idle_until = $3 where session_hash = $1",
);

/** Renews the id of a session after reauthentication, by primary key; false = it has ended. `mayOperate`: it keeps an operator's rights. */
export const renewSession = queryAny<
  [
    userId: string,
    sessionHash: Buffer,
    now: Date,
    renewed: Pick<NewSession, "sessionHash" | "provedAt" | "idleUntil"> & { mayOperate: boolean },
  ]
>(
  "renew_session",
  `update console_session
      set session_hash = $4, proved_at = $5, last_seen_at = $3, idle_until = least($6, ends_at),
          is_operator = is_operator and $7
    where session_hash = $2 and user_id = $1 and idle_until > $3 returning 1 as renewed`,
  ["sessionHash", "provedAt", "idleUntil", "mayOperate"],
);

/** A session as its person sees it. */
export type ListedSession = { session_hash: Buffer; created_at: Date; last_seen_at: Date };

/** The running sessions of a person, newest first. console_session_user. */
export const listSessions = query<ListedSession, [userId: string, now: Date]>(
  "list_sessions",
  `select s.session_hash, s.created_at, s.last_seen_at from console_session s
    where s.user_id = $1 and s.idle_until > $2 order by s.created_at desc, s.session_hash`,
);

/** A session that ended; `id_token`: what its provider gets at sign-out, null = the session did not begin at a provider. */
export type EndedSession = { user_id: string; id_token: string | null };

/** Ends a session, by primary key; null = there is none. */
export const deleteSession = queryRow<EndedSession, [sessionHash: Buffer]>(
  "delete_session",
  "delete from console_session where session_hash = $1 returning user_id, id_token",
);

/** Ends all sessions of a person. console_session_user. */
export const deleteSessions = command<[userId: string]>(
  "delete_sessions",
  "delete from console_session where user_id = $1",
);

/**
 * Takes an operator's rights from sessions that have them by a group at an identity provider, unless their person has signed in
 * as a member of this one since, as the audit says; null: of none. A scan, of some hundreds, and identity_event_time.
 */
export const endGroupOperators = command<[issuer: string | null, group: string | null]>(
  "end_group_operators",
  `update console_session s set is_operator = false
    where s.is_operator and not exists (
      select from identity_event e
       where e.happened_at > s.created_at - interval '1 hour' and e.action = 'session.begin' and e.actor = 'user:' || s.user_id
         and e.detail ->> 'group' = $2 and rtrim(e.detail ->> 'issuer', '/') = rtrim($1, '/'))`,
);

/** Ends a person's other sessions except the newest ones. console_session_user. */
export const deleteOtherSessions = command<[userId: string, sessionHash: Buffer, kept: number]>(
  "delete_other_sessions",
  `delete from console_session
    where session_hash in (select s.session_hash from console_session s
                            where s.user_id = $1 and s.session_hash <> $2
                            order by s.created_at desc, s.session_hash offset $3)`,
);

/** A link's purpose; "recover" ends the person's passkeys and sessions. */
export type LinkPurpose = "enter" | "invite" | "recover";

export type NewLink = {
  linkHash: Buffer;
  userId: string;
  purpose: LinkPurpose;
  createdAt: Date;
  expiresAt: Date;
  /** Its creator, and its workspace; null: an operator, and none. */
  madeBy: string | null;
  shopKey: number | null;
  /** Whose verified address may use it by single sign-on; null = nobody's. */
  email: string | null;
};

/** In SQL, everything that a person may do: their roles by workspace, and whether they are an operator. */
const rightsOf = (userId: string): string =>
  `(select concat_ws(' ', case when p.is_operator then 'operator' end,
                     (select string_agg(r.shop_key || ':' || r.role, ' ' order by r.shop_key)
                        from workspace_member r where r.user_id = p.user_id))
      from console_user p where p.user_id = ${userId})`;

/** In SQL, whether the person of a link `l` has the same rights as when it was created. */
export const HAS_ITS_RIGHTS = `l.rights is not distinct from ${rightsOf("l.user_id")}`;

/** The link stores its person's current rights: after any change of these it no longer works. */
export const insertLink = command<[link: NewLink]>(
  "insert_link",
  // Not "values", in which Citus takes no subquery.
  `insert into console_link (link_hash, user_id, purpose, created_at, expires_at, made_by, leads_to, email, rights)
   select $1, $2, $3, $4, $5, $6, $7, $8, ${rightsOf("$2")}`,
  ["linkHash", "userId", "purpose", "createdAt", "expiresAt", "madeBy", "shopKey", "email"],
);

/** Content of a link's page, in any state. */
export type DescribedLink = {
  user_id: string;
  purpose: LinkPurpose;
  name: string;
  /** Why it no longer works; null: it does. */
  closed: "disabled" | "used" | "expired" | "changed" | null;
  expires_at: Date;
  maker_name: string | null;
  /** It may be used by single sign-on. */
  has_email: boolean;
  /** null: no workspace, or the person is no longer a member of it. */
  workspace_name: string | null;
  role: "viewer" | "admin" | "owner" | null;
};

/** Primary keys; null = there is no such link. */
export const describeLink = queryRow<DescribedLink, [linkHash: Buffer, now: Date]>(
  "describe_link",
  `select l.user_id, l.purpose, u.name, l.expires_at, k.name as maker_name, l.email is not null as has_email,
          case when u.disabled_at is not null then 'disabled' when l.used_at is not null then 'used'
               when l.expires_at <= $2 then 'expired' when not (${HAS_ITS_RIGHTS}) then 'changed' end as closed,
          coalesce(d.display_name, d.shop_domain) as workspace_name, m.role
     from console_link l
     join console_user u on u.user_id = l.user_id
     left join console_user k on k.user_id = l.made_by
     left join (workspace_member m join shop_directory d on d.shop_key = m.shop_key)
       on m.shop_key = l.leads_to and m.user_id = l.user_id
    where l.link_hash = $1`,
);

/** Invalidates every link of a person, and returns for which addresses they were: a scan, of the links of some days. */
export const deleteLinks = queryColumn<string | null, [userId: string]>(
  "delete_links",
  "delete from console_link where user_id = $1 returning email",
);

/**
 * Consumes a link, by primary key; false = there is no such link, it was used or has expired, or its person's rights have
 * changed. Of several requests at once one succeeds: the others wait for its row, and then find it used.
 */
export const useLink = queryAny<[linkHash: Buffer, now: Date]>(
  "use_link",
  `update console_link l set used_at = $2
    where l.link_hash = $1 and l.used_at is null and l.expires_at > $2 and ${HAS_ITS_RIGHTS}
    returning 1 as used`,
);

/** The purpose of a challenge. */
export type ChallengePurpose = "enrol" | "sign_in" | "prove";

/** Records that a challenge was used, until it would have expired; false = it was used before. By primary key. */
export const putUsedChallenge = queryAny<
  [challenge: { hash: Buffer; purpose: ChallengePurpose; expiresAt: Date }]
>(
  "put_used_challenge",
  `insert into console_challenge (challenge_hash, purpose, expires_at) values ($1, $2, $3)
   on conflict (challenge_hash) do nothing returning 1 as first`,
  ["hash", "purpose", "expiresAt"],
);

/** The public half of a passkey, and whose it is. */
type PasskeyRow = {
  credential_id: Buffer;
  user_id: string;
  /** The host name that it was made for. */
  rp_id: string;
  /** As COSE. */
  public_key: Buffer;
  /** 0 = its authenticator does not count. */
  counter: number;
};

/** A passkey as its person sees it. */
export type ListedPasskey = {
  credential_id: Buffer;
  rp_id: string;
  transports: string[];
  name: string;
  created_at: Date;
  /** null = never since it was made */
  last_used_at: Date | null;
};

export type NewPasskey = {
  credentialId: Buffer;
  rpId: string;
  publicKey: Buffer;
  counter: number;
  transports: readonly string[];
};

/** Stores a passkey; false = it is known already, even as another person's. */
export const insertPasskey = queryAny<[userId: string, name: string, now: Date, passkey: NewPasskey]>(
  "insert_passkey",
  `insert into console_passkey
     (user_id, name, created_at, credential_id, rp_id, public_key, counter, transports)
   values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (credential_id) do nothing returning 1 as made`,
  ["credentialId", "rpId", "publicKey", "counter", "transports"],
);

/** A passkey by primary key; null = it is not known here. */
export const findPasskey = queryRow<PasskeyRow, [credentialId: Buffer]>(
  "find_passkey",
  `select p.credential_id, p.user_id, p.rp_id, p.public_key, p.counter
     from console_passkey p where p.credential_id = $1`,
);

/** The passkeys of a person, oldest first. console_passkey_user. */
export const listPasskeys = query<ListedPasskey, [userId: string]>(
  "list_passkeys",
  `select p.credential_id, p.rp_id, p.transports, p.name, p.created_at, p.last_used_at
     from console_passkey p where p.user_id = $1 order by p.created_at, p.credential_id`,
);

/** Records the use of a passkey, by primary key; false: it is gone, or its counter did not increase. */
export const usePasskey = queryAny<[credentialId: Buffer, counter: number, now: Date]>(
  "use_passkey",
  `update console_passkey set counter = $2, last_used_at = $3
    where credential_id = $1 and (counter < $2 or (counter = 0 and $2 = 0)) returning 1 as used`,
);

/** Removes one passkey of a person, by primary key, and returns its name; null = the person has no such passkey. */
export const deletePasskey = queryValue<string, [userId: string, credentialId: Buffer]>(
  "delete_passkey",
  "delete from console_passkey where user_id = $1 and credential_id = $2 returning name",
);

/** Removes all passkeys of a person. console_passkey_user. */
export const deletePasskeys = command<[userId: string]>(
  "delete_passkeys",
  "delete from console_passkey where user_id = $1",
);
