import {
  isClientAddress,
  OauthError,
  readClientId,
  readDescription,
  type OauthClient,
} from "../../access/oauth.ts";
import { createMinuteLimit } from "../../console/minute-limit.ts";
import { fetchJson, type PostOptions } from "../../alerts/delivery/post.ts";

/** The client of an id; null = it describes itself, and nobody is signed in who may have that read. Throws `OauthError`. */
export type ClientReader = (clientId: string, userId: string | null) => Promise<OauthClient | null>;

const MOST_BYTES = 10_240;
const TIMEOUT_MS = 5000;
/** As long as somebody takes to decide, and no longer: a description may change. */
const REMEMBER_MS = 5 * 60_000;
const MOST_REMEMBERED = 100;
/** For one person. */
const MOST_READ_PER_MINUTE = 20;

const wrong = (sentence: string) => new OauthError("invalid_client", sentence);

/** Reads clients that registered here, and those that describe themselves at an address, which is fetched as alerts are sent. */
export function createClientReader(push: PostOptions, key: Buffer, now: () => Date): ClientReader {
  const remembered = new Map<string, { client: OauthClient; until: number }>();
  const admits = createMinuteLimit(MOST_READ_PER_MINUTE);
  return async (clientId, userId) => {
    if (!isClientAddress(clientId)) {
      const client = readClientId(clientId, key);
      if (client !== null) return client;
      throw wrong("It is not registered here (client_id).");
    }
    if (userId === null) return null;
    const at = now().getTime();
    const known = remembered.get(clientId);
    if (known !== undefined && known.until > at) return known.client;
    if (!admits(userId, now())) throw wrong("Too many apps were tried: wait a minute.");
    const fetched = await fetchJson(clientId, MOST_BYTES, { ...push, timeoutMs: TIMEOUT_MS });
    if ("problem" in fetched)
      throw wrong(`Its description could not be read (client_id): ${fetched.problem}`);
    const client = readDescription(clientId, fetched.value);
    if (remembered.size >= MOST_REMEMBERED) remembered.clear();
    remembered.set(clientId, { client, until: at + REMEMBER_MS });
    return client;
  };
}
