import { Option } from "commander";
import { runAction } from "../actions/action.ts";
import { textInput } from "../actions/field.ts";
import { connectingOf, connectSource, listSources } from "../actions/sources/connect.ts";
import type { Source } from "../actions/sources/connect.ts";
import { linkSource } from "../actions/sources/install.ts";
import { quoted } from "../actions/input.ts";
import { invalid } from "../actions/refusal.ts";
import { callerOf } from "./action-command.ts";
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
  summary: connectSource.about,
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
    run: (session: CommandSession, given: ConnectOptions & Record<string, string | string[] | undefined>) => {
      const { shop, url } = given;
      const connection = {
        source: source.source,
        shop,
        address: url,
        ...Object.fromEntries(
          own.map(({ setting, option }) => [`option-${setting}`, given[option.attributeName()]]),
        ),
      };
      return given.oauth === true
        ? printLink(session, given, connection)
        : connectWithKey(session, source, given, connection);
    },
  };
}

async function connectWithKey(
  session: CommandSession,
  { key, title }: Source,
  options: ConnectOptions,
  connection: Readonly<Record<string, string | string[] | undefined>>,
): Promise<void> {
  const { terminal } = session;
  const { clientSecretFile: file } = options;
  const given = textInput({
    ...connection,
    [`secret-${key.secret}`]: await readSecret(options),
    ...(file === undefined
      ? {}
      : { "secret-clientSecret": await readSecretFile("--client-secret-file", file) }),
  });
  terminal.showStatus(`Asking ${title}…`);
  const { result } = await runAction(connectSource, connectCaller(session), given);
  const { notes, ...fields } = result;
  terminal.printFields(fields, result);
  for (const note of notes) terminal.hint(note);
  terminal.hint('A worker syncs it now, in "serve" or as "worker"; "runs" shows the progress.');
}

async function printLink(
  session: CommandSession,
  options: ConnectOptions,
  connection: Readonly<Record<string, string | string[] | undefined>>,
): Promise<void> {
  const { terminal } = session;
  if (options.tokenStdin === true || options.tokenFile !== undefined) {
    throw invalid("Give --oauth or a token, not both.");
  }
  const { result, done } = await runAction(linkSource, connectCaller(session), textInput(connection));
  terminal.print(result, `${result.address.reveal()}\n`);
  terminal.hint(done);
}

function connectCaller(session: CommandSession) {
  return { ...callerOf(session), connecting: connectingOf(session.config) };
}
