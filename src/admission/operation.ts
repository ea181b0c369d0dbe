import type { Answer, Call } from "../contract/call.ts";
import type { Endpoint, Input } from "../contract/endpoint.ts";
import { ApiError } from "../contract/errors.ts";
import type { QuotaState } from "../contract/errors.ts";
import { compileRequest } from "../contract/input.ts";
import type { RawInput } from "../contract/input.ts";
import { MCP_WORDS, REST_WORDS } from "../contract/vocabulary.ts";
import type { Vocabulary } from "../contract/vocabulary.ts";
import type { Snapshot } from "../store/workspace.ts";
import type { Admission, Admit } from "./admit.ts";
import type { Answers, ReadyAnswer } from "./answers.ts";
import type { GiveBack } from "./give-back.ts";
import { ShopBusy } from "./shop-queue.ts";
import type { ShopQueue } from "./shop-queue.ts";
import type { OpenSnapshot } from "./snapshot.ts";

export type Handler<E extends Endpoint> = (call: Call<E, Snapshot>) => Promise<Answer>;

/** A request as a surface received it; its parameters are read only once it is admitted. */
export type RawRequest = {
  authorization: string | undefined;
  words: Vocabulary;
  parameters: () => RawInput;
};

/** One endpoint ready to run: admission, input, handler, in the order of the contract. */
export type Operation = {
  endpoint: Endpoint;
  /** Throws `ApiError`; `onAdmitted` hears the quota and who asks before the input is read. */
  perform(
    request: RawRequest,
    onAdmitted: (quota: QuotaState | null, tokenId: string) => void,
  ): Promise<ReadyAnswer>;
};

export type Gate = {
  admit: Admit;
  answers: Answers;
  openSnapshot: OpenSnapshot;
  /** Where answers that are not remembered wait for a turn of their shop, holding no connection. */
  shopQueue: ShopQueue;
  giveBack: GiveBack;
};

/** Joins an endpoint's contract, the gate and the handler. REST and MCP call nothing else. */
export function createOperation<E extends Endpoint>(
  endpoint: E,
  handler: Handler<E>,
  { admit, answers, openSnapshot, shopQueue, giveBack }: Gate,
): Operation {
  const readers = {
    rest: compileRequest(endpoint, REST_WORDS),
    mcp: compileRequest(endpoint, MCP_WORDS),
  };
  const need = { scope: endpoint.scope, entitlements: endpoint.entitlements, counted: true };
  return {
    endpoint,
    perform: async (request, onAdmitted) => {
      const admission = await admit(request.authorization, need);
      const { workspace, quota, tokenId } = admission;
      onAdmitted(quota, tokenId);
      const input = readers[request.words.surface](request.parameters()) as Input<E>;
      const make = () =>
        openSnapshot(workspace, async (snapshot) => ({
          workspace: snapshot.workspace,
          answer: await handler({ ...snapshot, input }),
        }));
      return answers({
        endpoint,
        workspace,
        input,
        now: new Date(),
        make: () => shopQueue(workspace.shopKey, make),
      }).catch(refuseWhenBusy(admission, giveBack));
    },
  };
}

const RETRY_BUSY_SECONDS = 1;

/**
 * Returns what turns `ShopBusy` into a 429. Such a request was counted before it waited, since only admission knows the data
 * version, and so whether its answer is remembered; it is given back.
 */
function refuseWhenBusy(admission: Admission, giveBack: GiveBack): (error: unknown) => Promise<never> {
  return async (error) => {
    if (!(error instanceof ShopBusy)) throw error;
    throw new ApiError(
      "rate_limited",
      "Too many requests of this workspace are being answered: send fewer at once.",
      { quota: await giveBack(admission), retryAfterSeconds: RETRY_BUSY_SECONDS },
    );
  };
}
