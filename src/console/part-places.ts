import type { FastifyReply } from "fastify";
import { ApiError } from "../contract/errors.ts";

/** Each holds some 16 MB while it is taken in: its bytes, and a copy on the way to the database. */
const MOST_PARTS_AT_ONCE = 12;
/** The page sends one after the other. */
const MOST_OF_A_WORKSPACE = 2;

/**
 * Places of this process for bodies of bytes, asked for before a body is read and free once its request has ended. Throws
 * when all are taken, or those of the workspace.
 */
export function createPartPlaces(): (shopKey: number, reply: FastifyReply) => void {
  const takenByShop = new Map<number, number>();
  let taken = 0;
  const change = (shopKey: number, by: 1 | -1): void => {
    const ofShop = (takenByShop.get(shopKey) ?? 0) + by;
    if (ofShop === 0) takenByShop.delete(shopKey);
    else takenByShop.set(shopKey, ofShop);
    taken += by;
  };
  return (shopKey, reply) => {
    // Its sender was looked up meanwhile, and nothing would give the place back.
    if (reply.raw.closed) return;
    if ((takenByShop.get(shopKey) ?? 0) >= MOST_OF_A_WORKSPACE)
      throw tooMany(`${MOST_OF_A_WORKSPACE} parts of uploads to this workspace are being taken in.`);
    if (taken >= MOST_PARTS_AT_ONCE)
      throw tooMany(`${MOST_PARTS_AT_ONCE} parts of uploads are being taken in.`);
    change(shopKey, 1);
    reply.raw.once("close", () => change(shopKey, -1));
  };
}

function tooMany(sentence: string): ApiError {
  const message = `${sentence} Send this one again in a second.`;
  return new ApiError("rate_limited", message, { retryAfterSeconds: 1 });
}
