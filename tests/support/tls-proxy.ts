import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { request } from "node:http";
import type { AddressInfo } from "node:net";

/** TLS in front of a service, as a proxy that forwards everything, including Host. */
export type TlsProxy = {
  port: number;
  /** From now on requests come from another address of this machine, with a fresh limit. */
  moveOn(): void;
  stop(): Promise<void>;
};

const certificate = (name: string): Buffer => readFileSync(new URL(`tls/${name}`, import.meta.url));

/** The certificate is self-signed for returns.example, only for tests. */
export async function startTlsProxy(address: string): Promise<TlsProxy> {
  const { hostname, port } = new URL(address);
  const options = { key: certificate("returns.example.key.pem"), cert: certificate("returns.example.pem") };
  let host = 1;
  const server = createServer(options, (incoming, outgoing) => {
    const { method, url: path, headers } = incoming;
    const passed = request(
      { hostname, port, method, path, headers, localAddress: `127.0.0.${host}` },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      },
    );
    passed.on("error", () => outgoing.destroy());
    incoming.pipe(passed);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    moveOn: () => {
      host += 1;
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
