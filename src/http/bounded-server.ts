import { createServer, ServerResponse } from "node:http";
import type { IncomingMessage, RequestListener, Server } from "node:http";
import type { Socket } from "node:net";

const HEADER_LIMIT_BYTES = 32_768;
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** How late a connection is found that has exceeded one of the two. */
const CHECK_MS = 2000;
/** Longer than proxies keep theirs. */
const KEEP_ALIVE_MS = 72_000;
/** Clients in use wait for an answer before they send the next request on its connection. */
const MOST_UNANSWERED = 16;

/** The HTTP server below every route, with the limits of one connection, before any request is read. */
export function createBoundedServer(handle: RequestListener): Server {
  return createServer(
    {
      maxHeaderSize: HEADER_LIMIT_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: CHECK_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      ServerResponse: BoundedResponse,
    },
    (request, response) => {
      if (request.url?.startsWith("/") === false) request.url = pathOf(request.url);
      if (!request.socket.destroyed) handle(request, response);
    },
  );
}

/** Without the scheme and host that a request may name, as those through a proxy do (RFC 9112, section 3.2.2); the Host says it. */
function pathOf(target: string): string {
  const [authority = "", path = ""] = /^https?:\/\/[^/?#]+(|[/?].*)$/isu.exec(target) ?? [];
  if (authority === "") return target;
  return path.startsWith("/") ? path : `/${path}`;
}

/** `remove` is not public in Node.js: it discards the rest of the parsed chunk. */
type ParsedSocket = Socket & { parser?: { remove?: () => void } | null };

const unanswered = new WeakMap<Socket, number>();

/**
 * Ends the connection when it has too many unanswered requests. Node.js starts all that arrive in one piece, a few thousand,
 * before it does anything else. It makes a response for each, also for those that it refuses itself.
 */
class BoundedResponse<Request extends IncomingMessage> extends ServerResponse<Request> {
  constructor(...given: ConstructorParameters<typeof ServerResponse<Request>>) {
    super(...given);
    const socket: ParsedSocket = given[0].socket;
    const count = (unanswered.get(socket) ?? 0) + 1;
    unanswered.set(socket, count);
    this.once("close", () => unanswered.set(socket, (unanswered.get(socket) ?? 0) - 1));
    if (count <= MOST_UNANSWERED) return;
    const { parser } = socket;
    socket.destroy();
    parser?.remove?.();
  }
}
