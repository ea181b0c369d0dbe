import type { Endpoint } from "./endpoint.ts";

/** How a surface speaks of the contract. */
export type Vocabulary = {
  surface: "rest" | "mcp";
  /** What an endpoint is called as a kind. */
  endpointKind: string;
  /** What the names in a request are called. */
  inputKind: string;
  /** What an endpoint is called; null = the surface does not have it. */
  nameOf: (endpoint: Endpoint) => string | null;
};

export const REST_WORDS: Vocabulary = {
  surface: "rest",
  endpointKind: "endpoint",
  inputKind: "a parameter",
  nameOf: ({ path }) => path,
};

export const MCP_WORDS: Vocabulary = {
  surface: "mcp",
  endpointKind: "tool",
  inputKind: "an argument",
  nameOf: ({ tool }) => tool?.name ?? null,
};

/** A sentence that names parts of the contract, in the words of the surface that says it. */
export type Wording = (words: Vocabulary) => string;
