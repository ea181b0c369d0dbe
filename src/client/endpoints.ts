import { camelCase, fileTypes, isPaged } from "../contract/endpoint.ts";
import { ERROR_STATUS as STATUS_OF_ERROR } from "../contract/errors.ts";
import { ENDPOINTS as CONTRACT } from "../contract/registry.ts";

/** The client's facts about an endpoint, without schemas, to keep a caller's bundle small. */
export type EndpointFacts = {
  /** A name in braces is a parameter. */
  path: string;
  /** Content types of a file; null = JSON. */
  fileTypes: readonly string[] | null;
  isPaged: boolean;
  parameters: readonly string[];
};

/** By the name of the client's method. The package has this file with everything of the contract written out. */
export const ENDPOINTS: Readonly<Record<string, EndpointFacts>> = Object.fromEntries(
  CONTRACT.map((endpoint) => [
    camelCase(endpoint.name),
    {
      path: endpoint.path,
      fileTypes: fileTypes(endpoint),
      isPaged: isPaged(endpoint),
      parameters: Object.keys(endpoint.parameters.properties),
    },
  ]),
);

/** The closed list of error codes with their HTTP statuses. */
export const ERROR_STATUS = STATUS_OF_ERROR;

export type ErrorCode = keyof typeof ERROR_STATUS;
