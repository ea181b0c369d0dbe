import type { RequestOptions, Result } from "./result.ts";

type PagedMethod<Parameters, Data, Meta> = (
  parameters: Parameters & { cursor?: string | undefined },
  options?: RequestOptions,
) => Promise<Result<Data, Meta>>;

/**
 * The answers of a method that has pages, one request each, from `parameters.cursor` or the first page on, as in
 * `iteratePages(client.entities, { limit: 100 })`. Stopping early asks for no further page.
 */
export async function* iteratePages<Parameters, Data, Meta extends { next_cursor: string | null }>(
  method: PagedMethod<Parameters, Data, Meta>,
  parameters: Parameters & { cursor?: string | undefined },
  options?: RequestOptions,
): AsyncGenerator<Result<Data, Meta>, void, undefined> {
  let { cursor } = parameters;
  do {
    const page = await method({ ...parameters, cursor }, options);
    yield page;
    cursor = page.meta.next_cursor ?? undefined;
  } while (cursor !== undefined);
}
