import type { Call as ContractCall } from "../contract/call.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import type { Workspace } from "../store/workspace.ts";

/** What an endpoint receives: the admitted workspace, the validated input, and the time. */
export type Call<E extends Endpoint> = ContractCall<E, Workspace>;
