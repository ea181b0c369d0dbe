import { blockListOf, isLoopbackHost } from "../../lib/networks.ts";
import type { Network } from "../../lib/networks.ts";
import type { SmtpOptions } from "./mail.ts";
import { resolveByDns } from "./networks.ts";
import type { PushOptions } from "./send.ts";

/** The options of the environment that pushing takes. */
export type PushSettings = {
  pushNetworks: readonly Network[];
  smtpUrl: URL | null;
  smtpFrom: string | null;
};

/** Of one try, as the specification advises. */
const TIMEOUT_MS = 15_000;

export function pushOptions({ pushNetworks, smtpUrl, smtpFrom }: PushSettings): PushOptions {
  return {
    allowedNetworks: blockListOf(pushNetworks),
    resolve: resolveByDns,
    timeoutMs: TIMEOUT_MS,
    smtp: smtpUrl === null || smtpFrom === null ? null : smtpOptions(smtpUrl, smtpFrom),
  };
}

function smtpOptions(url: URL, from: string): SmtpOptions {
  const isImplicit = url.protocol === "smtps:";
  const host = url.hostname.replaceAll(/^\[|\]$/gu, "");
  const tls = isImplicit ? "implicit" : isLoopbackHost(host) ? "none" : "starttls";
  return {
    host,
    port: url.port === "" ? (isImplicit ? 465 : 587) : Number(url.port),
    tls,
    user: url.username === "" ? null : decodeURIComponent(url.username),
    password: url.password === "" ? null : decodeURIComponent(url.password),
    from,
  };
}
