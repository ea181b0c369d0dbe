/**
 * One round of load, in a separate process: reads a Load as JSON, prints its Outcome as JSON.
 * Without a rate every connection sends requests as fast as they are answered. With one, requests start at scheduled times
 * whatever the answers take, and latency counts from the scheduled time.
 */
import { connect } from "node:net";
import type { Socket } from "node:net";
import { createHistogram } from "node:perf_hooks";
import { text } from "node:stream/consumers";
import type { Load, LoadOutcome, LoadRequest } from "./servers.ts";

type Connections = {
  /** Sends a request as soon as a connection is free, in the order of calls; `answered` gets the status, 0 = no answer. */
  ask(request: string, answered: (status: number) => void): void;
  close(): void;
};

type Asked = { request: string; answered: (status: number) => void };

const LONGEST_ANSWER_MS = 30_000;
const END_OF_HEAD = Buffer.from("\r\n\r\n");

/**
 * HTTP/1.1 over connections that stay open, for answers with a Content-Length or in chunks: with as little work for each
 * request as possible, so that the server is measured and not the client.
 */
async function openConnections(target: {
  hostname: string;
  port: number;
  connections: number;
}): Promise<Connections> {
  const waiting: Asked[] = [];
  const free: Connection[] = [];
  const isAnswered = (connection: Connection): void => {
    const next = waiting.shift();
    if (next === undefined) free.push(connection);
    else connection.send(next);
  };
  const all = await Promise.all(
    Array.from({ length: target.connections }, () => Connection.open(target, isAnswered)),
  );
  free.push(...all);
  return {
    ask: (request, answered) => {
      const connection = free.pop();
      if (connection === undefined) waiting.push({ request, answered });
      else connection.send({ request, answered });
    },
    close: () => {
      for (const connection of all) connection.close();
    },
  };
}

class Connection {
  readonly #socket: Socket;
  readonly #isFree: (connection: Connection) => void;
  #asked: Asked | null = null;
  #received: Buffer = Buffer.alloc(0);

  static async open(
    { hostname, port }: { hostname: string; port: number },
    isFree: (connection: Connection) => void,
  ): Promise<Connection> {
    const socket = connect({ host: hostname, port, noDelay: true });
    await new Promise((done, fail) => socket.once("connect", done).once("error", fail));
    return new Connection(socket, isFree);
  }

  private constructor(socket: Socket, isFree: (connection: Connection) => void) {
    this.#socket = socket;
    this.#isFree = isFree;
    socket.on("data", (bytes) => this.#receive(bytes as Buffer));
    socket.on("error", () => socket.destroy());
    socket.setTimeout(LONGEST_ANSWER_MS, () => {
      if (this.#asked !== null) socket.destroy();
    });
    // Further requests on it fail at once.
    socket.on("close", () => this.#answer(0));
  }

  send(asked: Asked): void {
    this.#asked = asked;
    if (this.#socket.destroyed) setImmediate(() => this.#answer(0));
    else this.#socket.write(asked.request);
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(bytes: Buffer): void {
    this.#received = this.#received.length === 0 ? bytes : Buffer.concat([this.#received, bytes]);
    const headLength = this.#received.indexOf(END_OF_HEAD);
    if (headLength === -1) return;
    const head = this.#received.toString("latin1", 0, headLength);
    const length = lengthOf(this.#received, head);
    if (Number.isNaN(length)) {
      this.#socket.destroy();
      return;
    }
    if (this.#received.length < length) return;
    this.#received = this.#received.subarray(length);
    this.#answer(Number(head.slice(9, 12)));
  }

  #answer(status: number): void {
    const asked = this.#asked;
    if (asked === null) return;
    this.#asked = null;
    asked.answered(status);
    this.#isFree(this);
  }
}

/** The length in bytes of the first answer received; Infinity while unknown, NaN if it cannot be determined. */
function lengthOf(received: Buffer, head: string): number {
  const start = head.length + END_OF_HEAD.length;
  const bodyLength = /^content-length: (\d+)/imu.exec(head)?.[1];
  if (bodyLength !== undefined) return start + Number(bodyLength);
  return /^transfer-encoding: chunked/imu.test(head) ? endOfChunks(received, start) : Number.NaN;
}

/** RFC 9112, section 7.1: each chunk behind its size in hexadecimal digits, the last one empty. */
function endOfChunks(received: Buffer, start: number): number {
  for (let place = start; ;) {
    const endOfSize = received.indexOf("\r\n", place);
    if (endOfSize === -1) return Infinity;
    const size = Number.parseInt(received.toString("latin1", place, endOfSize), 16);
    place = endOfSize + size + 2 * "\r\n".length;
    if (!(size > 0)) return place;
  }
}

const { address, requests, connections, seconds, ratePerSecond } = JSON.parse(
  await text(process.stdin),
) as Load;
const { hostname, port } = new URL(address);
const texts = requests.map(textOf);
const pool = await openConnections({ hostname, port: Number(port), connections });
const latencies = createHistogram();
let failures = 0;
let asked = 0;
const startedMs = performance.now();
await (ratePerSecond === null ? askFreely() : askPaced(ratePerSecond));
const tookSeconds = (performance.now() - startedMs) / 1000;
pool.close();
const outcome: LoadOutcome = {
  perSecond: latencies.count / tookSeconds,
  requests: latencies.count,
  failures,
  p99Ms: latencies.percentile(99) / 1000,
};
console.log(JSON.stringify(outcome));

/** Sends the next request; latency counts from `fromMs`. */
function askNext(fromMs: number, answered: (status: number) => void): void {
  const request = texts[asked % texts.length] ?? "";
  asked += 1;
  pool.ask(request, (status) => {
    latencies.record(Math.max(1, Math.round((performance.now() - fromMs) * 1000)));
    if (status !== 200) failures += 1;
    answered(status);
  });
}

async function askFreely(): Promise<void> {
  const endMs = startedMs + seconds * 1000;
  const askUntilEnd = (ended: () => void): void => {
    const askedMs = performance.now();
    if (askedMs >= endMs) ended();
    // Without its connection a client would only fail in a tight loop.
    else askNext(askedMs, (status) => (status === 0 ? ended() : askUntilEnd(ended)));
  };
  await Promise.all(Array.from({ length: connections }, () => new Promise<void>(askUntilEnd)));
}

async function askPaced(rate: number): Promise<void> {
  const total = Math.round(rate * seconds);
  await new Promise<void>((finished) => {
    const timer = setInterval(() => {
      const due = Math.min(total, ((performance.now() - startedMs) / 1000) * rate);
      while (asked < due) {
        askNext(startedMs + (asked / rate) * 1000, () => latencies.count === total && finished());
      }
      if (asked >= total) clearInterval(timer);
    }, 1);
  });
}

function textOf({ path, token }: LoadRequest): string {
  return `GET ${path} HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${token}\r\n\r\n`;
}
