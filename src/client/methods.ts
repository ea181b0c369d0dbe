import type { Static, TSchema } from "typebox";
import type { AnyEndpoint } from "../contract/registry.ts";
import type { FileExport, RequestOptions, Result } from "./result.ts";

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
