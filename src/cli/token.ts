import type { Command } from "commander";
import { requireSameSecret } from "../control/installation-secret.ts";
import { endToken, issueToken, rotateToken, showTokens } from "../control/token.ts";
import { requireWorkspace } from "../control/workspace.ts";
import { formatTable } from "../lib/table.ts";
import { inSession } from "./session.ts";
import type { CommandContext } from "./session.ts";

export function addTokenCommands(program: Command, context: CommandContext): void {
  const group = program.command("token").description("Access tokens of a workspace.");
  addCreate(group, context);
  addList(group, context);
  addRevoke(group, context);
  addRotate(group, context);
}

type CreateOptions = { workspace: string; name: string; scopes: string; expires?: string };

function addCreate(group: Command, context: CommandContext): void {
  group
    .command("create")
    .description("Create a token and print it, once, on standard output.")
    .requiredOption("--workspace <domain>", "the workspace's domain")
    .requiredOption("--name <name>", "what it is for")
    .requiredOption("--scopes <list>", "read:dashboard, read:reports, read:exports, read:alerts")
    .option("--expires <when>", "90d, 12h or a future date-time (default: never)")
    .addHelpText(
      "before",
      "Examples:\n" +
        "  ./returns token create --workspace shop.example --name analyst --scopes read:dashboard,read:reports\n" +
        "  TOKEN=$(./returns token create --workspace shop.example --name ci --scopes read:alerts --expires 90d)\n",
    )
    .action((options: CreateOptions, command: Command) =>
      inSession(context, command, async ({ database, installation, terminal }) => {
        const workspace = await requireWorkspace(database, options.workspace);
        await requireSameSecret(database, installation.keys.tokenPepper);
        const request = { ...options, now: new Date() };
        const issued = await issueToken(database, workspace, installation.keys.tokenPepper, request);
        terminal.print(issued, `${issued.token}\n`);
        terminal.hint(`Its id is ${issued.token_id}. It is not shown again.`);
      }),
    );
}

function addList(group: Command, context: CommandContext): void {
  group
    .command("list")
    .description("Show a workspace's tokens, without their secrets.")
    .requiredOption("--workspace <domain>", "the workspace's domain")
    .action((options: { workspace: string }, command: Command) =>
      inSession(context, command, async ({ database, terminal }) => {
        const workspace = await requireWorkspace(database, options.workspace);
        const tokens = await showTokens(database, workspace, new Date());
        const rows = tokens.map((token) => [
          token.token_id,
          token.name,
          token.status,
          token.scopes,
          token.created_at,
          token.expires_at,
          token.last_used_at,
        ]);
        const headings = ["token id", "name", "status", "scopes", "created", "expires", "last used"];
        terminal.print(tokens, formatTable(headings, rows, terminal.style));
      }),
    );
}

type RevokeOptions = { workspace: string; yes?: boolean };

function addRevoke(group: Command, context: CommandContext): void {
  group
    .command("revoke")
    .description("Revoke a token; requests with it fail from now on.")
    .argument("<token-id>", "its id, from `token list`")
    .requiredOption("--workspace <domain>", "the workspace's domain")
    .option("--yes", "do not ask")
    .addHelpText("before", "Example:\n  ./returns token revoke 0000000000142MPX --workspace shop.example\n")
    .action((tokenId: string, options: RevokeOptions, command: Command) =>
      inSession(context, command, async ({ database, terminal, interruption }) => {
        const workspace = await requireWorkspace(database, options.workspace);
        const question = `Requests with the token ${tokenId} fail from now on. Revoke it?`;
        if (options.yes !== true) await terminal.confirm(question, interruption.signal);
        const ended = await endToken(database, workspace, tokenId);
        terminal.print(ended, `${ended.token_id}  revoked since ${ended.revoked_at.toISOString()}\n`);
      }),
    );
}

type RotateOptions = { workspace: string; overlap?: string; yes?: boolean };

function addRotate(group: Command, context: CommandContext): void {
  group
    .command("rotate")
    .description("Replace a token with a new one of the same name, scopes and lifetime.")
    .argument("<token-id>", "its id, from `token list`")
    .requiredOption("--workspace <domain>", "the workspace's domain")
    .option("--overlap <time>", "how long the old one stays valid: 24h, 7d (default: not at all)")
    .option("--yes", "do not ask")
    .addHelpText(
      "before",
      "Example:\n  ./returns token rotate 0000000000142MPX --workspace shop.example --overlap 24h\n",
    )
    .action((tokenId: string, options: RotateOptions, command: Command) =>
      inSession(context, command, async ({ database, installation, terminal, interruption }) => {
        const workspace = await requireWorkspace(database, options.workspace);
        await requireSameSecret(database, installation.keys.tokenPepper);
        const endsNow = options.overlap === undefined && options.yes !== true;
        const question = `Requests with the token ${tokenId} fail from now on. Replace it?`;
        if (endsNow) await terminal.confirm(question, interruption.signal);
        const request = { tokenId, overlap: options.overlap, now: new Date() };
        const issued = await rotateToken(database, workspace, installation.keys.tokenPepper, request);
        terminal.print(issued, `${issued.token}\n`);
        terminal.hint(`Its id is ${issued.token_id}. It is not shown again.`);
        terminal.hint(`The token ${tokenId} works until ${issued.replaces.valid_until.toISOString()}.`);
      }),
    );
}
