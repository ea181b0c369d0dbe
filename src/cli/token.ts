import { OPERATOR } from "../control/actor.ts";
import { endToken, issueToken, rotateToken, showTokens } from "../control/token.ts";
import type { IssuedToken } from "../control/token.ts";
import type { CommandGroup, CommandSession } from "./command.ts";
import type { Terminal } from "./terminal.ts";

const TOKEN_ID = { "<token-id>": "its id, from `token list`" };

type CreateOptions = { name: string; scopes: string; expires?: string };

export const TOKEN: CommandGroup = {
  name: "token",
  summary: "Access tokens of a workspace.",
  commands: [
    {
      name: "create",
      summary: "Create a token and print it, once, on standard output.",
      forWorkspace: true,
      needsKeys: true,
      required: {
        "--name <name>": "what it is for",
        "--scopes <list>": "read:dashboard, read:reports, read:exports, read:alerts",
      },
      options: { "--expires <when>": "90d, 12h or a future date-time (default: never)" },
      examples: [
        "./returns token create --workspace shop.example --name analyst --scopes read:dashboard,read:reports",
        "TOKEN=$(./returns token create --workspace shop.example --name ci --scopes read:alerts --expires 90d)",
      ],
      run: async ({ database, keys, terminal, workspace }: CommandSession, options: CreateOptions) => {
        const request = { ...options, now: new Date() };
        printIssued(terminal, await issueToken(database, OPERATOR, workspace, keys.tokenPepper, request));
      },
    },
    {
      name: "list",
      summary: "Show a workspace's tokens, without their secrets.",
      forWorkspace: true,
      run: async ({ database, terminal, workspace }) =>
        terminal.printTable(await showTokens(database, workspace, new Date()), {
          "token id": "token_id",
          name: "name",
          status: "status",
          scopes: "scopes",
          created: "created_at",
          expires: "expires_at",
          "last used": "last_used_at",
        }),
    },
    {
      name: "revoke",
      summary: "Revoke a token; requests with it fail from now on.",
      arguments: TOKEN_ID,
      forWorkspace: true,
      confirms: true,
      examples: ["./returns token revoke 0000000000142MPX --workspace shop.example"],
      run: async ({ database, terminal, workspace, confirm }: CommandSession, tokenId: string) => {
        await confirm(`Requests with the token ${tokenId} fail from now on. Revoke it?`);
        const ended = await endToken(database, OPERATOR, workspace, { tokenId });
        terminal.print(ended, `${ended.token_id}  revoked since ${ended.revoked_at.toISOString()}\n`);
      },
    },
    {
      name: "rotate",
      summary: "Replace a token with a new one of the same name, scopes and lifetime.",
      arguments: TOKEN_ID,
      forWorkspace: true,
      needsKeys: true,
      options: { "--overlap <time>": "how long the old one stays valid: 24h, 7d (default: not at all)" },
      confirms: true,
      examples: ["./returns token rotate 0000000000142MPX --workspace shop.example --overlap 24h"],
      run: async (session: CommandSession, tokenId: string, { overlap }: { overlap?: string }) => {
        const { database, keys, terminal, workspace } = session;
        const question = `Requests with the token ${tokenId} fail from now on. Replace it?`;
        if (overlap === undefined) await session.confirm(question);
        const request = { tokenId, overlap, now: new Date() };
        const issued = await rotateToken(database, OPERATOR, workspace, keys.tokenPepper, request);
        printIssued(terminal, issued);
        terminal.hint(`The token ${tokenId} works until ${issued.replaces.valid_until.toISOString()}.`);
      },
    },
  ],
};

function printIssued(terminal: Terminal, issued: IssuedToken): void {
  terminal.print(issued, `${issued.token}\n`);
  terminal.hint(`Its id is ${issued.token_id}. It is not shown again.`);
}
