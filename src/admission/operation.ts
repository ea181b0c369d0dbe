import type { Answer, Call } from "../contract/call.ts";
import type { Endpoint, Input } from "../contract/endpoint.ts";
import type { QuotaState } from "../contract/errors.ts";
import { compileRequest } from "../contract/input.ts";
import type { RawInput } from "../contract/input.ts";
import { MCP_WORDS, REST_WORDS } from "../contract/vocabulary.ts";
import type { Vocabulary } from "../contract/vocabulary.ts";
import type { Snapshot, Workspace } from "../store/workspace.ts";
import type { Admit } from "./admit.ts";
import type { Answers, ReadyAnswer } from "./answers.ts";
import type { OpenSnapshot } from "./snapshot.ts";

export type Handler<E extends Endpoint> = (call: Call<E, Snapshot>) => Promise<Answer>;

/** Runs the making of an answer when it is its turn: what waits must not hold a connection. */
export type TakeTurn<E extends Endpoint> = <Result>(
  request: { workspace: Workspace; input: Input<E> },
  make: () => Promise<Result>,
) => Promise<Result>;

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
};

/** Joins an endpoint's contract, the gate and the handler. REST and MCP call nothing else. */
export function createOperation<E extends Endpoint>(
  endpoint: E,
  handler: Handler<E>,
  { admit, answers, openSnapshot }: Gate,
  takeTurn: TakeTurn<E> = (_request, make) => make(),
): Operation {
  const readers = {
    rest: compileRequest(endpoint, REST_WORDS),
    mcp: compileRequest(endpoint, MCP_WORDS),
  };
  const need = { scope: endpoint.scope, entitlements: endpoint.entitlements, counted: true };
  return {
    endpoint,
    perform: async (request, onAdmitted) => {
      const { workspace, quota, tokenId } = await admit(request.authorization, need);
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
        make: () => takeTurn({ workspace, input }, make),
      });
    },
  };
}
