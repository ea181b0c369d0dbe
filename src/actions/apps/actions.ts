import { newCode } from "../../access/oauth.ts";
import { SCOPES } from "../../contract/endpoint.ts";
import { defineAction, ShownSecret } from "../action.ts";
import type { ActionContext, WorkspaceCaller } from "../action.ts";
import { someOf } from "../field.ts";
import { insertNewToken, SCOPE_WORDS } from "../tokens/actions.ts";
import { insertGrant } from "./queries.ts";

/** What an app asks for, as its request and its registration say. */
export type AppRequest = {
  clientHash: Buffer;
  name: string;
  redirectUri: string;
  codeChallenge: string;
};

/** Until its client must have exchanged a code. */
const CODE_MS = 2 * 60_000;

/**
 * Lets an app in: a token that is expired until the app exchanges the code, the action's secret, and renews it from then on.
 * Only the page of its request runs it.
 */
export const connectApp = defineAction({
  name: "app.connect",
  title: "Allow access",
  about: "Let an app read a workspace (OAuth).",
  past: "Connected an app",
  least: "admin",
  proof: true,
  usesKeys: true,
  input: {
    scopes: someOf(
      "It may read",
      SCOPES.map((scope) => [scope, SCOPE_WORDS[scope]] as const),
    ),
  },
  run: async (context: ActionContext<WorkspaceCaller & { app: AppRequest }>, { scopes }) => {
    const { connection, workspace, keys, now, app } = context;
    const { name, redirectUri, clientHash, codeChallenge } = app;
    const token = { name, scopes, expiresAt: now, replaces: null, requestKey: null };
    const { token_id } = await insertNewToken(context, token);
    const { code, codeHash } = newCode(token_id, keys.tokenPepper);
    const codeExpiresAt = new Date(now.getTime() + CODE_MS);
    await insertGrant(connection, workspace.shop_key, {
      tokenId: token_id,
      clientHash,
      redirectUri,
      codeHash,
      codeChallenge,
      codeExpiresAt,
    });
    return {
      result: { token_id },
      secret: new ShownSecret(code),
      done: `${name} may read ${workspace.shop_domain}.`,
      audit: { detail: { token_id, name, scopes, leads_to: receiverOf(redirectUri) } },
    };
  },
});

/** Who gets the code: a host, or the program of a scheme. */
export function receiverOf(redirectUri: string): string {
  const { host, protocol } = new URL(redirectUri);
  return /^https?:$/u.test(protocol) ? host : `${protocol}//`;
}
