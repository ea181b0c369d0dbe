import { seal, unseal } from "../../lib/seal.ts";
import type { EndpointPlace } from "../../store/queries/alert-delivery.ts";

/** What of an endpoint only this service reads: where it is, and what its messages are signed with. */
export type EndpointSecrets = {
  address: string;
  /** Of webhooks. */
  secret?: string;
  /** The one before the last rotation. */
  previousSecret?: string;
};

/** Bound to their workspace and endpoint, so that a row copied to another opens nothing. */
export function sealEndpoint(sealingKey: Buffer, place: EndpointPlace, secrets: EndpointSecrets): Buffer {
  return seal(sealingKey, contextOf(place), JSON.stringify(secrets));
}

/** null = they were sealed with another installation's secret. */
export function unsealEndpoint(
  sealingKey: Buffer,
  place: EndpointPlace,
  sealed: Buffer,
): EndpointSecrets | null {
  try {
    return JSON.parse(unseal(sealingKey, contextOf(place), sealed)) as EndpointSecrets;
  } catch {
    return null;
  }
}

function contextOf({ shopKey, endpointId }: EndpointPlace): string {
  return `${shopKey}:alert endpoint:${endpointId}`;
}
