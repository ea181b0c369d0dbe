import type { Queryable } from "../../store/database.ts";
import { listAccountWorkspaces } from "../../store/directory.ts";
import {
  type ConnectionRow,
  findConnectedStore,
  findConnection,
  lockAccount,
  putConnection,
} from "../../store/queries/data-source.ts";
import { requestRun } from "../../store/queries/sync-request.ts";
import type { DirectoryRow } from "../../store/queries/workspace-directory.ts";
import {
  type Secrets,
  type SettingOption,
  type ShopNames,
  type Source,
  SourceFailed,
  SourceRefused,
} from "../../sync/connector.ts";
import type { App } from "../../sync/connectors/shopify/install/access.ts";
import { capital } from "../../lib/capital.ts";
import { isLoopbackHost } from "../../lib/networks.ts";
import { SOURCES } from "../../sync/connectors/sources.ts";
import { sealSecrets, unsealSecrets } from "../../sync/credentials.ts";
import {
  type ActionTools,
  type ActionContext,
  type Done,
  type WorkspaceCaller,
  defineAction,
} from "../action.ts";
import type { Actor } from "../actor.ts";
import { publicConsole } from "../console-address.ts";
import { type Field, type InputOf, lines, omittable, optional, own } from "../field.ts";
import { quoted } from "../input.ts";
import { impossible, invalid } from "../refusal.ts";

export type { Source };

/** The installation's values for connecting. */
export type Connecting = {
  /** Where sources reach the service; null = no webhooks: it only polls. */
  publicUrl: string | null;
  /** The app that shops approve; null = there is none. */
  app: App | null;
};

export type ConnectCaller = WorkspaceCaller & Pick<ActionTools, "connecting">;

export function connectingOf(config: {
  publicUrl: string | null;
  shopifyClientId: string | null;
  shopifyClientSecret: string | null;
}): Connecting {
  const { publicUrl, shopifyClientId: clientId, shopifyClientSecret: clientSecret } = config;
  return { publicUrl, app: clientId === null || clientSecret === null ? null : { clientId, clientSecret } };
}

/** Every source that a workspace can be connected to. */
export function listSources(): readonly Source[] {
  return SOURCES;
}

/** Those of orders and products. */
export function listStores(): readonly Source[] {
  return SOURCES.filter(({ kind }) => kind === "store");
}

/** Whether the console is used on this machine, so that local addresses, such as a simulator's, are allowed. */
export function mayNameAddress({ publicUrl }: Connecting): boolean {
  return publicConsole(publicUrl) === null;
}

type OptionValue = string | string[] | null | undefined;
type SecretFields = { [secret: `secret-${string}`]: Field<string | null> };
type OptionFields = { [option: `option-${string}`]: Field<OptionValue> };

const present = (_subject: string, given: string): string | null => given.trim() || null;

const sourceField = own(
  "The source",
  (_subject, given): Source => {
    const source = SOURCES.find((each) => each.source === given);
    if (source === undefined) throw invalid("There is no such source.");
    return source;
  },
  { kind: "hidden" },
);

/** The key and its optional companions; `left` explains the effect of omitting one. */
export function secretFields({ key, otherSecrets }: Source, left = "Optional."): SecretFields {
  const hint = "It is tested first, then stored encrypted, and never shown again.";
  return Object.fromEntries([
    [`secret-${key.secret}`, own(capital(key.title), present, { kind: "password", hint })],
    ...otherSecrets.map(({ secret, title, description }) => [
      `secret-${secret}`,
      optional(own(capital(title), present, { kind: "password", hint: `${description} ${left}` })),
    ]),
  ]) as SecretFields;
}

/** The source's own options, each of which has a default. */
export function optionFields({ options }: Source): OptionFields {
  return Object.fromEntries(options.map((option) => [`option-${option.setting}`, optionField(option)]));
}

