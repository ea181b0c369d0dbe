import { Option } from "commander";
import { OPERATOR } from "../control/actor.ts";
import { connectSource, listSources, readKey } from "../control/connect.ts";
import { createInstallationLink } from "../control/connect-oauth.ts";
import { readPlace } from "../control/connect-place.ts";
import { quoted } from "../control/input.ts";
import { invalid } from "../control/refusal.ts";
import type { CommandGroup, CommandSession, CommandSpec } from "./command.ts";
import { readSecret, readSecretFile } from "./secret-input.ts";
import type { SecretOptions } from "./secret-input.ts";

const SHOP_OPTIONS = {
  "--shop <name>": "the shop's name at Shopify, such as my-store.myshopify.com",
  "--url <address>": "the address of its admin (default: https:// and the shop's name)",
  "--client-secret-file <file>": "the custom app's client secret, which signs its webhooks",
  "--oauth": "print the address where the merchant approves, instead of taking a token",
};

export const CONNECT: CommandGroup = {
  name: "connect",
  summary: "Connect a workspace to a source; the worker then keeps it in sync.",
  examples: [
    "./returns connect shopify --workspace shop.example --shop my-store.myshopify.com --token-stdin < token",
    "./returns connect shopify --workspace shop.example --shop my-store.myshopify.com --oauth",
    "./returns connect shipstation --workspace shop.example --token-file ./api-key",
  ],
  commands: listSources().map(commandOf),
  refuseUnknown: (word) => {
    const known = listSources()
      .map(({ source }) => source)
      .join(", ");
    throw invalid(`${quoted(word)} is not a source: use ${known}. For any other source, import a folder.`);
  },
};

type Source = ReturnType<typeof listSources>[number];

type ConnectOptions = SecretOptions & {
  shop?: string;
  url?: string;
  oauth?: boolean;
  clientSecretFile?: string;
};

/** What is sealed with another secret could not be opened by the worker. */
function commandOf(source: Source): CommandSpec {
  const { key, options: settings, address } = source;
  const own = settings.map(({ flags, description, setting }) => ({
    setting,
    option: new Option(flags, description),
  }));
  return {
    name: source.source,
    summary: source.summary,
    forWorkspace: true,
    needsKeys: true,
    options: {
      "--token-stdin": `read the ${key.title} from the standard input`,
      "--token-file <file>": "read it from a file",
      ...(address === null
        ? SHOP_OPTIONS
        : { "--url <address>": `the address of the API (default: ${address})` }),
    },
    otherOptions: own.map(({ option }) => option),
    run: (session: CommandSession, given: ConnectOptions & Record<string, unknown>) => {
      const chosen = Object.fromEntries(
        own.map(({ setting, option }) => [setting, given[option.attributeName()]]),
      );
      return given.oauth === true
        ? printLink(session, given, chosen)
        : connectWithKey(session, source, given, chosen);
    },
  };
}

async function connectWithKey(
  session: CommandSession,
  source: Source,
  options: ConnectOptions,
  settings: Record<string, unknown>,
): Promise<void> {
  const { terminal, workspace } = session;
  const { clientSecretFile: file } = options;
  const key = readKey(source.key.title, await readSecret(options));
  const clientSecret =
    file === undefined
      ? {}
      : { clientSecret: readKey("client secret", await readSecretFile("--client-secret-file", file)) };
  const place = readPlace(source, options);
  terminal.hint(`Asking ${source.title}…`);
  const connected = await connectSource(environmentOf(session), OPERATOR, workspace, source, {
    ...place,
    settings,
    secrets: { [source.key.secret]: key, ...clientSecret },
  });
  const { notes, ...fields } = connected;
  terminal.printFields(fields, connected);
  for (const note of notes) terminal.hint(note);
  terminal.hint('The worker reads it now, as part of "serve" or as "worker"; "runs" shows how far it is.');
}

async function printLink(
  session: CommandSession,
  options: ConnectOptions,
  settings: Record<string, unknown>,
): Promise<void> {
  const { config, terminal, workspace } = session;
  if (options.tokenStdin === true || options.tokenFile !== undefined) {
    throw invalid("Give --oauth or a token, not both.");
  }
  const { shopifyClientId: clientId, shopifyClientSecret: clientSecret } = config;
  const app = clientId === null || clientSecret === null ? null : { clientId, clientSecret };
  const environment = { ...environmentOf(session), app };
  const { shop, url } = options;
  const link = await createInstallationLink(environment, OPERATOR, workspace, { shop, url, settings });
  terminal.print({ address: link }, `${link}\n`);
  terminal.hint(
    "The merchant opens it within seven days, signed in to the shop. Anyone who has it and may install apps there can use it.",
  );
}

function environmentOf({ config, database, keys }: CommandSession) {
  return {
    database,
    sealingKey: keys.sealingKey,
    publicUrl: config.publicUrl,
    now: () => new Date(),
  };
}
