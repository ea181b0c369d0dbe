import type { IncomingMessage } from "node:http";

/** How much of a body is read, and for how long. */
export type BodyLimits = { bytes: number; milliseconds: number };

export const TOO_LARGE = "The request body is too large.";
export const UNREADABLE = "The request body could not be read.";

/** A body that was not read to its end; `statusCode` is HTTP's. */
export class UnreadBodyError extends Error {
  readonly statusCode: 400 | 408 | 413;

  constructor(statusCode: 400 | 408 | 413, message: string) {
    super(message);
    this.statusCode = statusCode;
  }
}

/** The size that a request declares for its body; 0 also for one that comes in chunks. */
export function declaredBytes(request: IncomingMessage): number {
  return Number(request.headers["content-length"] ?? 0);
}

/** Reads a body to its end, or no further than its limits; rejects with `UnreadBodyError`. */
export function readBody(request: IncomingMessage, limits: BodyLimits): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const stop = (): void => {
      clearTimeout(timer);
      request.off("data", take).off("end", finish).off("close", breakOff);
    };
    const fail = (error: UnreadBodyError): void => {
      stop();
      request.pause();
      reject(error);
    };
    const take = (chunk: Buffer): void => {
      length += chunk.length;
      if (length > limits.bytes) fail(new UnreadBodyError(413, TOO_LARGE));
      else chunks.push(chunk);
    };
    const finish = (): void => {
      stop();
      resolve(Buffer.concat(chunks, length));
    };
    const breakOff = (): void => fail(new UnreadBodyError(400, UNREADABLE));
    // Most bodies have arrived by now and need no timer.
    const timer = request.complete
      ? undefined
      : setTimeout(
          () => fail(new UnreadBodyError(408, "The request body took too long to arrive.")),
          limits.milliseconds,
        );
    if (request.destroyed) breakOff();
    else request.on("data", take).on("end", finish).on("close", breakOff);
  });
}