/** undefined = as before; null = the default. */
function optionField({ label, description, isList }: SettingOption): Field<OptionValue> {
  const hint = `${capital(description)}.`;
  return omittable(
    optional<string | string[] | null>(
      isList ? lines(label, { hint: `${hint} One per line.` }) : own(label, present, { hint }),
    ),
  );
}

const ofAll = <Inputs extends object>(fieldsOf: (source: Source) => Inputs): Inputs =>
  Object.assign({}, ...SOURCES.map((source) => fieldsOf(source))) as Inputs;

/** Which shop at which address, and what its connection is like: with the options of every source. */
export const CONNECTION_INPUT = {
  source: sourceField,
  shop: own("The shop", present),
  address: optional(
    own("Another address", present, { hint: "For a simulator on this machine; otherwise leave it empty." }),
  ),
  ...ofAll(optionFields),
};

/** The field of the shop as a source names it. */
export function shopField({ label, example }: ShopNames): Field<string | null> {
  return own(label, present, { hint: `Such as ${example}.` });
}

/** A new connection; `notes` are sentences for the person who connected it. */
export type Connected = {
  source: string;
  workspace: string;
  /** The account at the source, where it has a name. */
  account: string | null;
  url: string;
  requested_run: "backfill";
  notes: string[];
};

/** The input for connecting a source. */
type ConnectRequest = {
  source: Source;
  /** The shop that the secrets have to be of; null = whichever they are of. */
  shop: string | null;
  url: string;
  secrets: Secrets;
  /** The selected options; undefined members are unchanged. */
  settings: Readonly<Record<string, unknown>>;
};

/** The same, after the source has taken the secrets. */
type Checked = ConnectRequest & { account: string | null; notes: readonly string[]; signal: AbortSignal };

const CONNECT = {
  name: "source.connect",
  title: "Connect source",
  about: "Connect a workspace to a source; the worker then keeps it in sync.",
  past: "Connected a source",
  least: "admin",
  proof: true,
} as const;

/**
 * Connects a source after testing the secrets, and requests a full read. Data and position of an earlier connection are kept.
 * Refused, without changes, if the source refuses the secrets or does not answer, or if they belong to a shop with another
 * currency or of another workspace.
 */
export const connectSource = defineAction({
  ...CONNECT,
  input: { ...CONNECTION_INPUT, ...ofAll(secretFields) },
  prepare: (caller: ConnectCaller, input) => {
    const { source } = input;
    const place = placeOf(caller, input);
    return check(caller, {
      source,
      ...place,
      secrets: secretsOf(source, input),
      settings: settingsOf(input),
    });
  },
  run: (context, _input, checked: Checked) => store(context, checked),
});

/** The same with a shop's approval. */
export const connectApproved = defineAction({
  ...CONNECT,
  input: {},
  prepare: (caller: ConnectCaller & { approved: ConnectRequest }) => check(caller, caller.approved),
  run: (context, _input, checked: Checked) => store(context, checked),
});

/**
 * The shop and the address to call. Throws a `Refusal`; on a page it quotes nothing, because a secret may be in the wrong field.
 */
export function placeOf(
  { actor, connecting }: ConnectCaller,
  { source, shop, address }: { source: Source; shop: string | null; address: string | null },
): { shop: string | null; url: string } {
  const { shops } = source;
  const found = shops === null || shop === null ? null : shops.find(shop);
  if (shops !== null && shop !== null && found === null) {
    const given = actor.session === null ? `, not ${quoted(shop)}` : "";
    throw invalid(`The shop must be ${shops.allowed}${given}.`, "shop");
  }
  if (address !== null && actor.session !== null && !mayNameAddress(connecting)) {
    throw invalid("The address cannot be chosen here: leave it out.", "address");
  }
  if (shops === null) return { shop: null, url: address ?? source.address ?? "" };
  if (address !== null) return { shop: found?.shop ?? null, url: readAddress(shops, address) };
  if (found === null) throw invalid(`Name the shop, such as ${shops.example}.`, "shop");
  if (actor.session !== null && !mayNameAddress(connecting) && isLoopbackHost(new URL(found.url).hostname))
    throw invalid(`The shop must be ${shops.allowed}.`, "shop");
  return found;
}

