import { makeLink } from "../identity/link.ts";
import { ensurePerson } from "../identity/person.ts";
import type { Connection, Database } from "../store/database.ts";
import { listWorkspacesWithoutMember, putOwner } from "../store/queries/console-member.ts";
import type { LinkPurpose } from "../store/queries/console-link.ts";
import type { PersonRow } from "../store/queries/console-user.ts";
import { OPERATOR } from "./actor.ts";
import type { Actor } from "./actor.ts";
import { recordAction } from "./audit.ts";
import { requireRight } from "./rights.ts";
import type { ConsoleAddress } from "./console-address.ts";
import { quoted, readText } from "./input.ts";
import { impossible } from "./refusal.ts";

/** A link that signs a person in to the console, on https by a new passkey; it is shown this once. */
export type UserLink = {
  user_id: string;
  name: string;
  is_operator: boolean;
  /** The workspaces that the person owns by this call, or owned before it. */
  owner_of: string[];
  link: string;
  expires_at: Date;
};

type Place = { address: ConsoleAddress; now: Date };
type Shop = { shop_key: number; shop_domain: string };

const NAME_MAX_LENGTH = 100;

/**
 * Makes a link for the person of a name, or for the first operator. Makes the person when there is none, and an owner of
 * `workspace`. One for recovery ends the person's passkeys and sessions when it is used. Throws a `Refusal` for a disabled
 * person.
 */
export async function linkUser(
  database: Database,
  actor: Actor,
  request: Place & { name?: string | undefined; workspace: Shop | null; isRecovery?: boolean },
): Promise<UserLink> {
  requireRight(actor, "user.set");
  const { workspace, now } = request;
  const name = request.name === undefined ? null : readText("The name", request.name, NAME_MAX_LENGTH);
  return database.transaction(async (connection) => {
    const person = await findOrMake(connection, actor, name, now);
    if (person.disabled_at !== null) {
      throw impossible(`${quoted(person.name)} is disabled and cannot sign in.`);
    }
    const purpose = request.isRecovery === true ? "recover" : "enter";
    return linkOwner(connection, actor, person, workspace === null ? [] : [workspace], {
      ...request,
      purpose,
    });
  });
}

/**
 * Makes a link for the first operator, as an owner of every workspace that has no member yet; null = that operator is
 * disabled.
 */
export async function linkFirstOperator(database: Database, place: Place): Promise<UserLink | null> {
  return database.transaction(async (connection) => {
    const person = await findOrMake(connection, OPERATOR, null, place.now);
    if (person.disabled_at !== null) return null;
    const workspaces = await listWorkspacesWithoutMember(connection);
    return linkOwner(connection, OPERATOR, person, workspaces, { ...place, purpose: "enter" });
  });
}

async function findOrMake(
  connection: Connection,
  actor: Actor,
  name: string | null,
  now: Date,
): Promise<PersonRow> {
  const { person, isNew } = await ensurePerson(connection, name, now);
  if (isNew) {
    const { user_id: userId, is_operator: isOperator } = person;
    await recordAction(connection, actor, {
      shopKey: null,
      action: "user.create",
      detail: { user_id: userId, is_operator: isOperator },
    });
  }
  return person;
}

async function linkOwner(
  connection: Connection,
  actor: Actor,
  person: PersonRow,
  workspaces: readonly Shop[],
  { address, purpose, now }: Place & { purpose: LinkPurpose },
): Promise<UserLink> {
  const { user_id: userId, name, is_operator: isOperator } = person;
  for (const { shop_key: shopKey } of workspaces) {
    if (await putOwner(connection, shopKey, userId, now)) {
      await recordAction(connection, actor, {
        shopKey,
        action: "member.set",
        detail: { user_id: userId, role: "owner" },
      });
    }
  }
  const { secret, expiresAt } = await makeLink(connection, { userId, purpose, now });
  await recordAction(connection, actor, {
    shopKey: null,
    action: "user.link",
    detail: { user_id: userId, purpose },
  });
  return {
    user_id: userId,
    name,
    is_operator: isOperator,
    owner_of: workspaces.map((workspace) => workspace.shop_domain),
    link: `${address.origin}/enter#${secret}`,
    expires_at: expiresAt,
  };
}
