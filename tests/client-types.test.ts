import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Static } from "typebox";
import { generatedFiles } from "../tools/client/generated-files.ts";
import type { EndpointMethods } from "../src/client/generated/methods.ts";
import type { Result } from "../src/client/result.ts";
import type { AnyEndpoint } from "../src/contract/registry.ts";

type CamelCase<Name extends string> = Name extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name;
type Contract = { [E in AnyEndpoint as CamelCase<E["name"]>]: E };
type Method = keyof Contract & keyof EndpointMethods;
type JsonMethod = { [Name in Method]: Contract[Name]["response"] extends null ? never : Name }[Method];

type Alike<Left, Right> = [Left, Right] extends [Right, Left] ? true : false;
/** A caller may write `undefined` for what is left out; the contract's own type does not say so. */
type Given<Parameters> = { [Name in keyof Parameters]: Exclude<Parameters[Name], undefined> };
type ParametersOf<Name extends Method> = Given<NonNullable<Parameters<EndpointMethods[Name]>[0]>>;
type BodyOf<Name extends JsonMethod> =
  Awaited<ReturnType<EndpointMethods[Name]>> extends Result<infer Data, infer Meta>
    ? { data: Data; meta: Meta }
    : never;

// The compiler is the test: a type that strays from the contract's needs a member here, and none can be written.
export const HAS_EVERY_METHOD: [Exclude<keyof Contract, Method>] extends [never] ? true : false = true;
export const PARAMETERS_UNLIKE: {
  [
    Name in Method as Alike<ParametersOf<Name>, Static<Contract[Name]["parameters"]>> extends true
      ? never
      : Name
  ]: never;
} = {};
export const ANSWERS_UNLIKE: {
  [
    Name in JsonMethod as Alike<BodyOf<Name>, Static<NonNullable<Contract[Name]["response"]>>> extends true
      ? never
      : Name
  ]: never;
} = {};

test("The client's files that follow from the contract are up to date (npm run client:types)", () => {
  for (const [path, text] of generatedFiles()) {
    const file = join(import.meta.dirname, "..", path);
    assert.equal(existsSync(file) ? readFileSync(file, "utf8") : "", text, path);
  }
});
