import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Serves requests on loopback; port 0 = any. `failed` gets what `answer` throws. */
export async function serveLoopback(
  port: number,
  answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
  failed: (response: ServerResponse, error: unknown) => void,
): Promise<{ url: string; stop: () => Promise<void> }> {
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => failed(response, error));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString("utf8");
}

/** Sends JSON; if the answer has already begun, the connection is cut instead. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

/** Sends half of the JSON, and cuts the connection. */
export function sendHalf(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  const length = { "content-length": Buffer.byteLength(text) };
  response.writeHead(status, { "content-type": "application/json", ...length });
  response.write(text.slice(0, Math.floor(text.length / 2)), () => response.destroy());
}

/** Faults in the order in which requests meet them. */
export function faultQueue<Fault>() {
  let waiting: (Fault | undefined)[] = [];
  return {
    /** For the next `times` requests, after `after` good ones. */
    add: (fault: Fault, times = 1, after = 0): void => {
      waiting.push(...Array.from({ length: after }, () => undefined));
      waiting.push(...Array.from({ length: times }, () => fault));
    },
    /** The fault of this request, if it has one. */
    take: (): Fault | undefined => waiting.shift(),
    clear: (): void => {
      waiting = [];
    },
  };
}
