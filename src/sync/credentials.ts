import { seal, unsealJson } from "../lib/seal.ts";
import type { Database } from "../store/database.ts";
import { findConnection, lockConnection, setCredentials } from "../store/queries/data-source.ts";
import { SourceRefused, type Credentials, type Secrets } from "./connector.ts";

/** Which connection's secrets, and the key they are sealed with. */
type CredentialsPlace = { sealingKey: Buffer; shopKey: number; source: string };

/**
 * The secrets of one connection. `read` and `change` throw `SourceRefused` if there are none, or if they were sealed with another
 * installation's secret. `change` holds the row's lock while it runs: of several processes that find an expired token, one
 * refreshes it and the others see the result. If `change` throws, the row is unchanged.
 */
export function openCredentials(options: CredentialsPlace & { database: Database }): Credentials {
  const { database, shopKey, source } = options;
  return {
    read: async () => {
      const connection = await findConnection(database, shopKey, source);
      return unsealSecrets(options, connection?.sealed_credentials ?? null);
    },
    change: (change) =>
      database.transaction(async (connection) => {
        const locked = await lockConnection(connection, shopKey, source);
        const before = unsealSecrets(options, locked?.sealed_credentials ?? null);
        const secrets = await change(before);
        if (secrets !== before) {
          await setCredentials(connection, shopKey, source, sealSecrets(options, secrets));
        }
        return secrets;
      }),
  };
}

/** Secrets as stored: bound to their workspace and source, so that a copied row cannot be opened. */
export function sealSecrets(place: CredentialsPlace, secrets: Secrets): Buffer {
  return seal(place.sealingKey, contextOf(place), JSON.stringify(secrets));
}

/** The reverse of `sealSecrets`; `sealed` null = there are none. Throws `SourceRefused`. */
export function unsealSecrets(place: CredentialsPlace, sealed: Buffer | null): Secrets {
  if (sealed === null) throw new SourceRefused("The source is not connected: connect it again.");
  const secrets = tryUnseal(place, sealed);
  if (secrets !== null) return secrets;
  throw new SourceRefused(
    "The credentials were encrypted with keys that this installation no longer has: connect the source again.",
  );
}

/** The same, but null where there are none, or they can no longer be opened: then they sign nothing. */
export function tryUnseal(place: CredentialsPlace, sealed: Buffer | null): Secrets | null {
  return sealed === null ? null : (unsealJson(place.sealingKey, contextOf(place), sealed) as Secrets | null);
}

function contextOf({ shopKey, source }: CredentialsPlace): string {
  return `${shopKey}:${source}`;
}
