import type { Answer, Call } from "../contract/call.ts";
import { invalidRequest } from "../contract/errors.ts";
import type { Endpoint, Input } from "../contract/endpoint.ts";
import type { QuotaState } from "../contract/errors.ts";
import { compileInput } from "../contract/input.ts";
import type { Workspace } from "../store/workspace.ts";
import type { Admit } from "./admit.ts";

export type Handler<E extends Endpoint> = (call: Call<E, Workspace>) => Promise<Answer>;

/** A request as a surface received it; its parameters are read only once it is admitted. */
export type RawRequest = { authorization: string | undefined; parameters: () => RawParameters };

/** Raw parameters by name; `repeated` names those given more than once. */
export type RawParameters = { values: ReadonlyMap<string, unknown>; repeated: ReadonlySet<string> };

/** One endpoint ready to run: admission, input, handler, in the order of the contract. */
export type Operation = {
  endpoint: Endpoint;
  /** Throws `ApiError`; `onAdmitted` hears the quota and who asks before the input is read. */
  perform(
    request: RawRequest,
    onAdmitted: (quota: QuotaState | null, tokenId: string) => void,
  ): Promise<Answer>;
};

/** Joins an endpoint's contract, the gate and the handler. REST and MCP call nothing else. */
export function createOperation<E extends Endpoint>(
  endpoint: E,
  handler: Handler<E>,
  admit: Admit,
): Operation {
  const readInput = compileInput(endpoint.parameters);
  const need = { scope: endpoint.scope, entitlements: endpoint.entitlements, counted: true };
  const parameterNames = Object.keys(endpoint.parameters.properties);
  return {
    endpoint,
    perform: async (request, onAdmitted) => {
      const { workspace, quota, tokenId } = await admit(request.authorization, need);
      onAdmitted(quota, tokenId);
      const parameters = request.parameters();
      const repeated = parameterNames.find((name) => parameters.repeated.has(name));
      if (repeated !== undefined) throw invalidRequest(`${repeated} must be given once only.`);
      const input = readInput(parameters.values) as Input<E>;
      return handler({ workspace, input, now: new Date() });
    },
  };
}
