import { isIP } from "node:net";
import { isLoopbackHost } from "../lib/loopback.ts";
import { isAllowed } from "../push/networks.ts";
import { hostOf } from "../push/post.ts";
import type { PushOptions } from "../push/send.ts";
import { ENDPOINT_KINDS } from "../store/queries/alert-endpoint.ts";
import type { EndpointKind } from "../store/queries/alert-endpoint.ts";
import { readChoices, readInteger, readOneOf, readText } from "./input.ts";
import { impossible, invalid } from "./refusal.ts";

export const ALERT_SEVERITIES = ["critical", "warning", "info"] as const;
export const ALERT_CATEGORIES = [
  "return_rate_watchlist",
  "connection_stale",
  "report_ready",
  "backfill_completed",
] as const;

/** What somebody fills in; absent or empty = every severity, every category, at once. */
export type EndpointRequest = {
  kind: string;
  name: string;
  address: string;
  severities?: string | undefined;
  categories?: string | undefined;
  digestHour?: string | undefined;
};

export type CheckedEndpoint = {
  kind: EndpointKind;
  name: string;
  address: string;
  shownAddress: string;
  severities: readonly string[];
  categories: readonly string[] | null;
  digestHour: number | null;
};

const NAME_MAX_LENGTH = 100;
const ADDRESS_MAX_LENGTH = 2000;
const MAIL_ADDRESS = /^[^\s@<>"(),:;[\]\\]{1,64}@[^\s@<>"(),:;[\]\\]{1,189}$/u;

/** Throws a `Refusal` that names the field. */
export function readEndpoint(request: EndpointRequest, push: PushOptions): CheckedEndpoint {
  const kind = readOneOf("The kind", request.kind, ENDPOINT_KINDS);
  const name = readText("The name", request.name, NAME_MAX_LENGTH);
  const given = readText("The address", request.address, ADDRESS_MAX_LENGTH);
  const severities = readChoices("The severities", request.severities ?? "", ALERT_SEVERITIES);
  const categories = readChoices("The categories", request.categories ?? "", ALERT_CATEGORIES);
  const hour = request.digestHour?.trim() ?? "";
  return {
    kind,
    name,
    ...(kind === "email" ? mailAddress(given, push) : webAddress(given, push)),
    severities: severities.length === 0 ? ALERT_SEVERITIES : severities,
    categories: categories.length === 0 ? null : categories,
    digestHour: hour === "" ? null : readInteger("The digest hour", hour, 0, 23),
  };
}

type Address = Pick<CheckedEndpoint, "address" | "shownAddress">;

function mailAddress(address: string, { smtp }: PushOptions): Address {
  if (smtp === null) throw impossible("This service sends no mail: its operator has to set SMTP_URL.");
  if (!MAIL_ADDRESS.test(address))
    throw invalid("The address must be one e-mail address, such as team@shop.example.");
  return { address, shownAddress: address };
}

/** What its name resolves to is checked at each connection. */
function webAddress(given: string, { allowedNetworks: allowed }: PushOptions): Address {
  const url = URL.parse(given);
  const protocols = allowed.rules.length > 0 ? ["https:", "http:"] : ["https:"];
  if (url === null || !protocols.includes(url.protocol) || url.username !== "" || url.password !== "")
    throw invalid("The address must begin with https:// and have no user or password in it.");
  const host = hostOf(url);
  const literal = isIP(host) === 0 && isLoopbackHost(host) ? "127.0.0.1" : host;
  if (isIP(literal) !== 0 && !isAllowed(literal, { protocol: url.protocol, allowed }))
    throw invalid(
      "The address must be a public one: the operator of this service has to allow other networks.",
    );
  url.hash = "";
  return { address: url.href, shownAddress: url.origin };
}
