import { once } from "node:events";
import { createConnection, createServer, type AddressInfo, type Server, type Socket } from "node:net";

/** forward: a plain relay. refuse: nothing listens, open connections are reset. blackhole: everything is accepted, nothing is forwarded. */
type ProxyMode = "forward" | "refuse" | "blackhole";

/** Outages of a database that last too long for `npm test`; `npm run chaos` runs them. */
export const FAULTS: readonly { mode: ProxyMode; seconds: number }[] = [
  { mode: "refuse", seconds: 5 },
  { mode: "refuse", seconds: 60 },
  { mode: "blackhole", seconds: 30 },
];

export type FaultProxy = {
  port: number;
  set(mode: ProxyMode): Promise<void>;
  close(): Promise<void>;
};

/** A TCP relay to a loopback port, with faults that can be changed while connections are open. */
export async function startFaultProxy(targetPort: number): Promise<FaultProxy> {
  let mode: ProxyMode = "forward";
  let server: Server | null = null;
  const pairs = new Set<readonly [Socket, Socket]>();

  const relay = (client: Socket): void => {
    const upstream = createConnection({ host: "127.0.0.1", port: targetPort });
    const pair = [client, upstream] as const;
    pairs.add(pair);
    for (const [from, to] of [pair, pair.toReversed() as [Socket, Socket]]) {
      from.on("data", (bytes) => {
        if (mode === "forward") to.write(bytes);
      });
      from.on("error", () => to.destroy());
      from.on("close", () => {
        // A black hole does not tell either side that the other one disconnected.
        if (mode === "blackhole") return;
        pairs.delete(pair);
        to.destroy();
      });
    }
  };
  const listen = async (port: number): Promise<void> => {
    server = createServer({ noDelay: true }, relay).listen(port, "127.0.0.1");
    await once(server, "listening");
  };
  const cut = async (): Promise<void> => {
    const closing = server;
    server = null;
    const closed = closing === null ? null : new Promise((done) => closing.close(done));
    for (const [client, upstream] of pairs) {
      // A connection that is being closed can no longer be reset.
      if (client.writable) client.resetAndDestroy();
      else client.destroy();
      upstream.destroy();
    }
    await closed;
  };

  await listen(0);
  const { port } = (server as unknown as Server).address() as AddressInfo;
  return {
    port,
    set: async (next) => {
      const before = mode;
      mode = next;
      if (next === "refuse") await cut();
      else if (server === null) await listen(port);
      // Swallowed bytes are lost, so connections from that time are unusable.
      if (before === "blackhole") for (const pair of pairs) for (const socket of pair) socket.destroy();
    },
    close: cut,
  };
}
