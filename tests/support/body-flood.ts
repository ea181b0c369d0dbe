import { connect } from "node:net";

/** The plan of the flood, as JSON in the first argument. */
export type FloodPlan = { port: number; path: string; connections: number; bodyBytes: number };

/** Its result: connections made, answers by status, bytes of bodies that were ready to be sent. */
export type Flood = { connections: number; statuses: Record<string, number>; offeredBytes: number };

// A process that sends large JSON bodies without a token, on several connections at once, until it gets a message.
const plan = JSON.parse(process.argv[2] ?? "") as FloodPlan;
const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping", params: { a: [] as number[] } });
const numbers = Array.from({ length: Math.floor((plan.bodyBytes - body.length) / 2) }, () => "1").join(",");
const text = body.replace("[]", `[${numbers}]`);
const head = `POST ${plan.path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n`;
const FORMS = [
  `${head}Content-Length: ${text.length}\r\n\r\n${text}`,
  `${head}Transfer-Encoding: chunked\r\n\r\n${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`,
];

const flood: Flood = { connections: 0, statuses: {}, offeredBytes: 0 };
const over = new AbortController();
process.on("message", () => over.abort());

async function sendOne(form: string): Promise<void> {
  const socket = connect(plan.port, "127.0.0.1");
  flood.connections += 1;
  flood.offeredBytes += text.length;
  socket.on("error", () => {});
  const status = await new Promise<string>((resolve) => {
    socket.once("data", (chunk: Buffer) => resolve(chunk.toString("latin1").slice(9, 12)));
    socket.once("close", () => resolve("none"));
    socket.write(form);
  });
  socket.destroy();
  flood.statuses[status] = (flood.statuses[status] ?? 0) + 1;
}

await Promise.all(
  Array.from({ length: plan.connections }, async (_, index) => {
    for (let turn = index; !over.signal.aborted; turn += 1)
      await sendOne(FORMS[turn % FORMS.length] as string);
  }),
);
process.send?.(flood);
process.disconnect?.();
