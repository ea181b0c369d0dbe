import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { setCursor, type SourceKind } from "../../src/store/queries/data-source.ts";
import { SourceFailed, SourceRefused, type Connector, type SyncContext } from "../../src/sync/connector.ts";
import { publishLabelRun, publishStoreRun } from "../../src/sync/publish.ts";

/** A source of numbered records over HTTP, one a page, controlled by the test. */
export type PageSource = {
  address: string;
  records: number;
  /** Every requested page, as `shop page`. */
  asked: string[];
  /** The status for a shop: any but 200 is sent instead of a page. */
  statusOf: Map<string, number>;
  /** From now on this page and later ones are only answered after `release`, which keeps a run running. */
  hold(fromPage: number): void;
  release(): void;
  stop(): Promise<void>;
};

export async function startPageSource(): Promise<PageSource> {
  let heldFrom = Infinity;
  const held: (() => void)[] = [];
  const source: PageSource = {
    address: "",
    records: 5,
    asked: [],
    statusOf: new Map(),
    hold: (fromPage) => {
      heldFrom = fromPage;
    },
    release: () => {
      heldFrom = Infinity;
      for (const answer of held.splice(0)) answer();
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
  const server: Server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://source");
    const shop = url.searchParams.get("shop") ?? "";
    const page = Number(url.searchParams.get("page"));
    source.asked.push(`${shop} ${page}`);
    const status = source.statusOf.get(shop) ?? 200;
    const answer = (): void => {
      response.statusCode = status;
      response.end(JSON.stringify({ record: `record ${page}`, isLast: page >= source.records }));
    };
    if (page >= heldFrom) held.push(answer);
    else answer();
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  source.address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return source;
}

/** Reads a page source, page by page: each is stored together with the position of the next. */
export function pageConnector(page: PageSource, source: string, kind: SourceKind): Connector {
  return {
    source,
    kind,
    sync: async (context) => {
      const read = await readPages(page, source, context);
      await publish(context, source, kind, read);
      return { counts: { records: read }, notes: read === 0 ? ["There was nothing to read."] : [] };
    },
  };
}

async function readPages(page: PageSource, source: string, context: SyncContext): Promise<number> {
  const { database, shopKey, signal } = context;
  let read = 0;
  for (let next = (await cursorOf(context, source)) + 1; ; next++) {
    signal.throwIfAborted();
    const answer = await ask(`${page.address}/?shop=${shopKey}&page=${next}`, signal);
    await database.transaction(async (connection) => {
      await connection.client.query(
        "insert into pending_record (shop_key, source, kind, record_id) values ($1, $2, 'page', $3)",
        [shopKey, source, answer.record],
      );
      await setCursor(connection, shopKey, source, { page: answer.isLast ? 0 : next });
      // A later run starts over and inserts the same records.
      if (answer.isLast) {
        await connection.client.query("delete from pending_record where shop_key = $1 and source = $2", [
          shopKey,
          source,
        ]);
      }
    });
    read++;
    context.progress({ stage: "pages", done: next, total: page.records });
    if (answer.isLast) return read;
  }
}

async function ask(url: string, signal: AbortSignal) {
  for (;;) {
    const response = await fetch(url, { signal });
    const text = await response.text();
    if (response.status === 401) throw new SourceRefused("The source refuses the token: connect it again.");
    if (response.status === 503) throw new SourceFailed("The source answered 503 several times.");
    if (response.status === 418) throw new TypeError("a teapot with a secret inside");
    if (response.status === 200) return JSON.parse(text) as { record: string; isLast: boolean };
    await sleep(0, undefined, { signal });
  }
}

async function cursorOf({ database, shopKey }: SyncContext, source: string): Promise<number> {
  const [row] = await database.rows<{ cursor: { page: number } | null }>(
    { name: "test_cursor", text: "select cursor from data_source where shop_key = $1 and source = $2" },
    [shopKey, source],
  );
  return row?.cursor?.page ?? 0;
}

function publish(context: SyncContext, source: string, kind: SourceKind, read: number): Promise<void> {
  const { database, shopKey, currencyCode } = context;
  const isBackfill = context.kind === "backfill";
  const common = { shopKey, source, asOf: context.now(), isChanged: read > 0 };
  return database.transaction((connection) =>
    kind === "store"
      ? publishStoreRun(connection, { ...common, backfilledOrders: isBackfill ? read : null })
      : publishLabelRun(connection, { ...common, currencyCode }),
  );
}
