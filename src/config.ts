import { readFileSync } from "node:fs";
import { isLoopbackHost } from "./lib/loopback.ts";
import { isWeakSecret } from "./lib/weak-secret.ts";

/** Every option of the service, read once from the environment. Secrets may come from a file: NAME_FILE. */
export type Config = {
  host: string;
  port: number;
  /** Separate address for /healthz, /readyz and /metrics; null = none, and the first two lie beside the API. */
  operationsPort: number | null;
  /** Of the separate address. */
  operationsHost: string;
  /** Whether /metrics lies beside the API too. */
  hasMetricsOnApiPort: boolean;
  /** null = the embedded PostgreSQL. */
  databaseUrl: string | null;
  /** null = the default folder (store/embedded.ts). */
  dataFolder: string | null;
  /** Root of the keys for tokens, cursors and sealed credentials; null = a file in the data folder, made once. */
  secret: string | null;
  logLevel: string;
  maxConnections: number;
  /** Requests of one shop that a server answers from the database at a time. */
  requestsPerShop: number;
  /** Memory limit of the response cache; 0 = every answer is recomputed. */
  answerMemoryMegabytes: number;
  /** Web origins that browsers may call the MCP endpoint from; requests without an Origin header always may. */
  mcpAllowedOrigins: readonly string[];
  /** Runs of sources that one worker does at a time. */
  syncRuns: number;
  /** Where the internet reaches this service, without a slash at its end; null = nowhere. */
  publicUrl: string | null;
  /** The Shopify app's; null = shops are connected with tokens of their own apps only. */
  shopifyClientId: string | null;
  shopifyClientSecret: string | null;
  /** How long readiness says "draining" before the server stops accepting, for load balancers. */
  drainSeconds: number;
  /** What an operator should know of a service that other machines reach, a sentence each. */
  warnings: readonly string[];
};

export type OptionHelp = { name: string; defaultText: string; description: string };

/** For --help and the operating guide. */
export const OPTION_HELP: readonly OptionHelp[] = [
  { name: "HOST", defaultText: "127.0.0.1", description: "Address to listen on." },
  { name: "PORT", defaultText: "8080", description: "Port of the API; 0 picks a free one." },
  {
    name: "OPERATIONS_PORT",
    defaultText: "none",
    description: "Own port for /healthz, /readyz and /metrics; without it the first two are on PORT.",
  },
  { name: "OPERATIONS_HOST", defaultText: "127.0.0.1", description: "Address of OPERATIONS_PORT." },
  { name: "METRICS_ON_API_PORT", defaultText: "false", description: "true serves /metrics on PORT too." },
  {
    name: "DATABASE_URL",
    defaultText: "embedded PostgreSQL",
    description: "postgres://… of a PostgreSQL 15 to 18 (or DATABASE_URL_FILE).",
  },
  {
    name: "RETURNS_DATA_DIR",
    defaultText: "./.data",
    description: "Folder of the embedded database and keys.",
  },
  {
    name: "RETURNS_SECRET",
    defaultText: "a file in the data folder",
    description: "At least 32 characters; the same on every server of one database (or RETURNS_SECRET_FILE).",
  },
  {
    name: "LOG_LEVEL",
    defaultText: "info",
    description: "fatal, error, warn, info, debug, trace or silent.",
  },
  {
    name: "DATABASE_CONNECTIONS",
    defaultText: "10",
    description: "Connections per pool; there are two pools.",
  },
  {
    name: "REQUESTS_PER_SHOP",
    defaultText: "2",
    description: "Requests of one shop that a server answers from the database at a time; others wait 3 s.",
  },
  {
    name: "ANSWER_MEMORY_MB",
    defaultText: "64",
    description: "Memory for the response cache; 0 turns the cache off.",
  },
  {
    name: "MCP_ALLOWED_ORIGINS",
    defaultText: "none",
    description: "Web origins that may call the MCP endpoint, separated by commas.",
  },
  {
    name: "RETURNS_URL",
    defaultText: "http://127.0.0.1:8080",
    description: "Where ./returns query asks; RETURNS_TOKEN or RETURNS_TOKEN_FILE holds its token.",
  },
  {
    name: "RETURNS_WORKSPACE",
    defaultText: "none",
    description: "The workspace's domain where a command is given no --workspace.",
  },
  { name: "SYNC_RUNS", defaultText: "2", description: "Runs of sources that one worker does at a time." },
  {
    name: "PUBLIC_URL",
    defaultText: "none",
    description: "https://… where shops reach this service: webhooks, and connecting with approval.",
  },
  { name: "SHOPIFY_CLIENT_ID", defaultText: "none", description: "Of the app that shops approve." },
  {
    name: "SHOPIFY_CLIENT_SECRET",
    defaultText: "none",
    description: "The same app's; it signs webhooks too (or SHOPIFY_CLIENT_SECRET_FILE).",
  },
  { name: "DRAIN_SECONDS", defaultText: "0", description: "Wait between SIGTERM and closing the port." },
];

/** All problems of the environment at once, one sentence each. */
export class ConfigError extends Error {
  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.name = "ConfigError";
  }
}

const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"];

type Environment = Readonly<Record<string, string | undefined>>;

