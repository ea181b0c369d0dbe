import { randomBytes } from "node:crypto";
import type pg from "pg";
import { ROLES } from "../../src/contract/role.ts";
import type { Role } from "../../src/contract/role.ts";
import { newSecret } from "../../src/access/secret.ts";
import { setRole } from "./people.ts";
import { createTenant, insertRows } from "./tenants.ts";
import type { Tenant } from "./tenants.ts";

/** Somebody who asks for pages, as the rights see them. */
export type Asker = {
  name: string;
  /** Of a browser that is signed in; "" = of one that is not. */
  cookie: string;
  /** What they are to the workspace: "nobody" = not signed in, "outsider" = no member of it. */
  standing: Role | "nobody" | "outsider";
  isFresh: boolean;
};

const HOUR_MS = 3_600_000;
const STALE_MS = 11 * 60_000;

/** One asker of each kind, none of whom has asked for anything yet. */
export async function createAskers(database: pg.Pool, tenant: Tenant): Promise<Asker[]> {
  const outsider = { standing: "outsider", isFresh: true } as const;
  const nobody = { standing: "nobody", isFresh: false } as const;
  const [elsewhere, removed, operator, disabled] = await Promise.all(
    [1, 2, 3, 4].map(() => createSignedIn(database, true)),
  );
  if (elsewhere === undefined || removed === undefined || operator === undefined || disabled === undefined) {
    throw new Error("nobody was made");
  }
  await setRole(database, await createTenant(database), elsewhere, "owner");
  await setRole(database, tenant, removed, "owner");
  await database.query("delete from workspace_member where user_id = $1", [removed.userId]);
  await database.query("update console_user set is_operator = true where user_id = $1", [operator.userId]);
  await setRole(database, tenant, disabled, "owner");
  await database.query("update console_user set disabled_at = now() where user_id = $1", [disabled.userId]);
  const members = await Promise.all(
    ROLES.flatMap((role) =>
      [true, false].map(async (isFresh): Promise<Asker> => {
        const person = await createSignedIn(database, isFresh);
        await setRole(database, tenant, person, role);
        return {
          name: `${role}, ${isFresh ? "fresh" : "stale"}`,
          cookie: person.cookie,
          standing: role,
          isFresh,
        };
      }),
    ),
  );
  return [
    { name: "a stranger", cookie: "", ...nobody },
    { name: "an unknown session", cookie: `returns=${newSecret().text}`, ...nobody },
    { name: "a disabled owner", cookie: disabled.cookie, ...nobody },
    { name: "an owner of another workspace", cookie: elsewhere.cookie, ...outsider },
    { name: "a removed owner", cookie: removed.cookie, ...outsider },
    { name: "an operator who is no member", cookie: operator.cookie, ...outsider },
    ...members,
  ];
}

async function createSignedIn(
  database: pg.Pool,
  isFresh: boolean,
): Promise<{ userId: string; cookie: string }> {
  const { rows } = await database.query<{ user_id: string }>(
    "insert into console_user (name) values ($1) returning user_id",
    [`asker-${randomBytes(8).toString("hex")}`],
  );
  const userId = rows[0]?.user_id ?? "";
  const { text, hash } = newSecret();
  const now = Date.now();
  await insertRows(database, "console_session", [
    {
      session_hash: `\\x${hash.toString("hex")}`,
      user_id: userId,
      created_at: new Date(now - HOUR_MS),
      last_seen_at: new Date(now),
      proved_at: new Date(isFresh ? now : now - STALE_MS),
      idle_until: new Date(now + HOUR_MS),
      ends_at: new Date(now + HOUR_MS),
    },
  ]);
  return { userId, cookie: `returns=${text}` };
}