function readAddress(shops: ShopNames, value: string): string {
  const url = URL.parse(value);
  if (url !== null && shops.isUrl(url)) return url.href.replace(/(?<!\/)\/+$/u, "");
  throw invalid(
    `The address must be a shop's, such as https://${shops.example.replace("https://", "")} (another only on this machine itself).`,
    "address",
  );
}

/** The selected options of a source, by name. */
export function settingsOf(input: InputOf<OptionFields> & { source: Source }): Record<string, OptionValue> {
  return Object.fromEntries(input.source.options.map(({ setting }) => [setting, input[`option-${setting}`]]));
}

const KEY = /^[\u0021-\u007e]{1,4096}$/u;

/** Keys and tokens that are valid in a header: none has blanks; text with blanks is something else. */
function secretsOf({ key, otherSecrets }: Source, input: InputOf<SecretFields>): Secrets {
  const given = [key, ...otherSecrets].map(({ secret, title }) => {
    const text = input[`secret-${secret}`] ?? null;
    if (text === null && secret !== key.secret) return [];
    if (text !== null && KEY.test(text)) return [[secret, text]];
    throw invalid(`The ${title} must be one word of letters, digits and punctuation.`, `secret-${secret}`);
  });
  return Object.fromEntries(given.flat()) as Secrets;
}

const LONGEST_CHECK_MS = 60_000;

/** Asks the source whether it takes the secrets, and whose they are. */
async function check(caller: ConnectCaller, asked: ConnectRequest): Promise<Checked> {
  const { shop_domain: domain, currency_code: currency } = caller.workspace;
  const { source, shop, url, secrets } = asked;
  const signal = AbortSignal.timeout(LONGEST_CHECK_MS);
  const { account, currencyCode, notes } = await explaining(source.check({ url, secrets, signal }));
  if (shop !== null && account !== shop) throw impossible(`${url} is the shop ${account}, not ${shop}.`);
  if (currencyCode !== null && currencyCode !== currency) {
    throw impossible(
      `The shop ${account} sells in ${currencyCode}, but the workspace ${domain} uses ${currency}: create a workspace with that currency.`,
    );
  }
  if (account !== null) await requireFree(caller, source, account);
  if (source.kind === "store") await requireOneStore(caller.database, caller.workspace, source);
  return { ...asked, account, notes, signal };
}

/** Data of one shop in two workspaces would count twice. */
async function requireFree(
  { database, actor, workspace }: ConnectCaller,
  { source }: Source,
  account: string,
): Promise<void> {
  const others = await listAccountWorkspaces(database, source, account);
  const other = others.find((row) => row.sealed_credentials !== null && row.shop_key !== workspace.shop_key);
  if (other !== undefined)
    throw impossible(`The shop ${account} is already connected to ${named(other, actor)}.`);
}

/** As-of and readiness are those of one store; another may follow once it is disconnected. */
async function requireOneStore(database: Queryable, workspace: DirectoryRow, { source, title }: Source) {
  const other = await findConnectedStore(database, workspace.shop_key);
  if (other === null || other === source) return;
  throw impossible(
    `The workspace ${workspace.shop_domain} gets its orders from ${other}: disconnect that first, or create a workspace for ${title}.`,
  );
}

/** Members of a workspace learn nothing of others. */
function named({ shop_domain: domain }: { shop_domain: string }, { standing }: Actor): string {
  return standing === "operator" ? `the workspace ${domain}` : "another workspace of this service";
}

