import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

/** Starts a proxy that adds a bearer token and changes nothing else: Host and Origin reach the service as sent. */
export async function startBearerProxy(
  serviceAddress: string,
  token: string,
): Promise<{ address: string; stop(): void }> {
  const { hostname, port } = new URL(serviceAddress);
  const server = createServer((incoming, outgoing) => {
    const { method, url: path, headers } = incoming;
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
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
