import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { test, type TestContext } from "node:test";
import { openClient, SHOPIFY_RETRY_POLICY } from "./client.ts";
import { DOCUMENTS } from "./documents.ts";
import { openNodeReader } from "./nodes.ts";
import { exchangeCode } from "../install/access.ts";

async function serve(context: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const clientOf = (url: string, tries = 2) =>
  openClient({
    url,
    tokens: { accessToken: async () => "token", refreshed: async () => "token" },
    signal: AbortSignal.timeout(30_000),
    retryPolicy: { ...SHOPIFY_RETRY_POLICY, tries, firstDelayMs: 1, maxDelayMs: 1 },
  });

const DOCUMENT = { name: "shop", text: "query shop { shop { id } }", read: (answer: unknown) => answer };

/** Answers with bytes without end. */
const endless: RequestListener = (_request, response) => {
  const piece = Buffer.alloc(1_048_576, 0x20);
  const write = (): void => {
    while (response.write(piece));
  };
  response.on("drain", write);
  write();
};

test("an answer that does not end is given up", async (context) => {
  const url = await serve(context, endless);
  const tooLong = { name: "SourceFailed", message: "A response from Shopify is larger than the limit." };
  await assert.rejects(clientOf(url).query(DOCUMENT, {}), tooLong);
  await assert.rejects(
    exchangeCode(url, { clientId: "id", clientSecret: "secret" }, "code", new Date()),
    tooLong,
  );
});

test("a return whose order is not shown is left out; other documents with errors are refused", async (context) => {
  const [hidden, shown] = ["gid://shopify/Return/1", "gid://shopify/Return/2"];
  const node = { id: shown, order: { id: "gid://shopify/Order/2" } };
  const answer = {
    data: { nodes: [null, node] },
    errors: [{ message: "Order is not available", path: ["nodes", 0, "order"] }],
  };
  const url = await serve(context, (_request, response) => response.end(JSON.stringify(answer)));
  const ids = [hidden, shown];
  assert.deepEqual(await clientOf(url).query(DOCUMENTS.returnOrders, { ids }), { nodes: [null, node] });
  await assert.rejects(
    clientOf(url).query(DOCUMENTS.orders, { ids }),
    /^SourceFailed: Shopify refused Orders: Order is not available\.$/u,
  );
  Object.assign(answer, { errors: [{ message: "Access denied", path: ["nodes"] }] });
  await assert.rejects(
    clientOf(url).query(DOCUMENTS.returnOrders, { ids }),
    /refused ReturnOrders: Access denied/u,
  );
});

test("objects that are too many for the platform to read in time are requested in parts", async (context) => {
  const asked: number[] = [];
  const answer = async (...[request, response]: Parameters<RequestListener>): Promise<void> => {
    const { variables } = (await json(request)) as { variables: { ids: string[] } };
    asked.push(variables.ids.length);
    const nodes = variables.ids.map((id) => ({ id, order: { id } }));
    const internal = { message: "Internal error", extensions: { code: "INTERNAL_SERVER_ERROR" } };
    const errors = [asked.length % 2 === 0 ? internal : { message: "Timeout" }];
    response.end(JSON.stringify(variables.ids.length > 2 ? { errors } : { data: { nodes } }));
  };
  const url = await serve(context, (request, response) => void answer(request, response));
  const ids = ["1", "2", "3", "4", "5"];
  const nodes = await openNodeReader(clientOf(url, 8), DOCUMENTS.returnOrders, 10).read(ids);
  assert.deepEqual(
    nodes.map((node) => node?.id),
    ids,
  );
  assert.deepEqual(asked, [5, 5, 5, 3, 3, 3, 2, 1, 2]);
});

test("a firewall's page does not end the connection, as the platform's own refusal does", async (context) => {
  let [asked, type, body] = [0, "text/html", "<!DOCTYPE html><title>Attention Required!</title>"];
  const url = await serve(context, (_request, response) => {
    asked += 1;
    response.writeHead(403, { "content-type": type }).end(body);
  });
  const app = { clientId: "id", clientSecret: "secret" };
  const blocked = { name: "SourceFailed", message: /: a web page refused the request \(status 403\)\.$/u };
  await assert.rejects(clientOf(url).query(DOCUMENT, {}), blocked);
  assert.equal(asked, 2);
  await assert.rejects(exchangeCode(url, app, "code", new Date()), blocked);
  [type, body] = ["application/json", '{"errors":"Forbidden"}'];
  await assert.rejects(clientOf(url).query(DOCUMENT, {}), { name: "SourceRefused" });
  await assert.rejects(exchangeCode(url, app, "code", new Date()), { name: "SourceRefused" });
});

test("no redirect is followed, with or without a token", async (context) => {
  const asked: string[] = [];
  const elsewhere = await serve(context, (request, response) => {
    asked.push(request.url ?? "");
    response.end("{}");
  });
  const url = await serve(context, (_request, response) => {
    response.writeHead(302, { location: `${elsewhere}/taken` }).end();
  });
  await assert.rejects(clientOf(url).query(DOCUMENT, {}), /with status 302/u);
  await assert.rejects(clientOf(url).download(`${url}/bulk/1`), { name: "SourceFailed" });
  await assert.rejects(
    exchangeCode(url, { clientId: "id", clientSecret: "secret" }, "code", new Date()),
    /status 302/u,
  );
  assert.deepEqual(asked, []);
});

test("a file on another host is not requested", async () => {
  const files = ["http://127.0.0.1:5432/", "https://files.example/1", "not an address"];
  for (const file of files) {
    const download = clientOf("https://my-store.myshopify.com").download(file);
    await assert.rejects(
      download,
      /returned the file of a bulk operation on .*, which is not an allowed host\./u,
    );
  }
});
