import { Option } from "commander";
import { runAction } from "../actions/action.ts";
import { OPERATOR } from "../actions/actor.ts";
import { textInput } from "../actions/field.ts";
import { quoted } from "../actions/input.ts";
import { impossible, invalid } from "../actions/refusal.ts";
import {
  cancelBackfill,
  connectionList,
  disconnectSource,
  findBackfillUnderWay,
  isAbandoned,
  rebuild,
  requestSync,
  runList,
  showQuietRuns,
  waitForRun,
} from "../actions/sources/actions.ts";
import type { RequestedSync } from "../actions/sources/actions.ts";
import { connectingOf, connectSource, listSources, type Source } from "../actions/sources/connect.ts";
import { linkSource } from "../actions/sources/install.ts";
import { keptRunsText } from "../lib/retention.ts";
import { countsText, durationText, retryText, stageText } from "../lib/run-text.ts";
import { callerOf, commandOf, listCommand, readSecret, readSecretFile } from "./action-command.ts";
import type { SecretOptions } from "./action-command.ts";
import type { CommandGroup, CommandSession, CommandSpec } from "./command.ts";

const RUN_HISTORY = listCommand(runList, {
  name: "runs",
  examples: [
    "./returns runs --status failed",
    "./returns runs --workspace shop.example --source shopify --limit 5 --json",
  ],
  none: (asked) => {
    const source = asked("source");
    return source === undefined ? "No source has run yet." : `No run of ${source}.`;
  },
  also: async ({ config, database, terminal }, runs, isEnd) => {
    if (await isAbandoned(database, runs))
      terminal.hint(
        "No worker is running: runs marked running continue when ./returns worker or serve starts.",
      );
    if (runs.length > 0)
      terminal.hint(
        "Runs that changed nothing have one row, that of the newest; --unchanged counts them by day.",
      );
    if (isEnd) terminal.hint(keptRunsText(config));
  },
});

type QuietAsked = { workspace?: string; source?: string; limit: string; unchanged?: true };

export const RUNS: CommandSpec = {
  ...RUN_HISTORY,
  options: {
    ...RUN_HISTORY.options,
    "--unchanged": "instead the runs that changed nothing, counted by day",
  },
  run: async (session: CommandSession, asked: QuietAsked) => {
    if (asked.unchanged !== true) return RUN_HISTORY.run(session, asked);
    const days = await showQuietRuns(session.database, asked);
    session.terminal.printTable(days, {
      day: "day",
      source: "source",
      kind: "kind",
      runs: "runs",
      first: "first_at",
      last: "last_at",
    });
  },
};

export const REBUILD: CommandSpec = {
  name: "rebuild",
  summary: rebuild.about,
  forWorkspace: true,
  examples: ["./returns rebuild --workspace shop.example"],
  run: async ({ database, keys, terminal, workspace }) => {
    terminal.showStatus("Rebuilding…");
    const caller = { database, keys, workspace, actor: OPERATOR, now: new Date() };
    const { result, done } = await runAction(rebuild, caller, textInput({}));
    terminal.print(result, `${done}\n`);
  },
};

export const DISCONNECT = commandOf(disconnectSource, {
  words: ["source"],
  examples: ["./returns disconnect shopify --workspace shop.example"],
});

export const CONNECTIONS = listCommand(connectionList, {
  name: "connections",
  none: (asked) => {
    const domain = asked("workspace");
    return `No source is connected${domain === undefined ? "" : ` to ${domain}`}: ./returns connect --help shows how.`;
  },
});

type SyncOptions = { backfill?: boolean; cancelBackfill?: boolean; wait?: boolean };

export const SYNC: CommandSpec = {
  name: "sync",
  summary: requestSync.about,
  arguments: { "<source>": "shopify, woocommerce, shipstation or loop" },
  forWorkspace: true,
  options: {
    "--backfill": "read everything, not only what has changed",
    "--cancel-backfill": "cancel a requested backfill, and read only what has changed",
    "--wait": "show the progress and exit when the run has finished; joins a running backfill",
  },
  examples: [
    "./returns sync shopify --workspace shop.example",
    "./returns sync shopify --workspace shop.example --backfill --wait",
  ],
  run: sync,
};

