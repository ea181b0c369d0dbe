import type { Static, TSchema } from "typebox";
import { camelCase, fileTypes, isPaged } from "../contract/endpoint.ts";
import { ERROR_STATUS as STATUS_OF_ERROR } from "../contract/errors.ts";
import { ENDPOINTS as CONTRACT, type AnyEndpoint } from "../contract/registry.ts";
import type { FileExport, RequestOptions, Result } from "./result.ts";

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

/** One method for every endpoint, and an iterator for every endpoint that has pages. */
export type EndpointMethods = {
  [E in AnyEndpoint as CamelCase<E["name"]>]: Method<ParametersOf<E>, Promise<AnswerOf<E>>>;
} & {
  [
    E in AnyEndpoint as E["parameters"]["properties"] extends { cursor: TSchema }
      ? `iterate${Capitalize<CamelCase<E["name"]>>}`
      : never
  ]: Method<ParametersOf<E>, AsyncGenerator<RowOf<E>, void, undefined>>;
};

type Method<P, Answer> =
  Record<string, never> extends P
    ? (parameters?: P, options?: RequestOptions) => Answer
    : (parameters: P, options?: RequestOptions) => Answer;

type ParametersOf<E extends AnyEndpoint> = Given<Static<E["parameters"]>>;

/** A caller may pass `undefined` for an omitted value. */
type Given<P> = { [Name in keyof P as IsOptional<P, Name> extends true ? never : Name]: P[Name] } & {
  [Name in keyof P as IsOptional<P, Name> extends true ? Name : never]?: P[Name] | undefined;
};

type IsOptional<P, Name extends keyof P> = object extends Pick<P, Name> ? true : false;

type AnswerOf<E extends AnyEndpoint> =
  BodyOf<E> extends { data: infer Data; meta: infer Meta } ? Result<Data, Meta> : FileExport;

type RowOf<E extends AnyEndpoint> = BodyOf<E> extends { data: (infer Row)[] } ? Row : never;

type BodyOf<E extends AnyEndpoint> = E["response"] extends TSchema ? Static<E["response"]> : null;

type CamelCase<Name extends string> = Name extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name;
