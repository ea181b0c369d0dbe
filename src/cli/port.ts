import { createServer } from "node:net";
import { impossible } from "../actions/refusal.ts";

/** Throws a `Refusal` when the port cannot be listened on, before any long work is done for nothing. */
export async function requireFreePort(host: string, port: number): Promise<void> {
  if (port === 0) return;
  await new Promise<void>((resolve, reject) => {
    const server = createServer();
    server.once("error", (error) => reject(portFailure(error, host, port)));
    server.listen(port, host, () => server.close(() => resolve()));
  });
}

/** Starts what listens; throws the sentence for a failure to listen, and any other error as it is. */
export async function listening<Started>(
  { host, port }: { host: string; port: number },
  start: () => Promise<Started>,
): Promise<Started> {
  try {
    return await start();
  } catch (error) {
    throw portFailure(error as Error, host, port);
  }
}

function portFailure(error: Error, host: string, port: number): Error {
  const {
    code,
    port: failedPort = port,
    address = host,
  } = error as NodeJS.ErrnoException & { port?: number; address?: string };
  const prefix = failedPort === port ? "" : "OPERATIONS_";
  const option = `${prefix}PORT`;
  if (code === "EADDRINUSE") {
    return impossible(
      `Port ${failedPort} of ${address} is in use: stop what uses it, or set ${option} to another one.`,
    );
  }
  if (code === "EACCES") {
    return impossible(
      `This user may not listen on port ${failedPort}: set ${option} to one of 1024 or above.`,
    );
  }
  if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
    return impossible(`${prefix}HOST ${address} is not an address of this machine.`);
  }
  return error;
}
