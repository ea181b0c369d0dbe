import type { Answer, Call } from "../contract/call.ts";
import type { Endpoint, Input } from "../contract/endpoint.ts";
import { ApiError } from "../contract/errors.ts";
import type { QuotaState } from "../contract/errors.ts";
import { compileRequest } from "../contract/input.ts";
import type { RawInput } from "../contract/input.ts";
import { traced } from "../lib/trace.ts";
import { MCP_WORDS, REST_WORDS } from "../contract/vocabulary.ts";
import type { Vocabulary } from "../contract/vocabulary.ts";
import type { Snapshot, Workspace } from "../store/workspace.ts";
import { checkMember } from "./admit-member.ts";
import type { MemberAdmission } from "./admit-member.ts";
import type { Admit } from "./admit.ts";
import type { Answers, ReadyAnswer } from "./answers.ts";
import type { GiveBack } from "./give-back.ts";
import { shopBusy, unknownToken } from "./refusals.ts";
import { ShopBusy } from "./shop-queue.ts";
import type { ShopQueue } from "./shop-queue.ts";
import { WorkspaceGone } from "../store/queries/import-stage.ts";
import type { OpenSnapshot } from "./snapshot.ts";
import { countEnd } from "./usage-count.ts";
import type { CountUsage } from "./usage-count.ts";

export type Handler<E extends Endpoint> = (call: Call<E, Snapshot>) => Promise<Answer>;

/** What is asked, in a surface's words; its parameters are read only once it is admitted. */
export type MemberRequest = { words: Vocabulary; parameters: () => RawInput };

/** The same as a surface received it with a token. */
export type RawRequest = MemberRequest & { authorization: string | undefined };

/** One endpoint ready to run: a guard, input, handler, in the order of the contract. */
export type Operation = {
  endpoint: Endpoint;
  /** Answers a token, counted. Throws `ApiError`; `onAdmitted` hears the quota and who asks before the input is read. */
  perform(
    request: RawRequest,
    onAdmitted: (quota: QuotaState | null, tokenId: string) => void,
  ): Promise<ReadyAnswer>;
  /**
   * Answers a member, uncounted. Throws the `ApiError` that a token of the workspace would get; `not_found` when the
   * workspace has been deleted meanwhile.
   */
  read(admission: MemberAdmission, request: MemberRequest): Promise<ReadyAnswer>;
};

export type Guard = {
  admit: Admit;
  answers: Answers;
  openSnapshot: OpenSnapshot;
  /** Where answers that are not remembered wait for a turn of their shop, holding no connection. */
  shopQueue: ShopQueue;
  giveBack: GiveBack;
  countUsage: CountUsage;
};

/** Joins an endpoint's contract, the gates and the handler. REST, MCP and the console call nothing else. */
export function createOperation<E extends Endpoint>(
  endpoint: E,
  handler: Handler<E>,
  { admit, answers, openSnapshot, shopQueue, giveBack, countUsage }: Guard,
): Operation {
  const readers = {
    rest: compileRequest(endpoint, REST_WORDS),
    mcp: compileRequest(endpoint, MCP_WORDS),
  };
  const need = { scope: endpoint.scope, entitlements: endpoint.entitlements, counted: true };
  const span = { name: "answer", attributes: { "returns.endpoint": endpoint.name }, expects: isAnswer };
  const answer = async (workspace: Workspace, { words, parameters }: MemberRequest): Promise<ReadyAnswer> => {
    const input = readers[words.surface](parameters()) as Input<E>;
    const make = () =>
      openSnapshot(workspace, async (snapshot) => ({
        workspace: snapshot.workspace,
        answer: await handler({ ...snapshot, input }),
      }));
    const now = new Date();
    return traced(span, () =>
      answers({ endpoint, workspace, input, now, make: () => shopQueue(workspace.shopKey, make) }),
    );
  };
  return {
    endpoint,
    perform: (request, onAdmitted) =>
      countEnd(countUsage, { endpoint: endpoint.name, surface: request.words.surface }, async (asked) => {
        const admission = await admit(request.authorization, need, undefined, (caller) => {
          asked.caller = caller;
        });
        asked.isCounted = admission.quota !== null;
        onAdmitted(admission.quota, admission.tokenId);
        return answer(admission.workspace, request).catch(async (error: unknown) => {
          if (error instanceof WorkspaceGone) throw unknownToken();
          if (!(error instanceof ShopBusy)) throw error;
          // It was counted before it waited: only admission knows the data version, and so whether the answer is remembered.
          const quota = await giveBack(admission);
          asked.isCounted = false;
          throw shopBusy(quota);
        });
      }),
    read: async (admission, request) => {
      checkMember(admission, endpoint);
      return answer(admission.workspace, request).catch(async (error: unknown) => {
        if (error instanceof WorkspaceGone)
          throw new ApiError("not_found", "This workspace has been deleted.");
        if (error instanceof ShopBusy) throw shopBusy(await giveBack({ ...admission, quota: null }));
        throw error;
      });
    },
  };
}

/** Errors that answer the request, rather than fail. */
function isAnswer(error: unknown): boolean {
  return error instanceof ApiError || error instanceof ShopBusy || error instanceof WorkspaceGone;
}