/** In one transaction with the requested run; webhooks are registered after the commit. */
async function store(context: ActionContext<ConnectCaller>, checked: Checked): Promise<Done<Connected>> {
  const { connection, shopKey, domain, keys, connecting } = context;
  const { account, url, secrets } = checked;
  const { source, kind, title } = checked.source;
  if (account !== null) {
    await lockAccount(connection, source, account);
    await requireFree(context, checked.source, account);
  }
  if (kind === "store") {
    await lockAccount(connection, "workspace", String(shopKey));
    await requireOneStore(connection, context.workspace, checked.source);
  }
  const earlier = await findConnection(connection, shopKey, source);
  const settings = changedSettings(checked, earlier, domain);
  const place = { sealingKey: keys.sealingKey, shopKey, source };
  await putConnection(connection, {
    shopKey,
    source,
    kind,
    // From this time on; the source's reports about earlier times belong to another connection.
    settings: { ...settings, connectedAt: new Date().toISOString() },
    sealedCredentials: sealSecrets(place, { ...keptSecrets(place, checked.source, earlier), ...secrets }),
  });
  await requestRun(connection, { shopKey, source, kind: "backfill", requestedBy: "connect" });
  const connected = (hints: readonly string[]) => {
    const notes = [...checked.notes, ...hints];
    const which = account === null ? "" : ` to ${account}`;
    return {
      result: { source, workspace: domain, account, url, requested_run: "backfill", notes } as const,
      done: [`${title} is connected${which}, and is synced from now on.`, ...notes].join(" "),
    };
  };
  return {
    ...connected([]),
    audit: {
      detail: { source, ...settings },
      ...(earlier === null ? {} : { before: { source, ...earlier.settings, status: earlier.status } }),
    },
    next: async () => connected(await registerWebhooks(checked, connecting)),
  };
}

/** The new settings. Throws a `Refusal` for unusable settings, and for another shop: a workspace holds the data of one. */
function changedSettings(
  { source, settings: chosen, account, url }: Checked,
  earlier: ConnectionRow | null,
  domain: string,
): Record<string, unknown> {
  const before = earlier?.settings["shop"];
  if (account !== null && typeof before === "string" && before !== account) {
    throw impossible(
      `The workspace ${domain} has the data of the shop ${before}: create another workspace for ${account}.`,
    );
  }
  const given = Object.entries(chosen).filter(([, value]) => value !== undefined);
  const shop = account === null ? {} : { shop: account };
  const settings = { ...earlier?.settings, ...Object.fromEntries(given), url, ...shop };
  try {
    source.checkSettings(settings);
  } catch (error) {
    throw error instanceof SourceFailed ? invalid(error.message) : error;
  }
  return settings;
}

function keptSecrets(
  place: { sealingKey: Buffer; shopKey: number; source: string },
  { otherSecrets }: Source,
  earlier: ConnectionRow | null,
): Secrets {
  if (earlier === null || earlier.sealed_credentials === null) return {};
  try {
    const secrets = unsealSecrets(place, earlier.sealed_credentials);
    return Object.fromEntries(
      Object.entries(secrets).filter(([name]) => otherSecrets.some(({ secret }) => secret === name)),
    );
  } catch (error) {
    if (error instanceof SourceRefused) return {};
    throw error;
  }
}

/** The connection works without webhooks, only slower. */
async function registerWebhooks(
  { source, url, secrets, signal }: Checked,
  { publicUrl }: Connecting,
): Promise<string[]> {
  if (source.registerWebhooks === null) return [];
  const withoutThem = `changes are read every 15 minutes to 12 hours, by how many orders it has, and deleted orders ${source.deletionsFound}`;
  if (publicUrl === null) {
    return [`PUBLIC_URL is not set, so the shop sends no webhooks: ${withoutThem}.`];
  }
  try {
    await source.registerWebhooks({ url, secrets, signal }, publicUrl);
    return [];
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [`Webhooks are not registered, so ${withoutThem}: ${reason}`];
  }
}

/** Turns a source's error into a refusal. */
async function explaining<Result>(asking: Promise<Result>): Promise<Result> {
  try {
    return await asking;
  } catch (error) {
    if (error instanceof SourceRefused || error instanceof SourceFailed) throw impossible(error.message);
    if (error instanceof Error && error.name === "TimeoutError") {
      throw impossible("The source did not answer in time; nothing was stored.");
    }
    throw error;
  }
}
