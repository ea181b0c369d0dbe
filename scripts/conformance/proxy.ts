import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

export type BearerProxy = {
  address: string;
  /** Where requests go from now on, and as whom. */
  forwardTo(serviceAddress: string, token: string): void;
  /** The MCP-Protocol-Version of the last request; null = it had none. */
  lastVersion(): string | null;
  stop(): void;
};

/** Starts a proxy that adds a bearer token and changes nothing else: Host and Origin reach the service as sent. */
export async function startBearerProxy(): Promise<BearerProxy> {
  let target = { hostname: "", port: "", token: "" };
  let version: string | null = null;
  const server = createServer((incoming, outgoing) => {
    const { hostname, port, token } = target;
    const { method, url: path, headers } = incoming;
    if (method === "POST") version = headers["mcp-protocol-version"]?.toString() ?? null;
    const onward = request({
      hostname,
      port,
      method,
      path,
      headers: { ...headers, authorization: `Bearer ${token}` },
    });
    onward.on("response", (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on("error", () => outgoing.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    address,
    forwardTo: (serviceAddress, token) => {
      const { hostname, port } = new URL(serviceAddress);
      target = { hostname, port, token };
    },
    lastVersion: () => version,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
