import type { Command } from "commander";
import { OPERATOR } from "../control/audit.ts";
import { connectSource, listSources, readKey } from "../control/connect.ts";
import { createInstallationLink } from "../control/connect-oauth.ts";
import { readPlace } from "../control/connect-place.ts";
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
    const known = listSources()
      .map(({ source }) => source)
      .join(", ");
    throw invalid(
      `${quoted(word ?? "")} is not a source: use ${known}. For any other source, import a folder.`,
    );
  });
  for (const source of listSources()) addSource(group, context, source);
}

type Source = ReturnType<typeof listSources>[number];

type ConnectOptions = SecretOptions & {
  workspace: string;
  shop?: string;
  url?: string;
  oauth?: boolean;
  clientSecretFile?: string;
};

function addSource(group: Command, context: CommandContext, source: Source): void {
  const { key, options: settings } = source;
  const command = group
    .command(source.source)
    .description(source.summary)
    .requiredOption("--workspace <domain>", "the workspace's domain")
    .option("--token-stdin", `read the ${key.title} from the standard input`)
    .option("--token-file <file>", "read it from a file");
  if (source.address === null) {
    command
      .option("--shop <name>", "the shop's name at Shopify, such as my-store.myshopify.com")
      .option("--url <address>", "the address of its admin (default: https:// and the shop's name)")
      .option("--client-secret-file <file>", "the custom app's client secret, which signs its webhooks")
      .option("--oauth", "print the address where the merchant approves, instead of taking a token");
  } else {
    command.option("--url <address>", `the address of the API (default: ${source.address})`);
  }
  const options = settings.map(({ flags, description, setting }) => ({
    setting,
    option: command.createOption(flags, description),
  }));
  for (const { option } of options) command.addOption(option);
  command.action((given: ConnectOptions & Record<string, unknown>, self: Command) => {
    const chosen = Object.fromEntries(
      options.map(({ setting, option }) => [setting, given[option.attributeName()]]),
    );
    return inSession(context, self, (session) =>
      given.oauth === true
        ? printLink(session, given, chosen)
        : connectWithKey(session, source, given, chosen),
    );
  });
}

async function connectWithKey(
  session: Session,
  source: Source,
  options: ConnectOptions,
  settings: Record<string, unknown>,
): Promise<void> {
  const { database, terminal } = session;
  const { clientSecretFile: file } = options;
  const workspace = await requireWorkspace(database, options.workspace);
  const key = readKey(source.key.title, await readSecret(options));
  const clientSecret =
    file === undefined
      ? {}
      : { clientSecret: readKey("client secret", await readSecretFile("--client-secret-file", file)) };
  const place = readPlace(source, options);
  terminal.hint(`Asking ${source.title}…`);
  const connected = await connectSource(await environmentOf(session), workspace, source, {
    ...place,
    settings,
    secrets: { [source.key.secret]: key, ...clientSecret },
    actor: OPERATOR,
  });
  const { notes, ...fields } = connected;
  terminal.print(connected, formatFields(fields, terminal.style));
  for (const note of notes) terminal.hint(note);
  terminal.hint('The worker reads it now, as part of "serve" or as "worker"; "runs" shows how far it is.');
}

async function printLink(
  session: Session,
  options: ConnectOptions,
  settings: Record<string, unknown>,
): Promise<void> {
  const { config, database, terminal } = session;
  if (options.tokenStdin === true || options.tokenFile !== undefined) {
    throw invalid("Give --oauth or a token, not both.");
  }
  const { shopifyClientId: clientId, shopifyClientSecret: clientSecret } = config;
  const app = clientId === null || clientSecret === null ? null : { clientId, clientSecret };
  const workspace = await requireWorkspace(database, options.workspace);
  const environment = { ...(await environmentOf(session)), app };
  const { shop, url } = options;
  const link = createInstallationLink(environment, workspace, { shop, url, settings });
  terminal.print({ address: link }, `${link}\n`);
  terminal.hint("The merchant opens it, signed in to the shop, within seven days. Whoever has it can do so.");
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
