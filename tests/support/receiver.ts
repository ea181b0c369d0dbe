import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A message as it arrived. */
export type Received = {
  id: string;
  headers: IncomingMessage["headers"];
  path: string;
  body: string;
};

/** How a receiver answers its next requests: a status with headers, or never. */
export type Behaviour = number | "hang" | { status: number; headers: Record<string, string> };

/** A receiver of messages on this machine that answers as instructed. */
export type Receiver = {
  url: string;
  /** Every request in order, whatever its answer. */
  received: Received[];
  /** Answers this way until changed. */
  answer(behaviour: Behaviour): void;
  /** Resolves once so many requests have arrived in all. */
  arrived(count: number): Promise<void>;
  stop(): Promise<void>;
};

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const waiting: { count: number; done: () => void }[] = [];
  let behaviour: Behaviour = 204;
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { headers, url: path = "" } = request;
      const body = Buffer.concat(chunks).toString("utf8");
      received.push({ id: String(headers["webhook-id"]), headers, path, body });
      for (const { count, done } of waiting) if (received.length >= count) done();
      if (behaviour === "hang") return;
      const answer = typeof behaviour === "number" ? { status: behaviour, headers: {} } : behaviour;
      response.writeHead(answer.status, answer.headers).end();
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    answer: (next) => {
      behaviour = next;
    },
    arrived: (count) =>
      new Promise((done) => {
        if (received.length >= count) done();
        else waiting.push({ count, done });
      }),
    stop: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
