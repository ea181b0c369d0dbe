import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyReply } from "fastify";

/** The rest of a body this short is taken and thrown away, so that its connection can be used again. */
const SHORT_BODY_BYTES = 65_536;
/** How long a client that still sends has to read its answer. */
const GRACE_MS = 2000;

/**
 * Stops reading a body whose request has been answered, unless it is short. Node.js would read it to its end, at the
 * cost of every other request; closing the connection at once would reset it, and the client might never see the answer.
 */
export function stopReadingAnsweredBodies(server: FastifyInstance): void {
  server.addHook("onSend", ({ raw }, reply, _payload, done) => {
    if (!raw.complete && hasLongBody(raw, reply)) {
      reply.header("Connection", "close");
      closeAfterGrace(raw);
    }
    done();
  });
}

function hasLongBody({ headers }: IncomingMessage, reply: FastifyReply): boolean {
  if (headers["transfer-encoding"] !== undefined) return true;
  const bytes = Number(headers["content-length"] ?? 0);
  return bytes > SHORT_BODY_BYTES || (bytes > 0 && reply.getHeader("connection") === "close");
}

/**
 * Reads nothing more, and closes the connection a while after the answer. Node.js calls `resume` to discard the body, and
 * `destroySoon` to end the connection with its last answer.
 */
function closeAfterGrace({ socket }: IncomingMessage): void {
  socket.pause();
  socket.resume = () => socket;
  socket.destroySoon = () => {
    socket.end();
    const timer = setTimeout(() => socket.destroy(), GRACE_MS);
    socket.once("close", () => clearTimeout(timer));
  };
}
