import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export type Step = (response: ServerResponse, request: IncomingMessage) => void;

export type FailingServer = {
  address: string;
  /** Every request that came, with its time. */
  requests: { url: string; atMs: number; headers: IncomingMessage["headers"] }[];
  /** What the next requests are answered; the last step goes on for all further ones. */
  answerWith(...steps: Step[]): void;
  stop(): Promise<void>;
};

/** A server of real sockets that does to each request what the test says. */
export async function startFailingServer(): Promise<FailingServer> {
  let steps: Step[] = [];
  const requests: FailingServer["requests"] = [];
  const server = createServer((request, response) => {
    requests.push({ url: request.url ?? "", atMs: Date.now(), headers: request.headers });
    const step = steps.length > 1 ? steps.shift() : steps[0];
    step?.(response, request);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    answerWith: (...next) => {
      steps = next;
      requests.length = 0;
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

const JSON_HEADERS = { "Content-Type": "application/json; charset=utf-8" };

/** A good answer of any endpoint that has no pages. */
export const succeed: Step = (response) => {
  response.writeHead(200, { ...JSON_HEADERS, "X-Request-ID": "good" });
  response.end(JSON.stringify({ data: { sold_units: 1 }, meta: { api_version: "2026-07-05" } }));
};

/** An error in the API's form. */
export function refuse(status: number, code: string, headers: Record<string, string> = {}): Step {
  return (response) => {
    response.writeHead(status, { ...JSON_HEADERS, "X-Request-ID": `id-${status}`, ...headers });
    response.end(JSON.stringify({ error: { code, message: `Refused with ${status}.` } }));
  };
}

/** Another program's answer. */
export function page(status: number, headers: Record<string, string> = {}): Step {
  return (response) => {
    response.writeHead(status, { "Content-Type": "text/html", ...headers });
    response.end("<h1>Here is something else</h1>");
  };
}

/** The connection ends before an answer. */
export const cutOff: Step = (response) => void response.socket?.destroy();

/** The connection ends in the middle of an answer. */
export const breakOff: Step = (response) => {
  response.writeHead(200, { ...JSON_HEADERS, "Content-Length": "1000" });
  response.write('{"data":');
  setTimeout(() => response.socket?.destroy(), 20);
};

/** Nothing comes. */
export const hang: Step = () => {};

/** What a call that must fail fails with. */
export async function failureOf(work: Promise<unknown>): Promise<Error> {
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof Error);
    return error;
  }
  assert.fail("It succeeded.");
}
