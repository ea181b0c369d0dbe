import type { FastifyReply } from "fastify";
import { JSON_TYPE } from "../contract/wire.ts";
import type { RequestId } from "./message.ts";

export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL = -32603;
export const NOT_AUTHENTICATED = -32001;

/** What went wrong; `data` is for programs, `message` a sentence for people. */
export type RpcError = { code: number; message: string; data?: unknown };

/** An HTTP answer; `text` null = nothing is owed. */
export type RpcAnswer = { status: number; text: string | null };

/** The result of a request; `resultText` is its JSON. */
export function rpcResult(id: RequestId, resultText: string): RpcAnswer {
  return { status: 200, text: `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${resultText}}` };
}

/** A JSON-RPC error; the id is null when the request's own is unknown. */
export function rpcError(status: number, id: RequestId | null, error: RpcError): RpcAnswer {
  return { status, text: JSON.stringify({ jsonrpc: "2.0", id, error }) };
}

export function sendRpc(reply: FastifyReply, { status, text }: RpcAnswer): FastifyReply {
  reply.code(status);
  return text === null ? reply.send() : reply.type(JSON_TYPE).send(text);
}
