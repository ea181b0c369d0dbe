import type { Call as ContractCall, Endpoint } from "../contract/endpoint.ts";
import type { Snapshot } from "../store/workspace.ts";

/** What an endpoint receives: a snapshot of the data, and the validated input. */
export type EndpointCall<E extends Endpoint> = ContractCall<E, Snapshot>;
