import type { Endpoint, Input } from "../contract/endpoint.ts";
import type { Snapshot } from "../store/workspace.ts";

/** An endpoint's input: a snapshot of the data, and the validated parameters. */
export type EndpointCall<E extends Endpoint> = Snapshot & { input: Input<E> };