async function sync(session: CommandSession, source: string, options: SyncOptions): Promise<void> {
  const { database, keys, terminal, workspace } = session;
  const caller = { database, keys, workspace, actor: OPERATOR, now: new Date() };
  if (options.cancelBackfill === true) {
    if (options.backfill === true || options.wait === true) {
      throw invalid("--cancel-backfill requests no run: leave out --backfill and --wait.");
    }
    const canceled = await runAction(cancelBackfill, caller, textInput({ source }));
    terminal.printFields(canceled.result);
    return;
  }
  const underWay = options.wait === true ? await findBackfillUnderWay(database, workspace, source) : null;
  if (underWay !== null) terminal.hint("A backfill is running: waiting for it to end.");
  const input = textInput({ source, ...(options.backfill === true ? { backfill: "yes" } : {}) });
  const requested = underWay ?? (await runAction(requestSync, caller, input)).result;
  if (!requested.has_worker) {
    terminal.hint("No worker is running: the run starts when ./returns worker or ./returns serve does.");
  }
  if (options.wait !== true) {
    terminal.printFields(requested);
    terminal.hint("./returns runs shows it.");
    return;
  }
  await follow(session, requested);
}

async function follow(
  { database, terminal, interruption, workspace }: CommandSession,
  requested: RequestedSync,
): Promise<void> {
  const run = await waitForRun(database, workspace, requested, {
    check: () => interruption.check(),
    onProgress: ({ stage, done, total }) => {
      if (stage !== null && total !== null) terminal.showProgress(stage, done, total);
      else terminal.showStatus(stageText({ stage, done, total }) ?? "Starting…");
    },
    onRetry: (retry) => terminal.hint(retryText(retry)),
  });
  for (const note of run.notes) terminal.hint(note);
  const { source, kind, status, duration_seconds: seconds, counts } = run;
  terminal.printFields({ source, kind, status, took: durationText(seconds), read: countsText(counts) }, run);
  if (run.status === "failed") throw impossible(run.error ?? "The run failed.");
}

/** Where a shop of its own address is. */
const SHOP_OPTIONS: Readonly<Record<string, Record<string, string>>> = {
  shopify: {
    "--shop <name>": "the shop's name at Shopify, such as my-store.myshopify.com",
    "--url <address>": "the address of its admin (default: https:// and the shop's name)",
    "--client-secret-file <file>": "the custom app's client secret, which signs its webhooks",
    "--oauth": "print the address where the merchant approves, instead of taking a token",
  },
  woocommerce: {
    "--shop <address>": "the shop's address, such as https://shop.example",
    "--url <address>": "that of a simulator on this machine instead",
    "--webhook-secret-file <file>": "the secret of webhooks that were added by hand",
  },
};

export const CONNECT: CommandGroup = {
  name: "connect",
  summary: connectSource.about,
  examples: [
    "./returns connect shopify --workspace shop.example --shop my-store.myshopify.com --token-stdin < token",
    "./returns connect shopify --workspace shop.example --shop my-store.myshopify.com --oauth",
    "./returns connect woocommerce --workspace shop.example --shop https://shop.example --token-file ./key",
    "./returns connect shipstation --workspace shop.example --token-file ./api-key",
  ],
  commands: listSources().map(connectCommand),
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
  webhookSecretFile?: string;
};

/** The worker could not decrypt values sealed with another secret. */
function connectCommand(source: Source): CommandSpec {
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
      "--token-stdin": `read the ${key.title} from standard input`,
      "--token-file <file>": "read it from a file",
      ...(address === null
        ? SHOP_OPTIONS[source.source]
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
  { key, title, otherSecrets }: Source,
  options: ConnectOptions,
  connection: Readonly<Record<string, string | string[] | undefined>>,
): Promise<void> {
  const { terminal } = session;
  const others: Record<string, string> = {};
  for (const { secret } of otherSecrets) {
    const file = options[`${secret}File` as "clientSecretFile" | "webhookSecretFile"];
    const flag = `--${secret.replace("Secret", "-secret")}-file`;
    if (file !== undefined) others[`secret-${secret}`] = await readSecretFile(flag, file);
  }
  const given = textInput({
    ...connection,
    [`secret-${key.secret}`]: await readSecret(options),
    ...others,
  });
  terminal.showStatus(`Contacting ${title}…`);
  const { result } = await runAction(connectSource, connectCaller(session), given);
  const { notes, ...fields } = result;
  terminal.printFields(fields, result);
  for (const note of notes) terminal.hint(note);
  terminal.hint(
    "A worker, ./returns serve or ./returns worker, syncs it now; ./returns runs shows the progress.",
  );
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