/** Readers of single options; what is wrong is added to `problems`. */
function openEnvironment(environment: Environment, problems: string[]) {
  const text = (name: string): string | null => {
    const value = environment[name]?.trim();
    return value === undefined || value === "" ? null : value;
  };
  const integer = (name: string, fallback: number, minimum: number, maximum: number): number => {
    const value = text(name);
    if (value === null) return fallback;
    const number = /^\d{1,9}$/u.test(value) ? Number(value) : Number.NaN;
    if (number >= minimum && number <= maximum) return number;
    problems.push(`${name} must be a whole number from ${minimum} to ${maximum}.`);
    return fallback;
  };
  const flag = (name: string): boolean => {
    const value = text(name) ?? "false";
    if (value !== "true" && value !== "false") problems.push(`${name} must be true or false.`);
    return value === "true";
  };
  const secretText = (name: string): string | null => {
    const file = text(`${name}_FILE`);
    if (file === null) return text(name);
    if (text(name) !== null) problems.push(`Set ${name} or ${name}_FILE, not both.`);
    try {
      return readFileSync(file, "utf8").trim();
    } catch {
      problems.push(`${name}_FILE names a file that cannot be read.`);
      return null;
    }
  };
  return { text, integer, flag, secretText };
}

/** Reads the options; throws `ConfigError` listing every problem. */
export function readConfig(environment: Environment): Config {
  const problems: string[] = [];
  const { text, integer, flag, secretText } = openEnvironment(environment, problems);
  const databaseUrl = secretText("DATABASE_URL");
  if (databaseUrl !== null && !/^postgres(ql)?:\/\//u.test(databaseUrl)) {
    problems.push("DATABASE_URL must start with postgres:// or postgresql://.");
  }
  const secret = secretText("RETURNS_SECRET");
  if (secret !== null && secret.length < 32)
    problems.push("RETURNS_SECRET must have at least 32 characters.");
  const shopifyClientId = text("SHOPIFY_CLIENT_ID");
  const shopifyClientSecret = secretText("SHOPIFY_CLIENT_SECRET");
  if (shopifyClientId !== null && shopifyClientSecret === null)
    problems.push("SHOPIFY_CLIENT_ID needs SHOPIFY_CLIENT_SECRET.");
  const logLevel = text("LOG_LEVEL") ?? "info";
  if (!LOG_LEVELS.includes(logLevel)) problems.push(`LOG_LEVEL must be one of ${LOG_LEVELS.join(", ")}.`);

  const config: Config = {
    host: text("HOST") ?? "127.0.0.1",
    port: integer("PORT", 8080, 0, 65_535),
    operationsPort: text("OPERATIONS_PORT") === null ? null : integer("OPERATIONS_PORT", 0, 0, 65_535),
    operationsHost: text("OPERATIONS_HOST") ?? "127.0.0.1",
    hasMetricsOnApiPort: flag("METRICS_ON_API_PORT"),
    databaseUrl,
    dataFolder: text("RETURNS_DATA_DIR"),
    secret,
    logLevel,
    maxConnections: integer("DATABASE_CONNECTIONS", 10, 1, 500),
    requestsPerShop: integer("REQUESTS_PER_SHOP", 2, 1, 500),
    answerMemoryMegabytes: integer("ANSWER_MEMORY_MB", 64, 0, 65_536),
    mcpAllowedOrigins: readOrigins(text("MCP_ALLOWED_ORIGINS"), problems),
    syncRuns: integer("SYNC_RUNS", 2, 1, 50),
    publicUrl: readPublicUrl(text("PUBLIC_URL"), problems),
    shopifyClientId,
    shopifyClientSecret,
    drainSeconds: integer("DRAIN_SECONDS", 0, 0, 600),
    warnings: databaseUrl !== null && isReadableOnTheWay(databaseUrl) ? [DATABASE_WITHOUT_TLS] : [],
  };
  if (isLoopbackHost(config.host)) config.warnings = [];
  else problems.push(...problemsOfExposure(config));
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

const DATABASE_WITHOUT_TLS =
  "DATABASE_URL names another machine without TLS, so that data and password can be read on the way: add sslmode=verify-full.";

/** Options that are unsafe when other machines are served: approvals, webhooks and tokens depend on both. */
function problemsOfExposure({ publicUrl, secret }: Config): string[] {
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

/** Another machine's database over a connection that need not be encrypted. A path of a socket has no host. */
function isReadableOnTheWay(databaseUrl: string): boolean {
  const url = URL.parse(databaseUrl);
  if (url === null) return false;
  const host = url.searchParams.get("host") ?? url.hostname;
  if (host === "" || host.startsWith("/") || isLoopbackHost(host)) return false;
  const mode = url.searchParams.get("sslmode") ?? (url.searchParams.get("ssl") === "true" ? "require" : "");
  return !["require", "verify-ca", "verify-full"].includes(mode);
}

function readOrigins(list: string | null, problems: string[]): string[] {
  const origins = (list ?? "").split(",").flatMap((origin) => origin.trim() || []);
  const wrong = origins.find((origin) => !URL.canParse(origin) || new URL(origin).origin !== origin);
  if (wrong !== undefined)
    problems.push("MCP_ALLOWED_ORIGINS must list origins such as https://app.example.");
  return origins;
}

/** Platforms send browsers and webhooks there, so that it is the root of an origin. */
function readPublicUrl(address: string | null, problems: string[]): string | null {
  if (address === null) return null;
  const url = URL.parse(address);
  const isRoot = url !== null && /^https?:$/u.test(url.protocol) && url.href === `${url.origin}/`;
  if (isRoot) return url.origin;
  problems.push("PUBLIC_URL must be an address without a path, such as https://returns.example.com.");
  return null;
}
