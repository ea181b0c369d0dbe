import type { Command } from "commander";
import { connectLabelSource, LABEL_SOURCES } from "../control/connect.ts";
import type { Connected, LabelSource } from "../control/connect.ts";
import { createInstallationLink } from "../control/connect-oauth.ts";
import { connectShopify } from "../control/connect-shopify.ts";
import type { ShopifyChoices } from "../control/connect-shopify.ts";
import { requireSameSecret } from "../control/installation-secret.ts";
import { quoted } from "../control/input.ts";
import { invalid } from "../control/refusal.ts";
import { requireWorkspace } from "../control/workspace.ts";
import { formatFields } from "../lib/table.ts";
import { readSecret, readSecretFile } from "./secret-input.ts";
import type { SecretOptions } from "./secret-input.ts";
import { inSession } from "./session.ts";
import type { CommandContext, Session } from "./session.ts";

export function addConnectCommands(program: Command, context: CommandContext): void {
  const group = program
    .command("connect")
    .description("Connect a workspace to a source; the worker then keeps it in sync.")
    .addHelpText(
      "before",
      "Examples:\n" +
        "  ./returns connect shopify --workspace shop.example --shop my-store.myshopify.com --token-stdin < token\n" +
        "  ./returns connect shopify --workspace shop.example --shop my-store.myshopify.com --oauth\n" +
        "  ./returns connect shipstation --workspace shop.example --token-file ./api-key\n",
    );
  group.on("command:*", ([word]: string[]) => {
    const known = ["shopify", ...LABEL_SOURCES].join(", ");
    throw invalid(
      `${quoted(word ?? "")} is not a source: use ${known}. For any other source, import a folder.`,
    );
  });
  addShopify(group, context);
  for (const source of LABEL_SOURCES) addLabelSource(group, context, source);
}

type ShopifyOptions = SecretOptions &
  ShopifyChoices & {
    workspace: string;
    shop?: string;
    url?: string;
    oauth?: boolean;
    clientSecretFile?: string;
    usedCondition?: string[];
  };

function addShopify(group: Command, context: CommandContext): void {
  group
    .command("shopify")
    .description("Orders, returns, refunds and products of a Shopify shop.")
    .requiredOption("--workspace <domain>", "the workspace's domain")
    .option("--shop <name>", "the shop's name at Shopify, such as my-store.myshopify.com")
    .option("--url <address>", "the address of its admin (default: https:// and the shop's name)")
    .option("--token-stdin", "read the custom app's access token from the standard input")
    .option("--token-file <file>", "read it from a file")
    .option("--client-secret-file <file>", "the custom app's client secret, which signs its webhooks")
    .option("--oauth", "print the address where the merchant approves, instead of taking a token")
    .option("--family-metafield <namespace.key>", "the products' metafield that names their family")
    .option("--family-tag-prefix <prefix>", "or the beginning of a tag that does (default: their type)")
    .option("--condition-option <name>", "the option that marks used variants (default: Condition)")
    .option("--used-condition <value...>", "its values that mean used")
    .action((options: ShopifyOptions, command: Command) =>
      inSession(context, command, (session) =>
        options.oauth === true ? printLink(session, options) : connectWithToken(session, options),
      ),
    );
}

async function connectWithToken(session: Session, options: ShopifyOptions): Promise<void> {
  const { database, terminal } = session;
  const { clientSecretFile, shop, url } = options;
  const workspace = await requireWorkspace(database, options.workspace);
  const token = await readSecret(options);
  const clientSecret =
    clientSecretFile === undefined
      ? undefined
      : await readSecretFile("--client-secret-file", clientSecretFile);
  terminal.hint("Asking Shopify…");
  const environment = await environmentOf(session);
  const choices = choicesOf(options);
  tellConnected(
    session,
    await connectShopify(environment, workspace, { shop, url, token, clientSecret, choices }),
  );
}

async function printLink(session: Session, options: ShopifyOptions): Promise<void> {
  const { config, database, terminal } = session;
  if (options.tokenStdin === true || options.tokenFile !== undefined) {
    throw invalid("Give --oauth or a token, not both.");
  }
  const { shopifyClientId: clientId, shopifyClientSecret: clientSecret } = config;
  const app = clientId === null || clientSecret === null ? null : { clientId, clientSecret };
  const workspace = await requireWorkspace(database, options.workspace);
  const environment = { ...(await environmentOf(session)), app };
  const { shop, url } = options;
  const link = createInstallationLink(environment, workspace, { shop, url, choices: choicesOf(options) });
  terminal.print({ address: link }, `${link}\n`);
  terminal.hint(
    "The merchant opens it within seven days, signed in to the shop. Anyone who has it and may install apps there can use it.",
  );
}

type LabelOptions = SecretOptions & { workspace: string; url?: string };

function addLabelSource(group: Command, context: CommandContext, source: LabelSource): void {
  group
    .command(source)
    .description(source === "loop" ? "Label costs of Loop." : "Label costs of ShipStation (API V2).")
    .requiredOption("--workspace <domain>", "the workspace's domain")
    .option("--token-stdin", "read the API key from the standard input")
    .option("--token-file <file>", "read it from a file")
    .option("--url <address>", "the address of the API (default: the platform's)")
    .action((options: LabelOptions, command: Command) =>
      inSession(context, command, async (session) => {
        const workspace = await requireWorkspace(session.database, options.workspace);
        const apiKey = await readSecret(options);
        const environment = await environmentOf(session);
        const { url } = options;
        tellConnected(session, await connectLabelSource(environment, workspace, { source, apiKey, url }));
      }),
    );
}

/** What is sealed with another secret could not be opened by the worker. */
async function environmentOf({ config, database, installation }: Session) {
  await requireSameSecret(database, installation.keys.tokenPepper);
  return {
    database,
    sealingKey: installation.keys.sealingKey,
    publicUrl: config.publicUrl,
    now: () => new Date(),
  };
}

function choicesOf(options: ShopifyOptions): ShopifyChoices {
  const { familyMetafield, familyTagPrefix, conditionOption, usedCondition } = options;
  return { familyMetafield, familyTagPrefix, conditionOption, usedConditions: usedCondition };
}

function tellConnected({ terminal }: Session, connected: Connected): void {
  const { notes, ...fields } = connected;
  terminal.print(connected, formatFields(fields, terminal.style));
  for (const note of notes) terminal.hint(note);
  terminal.hint('The worker reads it now, as part of "serve" or as "worker"; "runs" shows how far it is.');
}
