import type { FastifyReply } from "fastify";
import { JSON_TYPE } from "../contract/wire.ts";

/** The id of a request: whole numbers beyond ±(2^53 − 1) would come back changed and are refused. */
export type RequestId = string | number;

/** A JSON object as parsed; members named as its prototype's are its own. */
export type JsonObject = Record<string, unknown>;

export type Request = {
  kind: "request";
  id: RequestId;
  method: string;
  params: JsonObject | "not an object";
};

/** A request, or a message that is owed no answer: a notification, or a response to nothing we asked. */
export type Message = Request | { kind: "unanswered"; method: string | null };

/** Why a body is no message; `code` is JSON-RPC's. */
export type Malformed = { kind: "malformed"; code: number; reason: string };

const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Reads a body as one JSON-RPC 2.0 message. */
export function readMessage(body: Uint8Array | undefined): Message | Malformed {
  let parsed: unknown;
  try {
    parsed = JSON.parse(utf8.decode(body));
  } catch {
    return malformed("The body is not valid JSON in UTF-8.", PARSE_ERROR);
  }
  if (Array.isArray(parsed)) return malformed("Batches are not supported: send one request per POST.");
  if (!isObject(parsed) || parsed["jsonrpc"] !== "2.0") {
    return malformed('The body must be a JSON-RPC 2.0 message: an object with "jsonrpc": "2.0".');
  }
  return typeof parsed["method"] === "string"
    ? readCall(parsed, parsed["method"])
    : readResponse(parsed, "method" in parsed);
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function readCall(message: JsonObject, method: string): Message | Malformed {
  const { id, params = {} } = message;
  if (typeof params !== "object" || params === null) return malformed("params must be an object.");
  if (!Object.hasOwn(message, "id")) return { kind: "unanswered", method };
  if (!isRequestId(id)) {
    return malformed("The id must be a string or a whole number within ±(2^53 − 1).");
  }
  return { kind: "request", id, method, params: isObject(params) ? params : "not an object" };
}

function readResponse(message: JsonObject, hasMethod: boolean): Message | Malformed {
  const isResponse = !hasMethod && (Object.hasOwn(message, "result") || Object.hasOwn(message, "error"));
  return isResponse ? { kind: "unanswered", method: null } : malformed("The method must be a string.");
}

function isRequestId(id: unknown): id is RequestId {
  return typeof id === "string" || (typeof id === "number" && Number.isSafeInteger(id));
}

function malformed(reason: string, code: number = INVALID_REQUEST): Malformed {
  return { kind: "malformed", code, reason };
}

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
