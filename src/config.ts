import { readFileSync } from "node:fs";
import { isHttpsOrLoopback, isLoopbackHost } from "./lib/networks.ts";
import type { Form } from "./lib/option-forms.ts";
import {
  addressesAndNetworks,
  daysFrom,
  daysOrForever,
  flag,
  integer,
  issuerAddress,
  mailServer,
  matching,
  networks,
  numberRange,
  oneOf,
  onOrOff,
  plansByName,
  origins,
  ratio,
  rootAddress,
  text,
} from "./lib/option-forms.ts";
import { isWeakSecret } from "./lib/secret-file.ts";

const port = integer(0, 65_535);
const databaseAddress = matching("start with postgres:// or postgresql://", /^postgres(ql)?:\/\//u);
const longText = matching("have at least 32 characters", /^.{32,}$/su);
const logLevel = matching(
  "be one of fatal, error, warn, info, debug, trace, silent",
  /^(?:fatal|error|warn|info|debug|trace|silent)$/u,
);

/** Every option of the service, by its name in `Config`. */
const OPTIONS = {
  host: option("HOST", text, "127.0.0.1", "Address to listen on."),
  port: option("PORT", port, 8080, "Port of the API; 0 picks a free one."),
  operationsPort: option(
    "OPERATIONS_PORT",
    port,
    null,
    "Separate port for `/healthz`, `/readyz` and `/metrics`; without it the first two are on `PORT`. `./returns worker` listens only where this is set.",
  ),
  operationsHost: option(
    "OPERATIONS_HOST",
    text,
    "127.0.0.1",
    "Address of `OPERATIONS_PORT`. Set it where probes come from another machine, such as in Kubernetes.",
  ),
  hasMetricsOnApiPort: option("METRICS_ON_API_PORT", flag, false, "`true` serves `/metrics` on `PORT` too."),
  databaseUrl: option("DATABASE_URL", databaseAddress, null, "`postgres://…` of a PostgreSQL 15 to 18.", {
    defaultText: "embedded PostgreSQL",
    hasFile: true,
  }),
  databaseReaderUrl: option(
    "DATABASE_READER_URL",
    databaseAddress,
    null,
    "The same database with a login of the role `returns_reader`, for requests and exports: docs/operating/secure.md.",
    { defaultText: "`DATABASE_URL`", hasFile: true },
  ),
  databaseAdmissionUrl: option(
    "DATABASE_ADMISSION_URL",
    databaseAddress,
    null,
    "The same with a login of `returns_admission`, for checks of tokens and quotas.",
    { defaultText: "`DATABASE_URL`", hasFile: true },
  ),
  databaseWorkerUrl: option(
    "DATABASE_WORKER_URL",
    databaseAddress,
    null,
    "The same with a login of `returns_worker`, for syncs, webhooks and the console. A worker needs only this one; with it `DATABASE_URL` is optional.",
    { defaultText: "`DATABASE_URL`", hasFile: true },
  ),
  dataFolder: option(
    "RETURNS_DATA_DIR",
    text,
    null,
    "Folder of the embedded database and keys. For root the default is in `/var/lib/returns-analytics`.",
    { defaultText: "`.data` in the project" },
  ),
  /** Opens the keys of tokens, cursors and sealed credentials. */
  secret: option(
    "RETURNS_SECRET",
    longText,
    null,
    "At least 32 characters; the same on every server of one database. During a rotation a list: the new one, a comma, the old one.",
    { defaultText: "a file in the data folder", hasFile: true },
  ),
  shopKeyRange: option(
    "SHOP_KEY_RANGE",
    numberRange,
    null,
    "Numbers that this installation gives to new workspaces, such as `916132832-1832265663`; needed where workspaces move between installations: docs/scaling.md. `migrate` applies it.",
    { defaultText: "from 1" },
  ),
  logLevel: option("LOG_LEVEL", logLevel, "info", "fatal, error, warn, info, debug, trace or silent."),
  maxConnections: option(
    "DATABASE_CONNECTIONS",
    integer(1, 500),
    10,
    "Connections per pool. A server has two pools, and up to 14 more connections: 4 for webhooks, 4 for the console, 4 for exports and 2 for metrics.",
  ),
  requestsPerWorkspace: option(
    "REQUESTS_PER_SHOP",
    integer(1, 500),
    2,
    "Requests of one workspace that a server answers from the database at a time; others wait for up to 3 s.",
  ),
  answerMemoryMegabytes: option(
    "ANSWER_MEMORY_MB",
    integer(0, 65_536),
    64,
    "Memory for the response cache; 0 turns the cache off. The process may use up to twice as much before garbage is collected.",
  ),
  /** Requests without an Origin header, which no browser sends, are always allowed. */
  mcpAllowedOrigins: option(
    "MCP_ALLOWED_ORIGINS",
    origins,
    [],
    "Web origins besides the service's own whose pages may call the MCP endpoint, separated by commas.",
  ),
  syncRuns: option("SYNC_RUNS", integer(1, 50), 2, "Sync runs that one worker executes at a time."),
  /** Without a slash at its end. */
  publicUrl: option(
    "PUBLIC_URL",
    rootAddress,
    null,
    "`https://…` where shops and browsers reach this service: for webhooks, connecting by approval, the console, and the sign-in of MCP clients. For that sign-in on one machine, `http://localhost:…` is enough.",
  ),
  trustedProxies: option(
    "TRUSTED_PROXIES",
    addressesAndNetworks,
    [],
    "Addresses and networks of proxies in front of this service, such as `127.0.0.1,10.0.0.0/8`. The client that they name in `X-Forwarded-For` or `Forwarded` is used for limits, audit and logs.",
  ),
  hasConsole: option(
    "CONSOLE",
    onOrOff,
    true,
    "`off` disables the console: its pages, and links to sign in.",
    {
      defaultText: "on",
    },
  ),
  /** Single sign-on of people by OpenID Connect. */
  oidcIssuer: option(
    "OIDC_ISSUER",
    issuerAddress,
    null,
    "Identity provider for signing in to the console, such as `https://login.example.com`: docs/operating/install.md.",
  ),
  oidcClientId: option("OIDC_CLIENT_ID", text, null, "This service’s client id at that provider."),
  oidcClientSecret: option("OIDC_CLIENT_SECRET", text, null, "Its client secret.", { hasFile: true }),
  oidcName: option("OIDC_NAME", text, null, "What people call the provider: “Sign in with …”.", {
    defaultText: "the host of `OIDC_ISSUER`",
  }),
  oidcScopes: option(
    "OIDC_SCOPES",
    matching("be scopes separated by spaces, with openid", /^(?=(?:.* )?openid(?: |$))[!-~]+(?: [!-~]+)*$/u),
    "openid email",
    "Scopes to request, such as `openid email groups`.",
  ),
  oidcGroupsClaim: option("OIDC_GROUPS_CLAIM", text, "groups", "The claim that lists a person’s groups."),
  oidcOperatorGroup: option(
    "OIDC_OPERATOR_GROUP",
    text,
    null,
    "Members of this group at the provider are operators for the duration of their session.",
  ),
  shopifyClientId: option("SHOPIFY_CLIENT_ID", text, null, "The app that shops approve."),
  shopifyClientSecret: option(
    "SHOPIFY_CLIENT_SECRET",
    text,
    null,
    "The same app's secret; it signs webhooks too.",
    { hasFile: true },
  ),
  shopifyPlans: option(
    "SHOPIFY_PLANS",
    plansByName,
    [],
    "The plan of each subscription to the app, such as `Growth monthly=growth,Scale=scale`. Without it, a subscription sets only billing: docs/connect.md.",
  ),
  pushNetworks: option(
    "PUSH_NETWORKS",
    networks,
    [],
    "Networks to which alerts may be pushed besides public addresses, such as `10.0.0.0/8,127.0.0.0/8`. Receivers there may use `http://` too.",
  ),
  smtpUrl: option(
    "SMTP_URL",
    mailServer,
    null,
    "Mail server for alerts and weekly digests: `smtps://user:password@host:465`, or `smtp://…:587`, which must offer STARTTLS unless it is this machine.",
    { hasFile: true },
  ),
  smtpFrom: option(
    "SMTP_FROM",
    matching("be an e-mail address", /^[^\s@<>]+@[^\s@<>]+$/u),
    null,
    "The sender of e-mail, such as `alerts@example.com`.",
  ),
  keepRunsDays: option(
    "KEEP_RUNS_DAYS",
    daysFrom(2),
    90,
    "Days that workers keep the history of sync runs; at least 2, because metrics count the runs of a day.",
  ),
  keepDeliveriesDays: option(
    "KEEP_DELIVERIES_DAYS",
    daysFrom(3),
    7,
    "Days that workers keep webhook deliveries and the runs that they request; at least 3, because sources repeat a delivery for 48 hours.",
  ),
  keepAuditDays: option(
    "KEEP_AUDIT_DAYS",
    daysOrForever(90),
    Number.POSITIVE_INFINITY,
    "Days that workers keep the audit, including sign-ins, or `forever`; at least 90, because it records requests of customers that must be answered.",
    { defaultText: "forever" },
  ),
  keepUsageDays: option(
    "KEEP_USAGE_DAYS",
    daysOrForever(31),
    400,
    "Days that workers keep the usage of the API, or `forever`; at least 31, because pages show 30.",
  ),
  drainSeconds: option(
    "DRAIN_SECONDS",
    integer(0, 600),
    0,
    "Wait between SIGTERM and closing the port, while `/readyz` already answers 503.",
  ),
  /** Traces have OpenTelemetry's own names, and its SDK reads further ones itself. */
  otlpEndpoint: option(
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    matching(
      "be an address such as http://localhost:4318, without user or password",
      /^https?:\/\/[^\s@?#]+$/u,
    ),
    null,
    "OpenTelemetry collector, such as `http://localhost:4318`; traces are sent to its path `/v1/traces`. Without it tracing is off. OpenTelemetry's SDK reads its other `OTEL_*` variables too.",
  ),
  otlpHeaders: option(
    "OTEL_EXPORTER_OTLP_HEADERS",
    text,
    null,
    "Headers for the collector, such as `authorization=Bearer%20…,x-scope=returns`.",
    { hasFile: true },
  ),
  otlpTimeoutMs: option(
    "OTEL_EXPORTER_OTLP_TIMEOUT",
    integer(100, 60_000),
    2000,
    "Milliseconds for sending a batch of traces, with its retries. A stopping process waits that long.",
  ),
  traceSampler: option(
    "OTEL_TRACES_SAMPLER",
    oneOf([
      "parentbased_traceidratio",
      "parentbased_always_on",
      "parentbased_always_off",
      "traceidratio",
      "always_on",
      "always_off",
    ]),
    "parentbased_traceidratio",
    "Which traces are recorded; ratio samplers record the share of `OTEL_TRACES_SAMPLER_ARG`.",
  ),
  traceRatio: option("OTEL_TRACES_SAMPLER_ARG", ratio, 1, "The share, from 0 to 1."),
  isTracingDisabled: option("OTEL_SDK_DISABLED", flag, false, "`true` turns traces off."),
  trustsTraceparent: option(
    "TRUST_TRACEPARENT",
    flag,
    false,
    "`true` continues the traces of callers and follows their sampling. Set it only where your own proxy sets or removes the header `traceparent`.",
  ),
};

/** Options that `./returns query` and the default of `--workspace` read, without the others. */
export const COMMAND_OPTIONS = {
  url: option("RETURNS_URL", text, "http://127.0.0.1:8080", "The service that `./returns query` calls."),
  token: option("RETURNS_TOKEN", text, null, "The token of `./returns query`.", { hasFile: true }),
  workspace: option(
    "RETURNS_WORKSPACE",
    text,
    null,
    "The workspace's domain for commands without `--workspace`.",
  ),
};

type Values = {
  [Key in keyof typeof OPTIONS]: (typeof OPTIONS)[Key] extends Option<infer Value, infer Fallback>
    ? Value | Fallback
    : never;
};

/** Every option, read once from the environment; null: not set, and without a default. */
export type Config = Values & {
  /** Warnings for an operator of a service that other machines can reach, a sentence each. */
  warnings: readonly string[];
};

/** For --help and docs/operating/configure.md, in Markdown. */
export const OPTION_HELP = [...Object.values(OPTIONS), ...Object.values(COMMAND_OPTIONS)].map(
  ({ name, fallback, defaultText, hasFile, help }) => ({
    name,
    defaultText: defaultText ?? (String(fallback ?? "") || "none"),
    help: hasFile === true ? `${help} Or \`${name}_FILE\`, a file that holds it.` : help,
  }),
);

/** All problems of the environment at once, one sentence each. */
export class ConfigError extends Error {
  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.name = "ConfigError";
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads the options; throws `ConfigError` listing every problem. */
export function readConfig(environment: Environment): Config {
  const problems: string[] = [];
  const values = Object.fromEntries(
    Object.entries(OPTIONS).map(([key, given]) => [key, readOption(given, environment, problems)]),
  ) as Values;
  if (values.shopifyClientId !== null && values.shopifyClientSecret === null)
    problems.push("SHOPIFY_CLIENT_ID needs SHOPIFY_CLIENT_SECRET.");
  if ((values.smtpUrl === null) !== (values.smtpFrom === null))
    problems.push("SMTP_URL and SMTP_FROM must be set together.");
  if (isHalfOfOidc(values)) problems.push(HALF_OF_OIDC);
  if (isHalfOfRoles(values)) problems.push(HALF_OF_ROLES);
  const isExposed = !isLoopbackHost(values.host);
  if (isExposed) problems.push(...problemsOfExposure(values));
  if (problems.length > 0) throw new ConfigError(problems);
  const warnings = [...(isExposed ? warningsOfExposure(values) : []), ...warningsOfProxies(values)];
  return { ...values, warnings };
}

const HALF_OF_OIDC =
  "OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET must be set together, and with PUBLIC_URL, where the provider sends people back to: an https address, or one of this machine.";

function isHalfOfOidc({ oidcIssuer, oidcClientId, oidcClientSecret, publicUrl }: Values): boolean {
  const given = [oidcIssuer, oidcClientId, oidcClientSecret].filter((value) => value !== null).length;
  return given > 0 && (given < 3 || !isHttpsOrLoopback(publicUrl ?? ""));
}

const HALF_OF_ROLES =
  "DATABASE_READER_URL and DATABASE_ADMISSION_URL must be set together, and with DATABASE_WORKER_URL.";

/** A worker has no use for the other two; a server that has one of them needs all three. */
function isHalfOfRoles(values: Values): boolean {
  const { databaseReaderUrl: reader, databaseAdmissionUrl: admission, databaseWorkerUrl: worker } = values;
  return (reader === null) !== (admission === null) || (reader !== null && worker === null);
}

/** The option's value, or its fallback; errors are added to `problems`. */
function readOption(
  { name, form, fallback, hasFile = false }: Option<unknown, unknown>,
  environment: Environment,
  problems: string[],
): unknown {
  const value = textOf(environment[name]);
  const file = hasFile ? textOf(environment[`${name}_FILE`]) : null;
  if (file !== null && value !== null) problems.push(`Set ${name} or ${name}_FILE, not both.`);
  const given = file === null ? value : readFile(file);
  if (file !== null && given === null) problems.push(`${name}_FILE names a file that cannot be read.`);
  if (given === null) return fallback;
  const read = form.read(given);
  if (read === undefined) problems.push(`${name} must ${form.rule}.`);
  return read ?? fallback;
}

function textOf(value: string | undefined): string | null {
  return value?.trim() || null;
}

function readFile(file: string): string | null {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    return null;
  }
}

/** Databases of other machines over connections that need not be encrypted. */
function warningsOfExposure(values: Values): string[] {
  const keys = ["databaseUrl", "databaseReaderUrl", "databaseAdmissionUrl", "databaseWorkerUrl"] as const;
  return keys
    .filter((key) => isReadableInTransit(values[key]))
    .map((key) => `${OPTIONS[key].name} ${DATABASE_WITHOUT_TLS}`);
}

/** The service speaks plain http: at an https address there is a proxy, and every client seems to be that. */
function warningsOfProxies({ hasConsole, publicUrl, trustedProxies }: Values): string[] {
  const isBehindProxy = hasConsole && publicUrl?.startsWith("https:") === true;
  return isBehindProxy && trustedProxies.length === 0 ? [NO_TRUSTED_PROXIES] : [];
}

const NO_TRUSTED_PROXIES =
  "TRUSTED_PROXIES is not set, so limits, audit and logs show the address of the proxy at PUBLIC_URL for every client.";
const DATABASE_WITHOUT_TLS =
  "names another machine without TLS, so data and password can be read in transit: add sslmode=verify-full.";

type Exposed = { publicUrl: string | null; secret: string | null };

/** Options that are unsafe when other machines are served: approvals, webhooks and tokens depend on both. */
function problemsOfExposure({ publicUrl, secret }: Exposed): string[] {
  const problems: string[] = [];
  const url = publicUrl === null ? null : new URL(publicUrl);
  if (url?.protocol === "http:" && !isLoopbackHost(url.hostname)) {
    problems.push("PUBLIC_URL must begin with https:// when HOST is not this machine itself.");
  }
  if (secret !== null && isWeakSecret(secret)) {
    problems.push(
      "RETURNS_SECRET must be random when HOST is not this machine itself, such as what openssl rand -hex 32 prints.",
    );
  }
  return problems;
}

/** Whether a database is another machine's, over a connection that need not be encrypted. A path of a socket has no host. */
function isReadableInTransit(databaseUrl: string | null): boolean {
  const url = databaseUrl === null ? null : URL.parse(databaseUrl);
  if (url === null) return false;
  const host = url.searchParams.get("host") ?? url.hostname;
  if (host === "" || host.startsWith("/") || isLoopbackHost(host)) return false;
  const mode = url.searchParams.get("sslmode") ?? (url.searchParams.get("ssl") === "true" ? "require" : "");
  return !["require", "verify-ca", "verify-full"].includes(mode);
}

/** An option of the environment. `help` is Markdown: --help and the table in docs/operating/configure.md are made from it. */
type Option<Value, Fallback> = OptionDetail & {
  name: string;
  form: Form<Value>;
  fallback: Fallback;
  help: string;
};

type OptionDetail = {
  /** The default in the help, if it differs from the fallback. */
  defaultText?: string;
  /** Its value may also come from the file in NAME_FILE. */
  hasFile?: boolean;
};

function option<Value, Fallback extends Value | null>(
  name: string,
  form: Form<Value>,
  fallback: Fallback,
  help: string,
  detail: OptionDetail = {},
): Option<Value, Fallback> {
  return { name, form, fallback, help, ...detail };
}
