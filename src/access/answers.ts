import { Readable } from "node:stream";
import type { Answer, Endpoint } from "../contract/endpoint.ts";
import { jsonMembers } from "../contract/wire.ts";
import { rememberLast } from "../lib/remember-last.ts";
import { note } from "../lib/trace.ts";
import type { Workspace } from "../store/workspace.ts";
import { createAnswerMemory, type AnswerText } from "./answer-memory.ts";

/** An answer as it is sent: JSON text, or a file, whole or in pieces. */
export type ReadyAnswer =
  | { kind: "json"; text: string }
  | { kind: "file"; filename: string; type: string; content: string | AsyncIterable<string | Uint8Array> };

/** An answer, and the workspace in whose snapshot it was made. */
export type MadeAnswer = { workspace: Workspace; answer: Answer };

/**
 * One request for an answer: its admitted workspace, its validated input in the order of the contract, and the function that
 * computes the answer from a snapshot at least as new.
 */
export type AnswerRequest = {
  endpoint: Endpoint;
  workspace: Workspace;
  input: unknown;
  now: Date;
  make: () => Promise<MadeAnswer>;
};

export type Answers = (request: AnswerRequest) => Promise<ReadyAnswer>;

type AnswersOptions = {
  /** Memory limit of the response cache; 0 = no cache. */
  memoryBytes: number;
  /** The members of `meta` that every answer has before its own; time changes them, so they are recomputed each time. */
  baseMeta: (workspace: Workspace, now: Date, endpoint: Endpoint) => object;
};

/** In traces. An answer that another request already waits for is made in the trace of that one. */
const HIT = { "returns.response_cache": "hit" };
const MISS = { "returns.response_cache": "miss" };
const JOINED = { "returns.response_cache": "joined" };

/** `key`: of the snapshot that the answer was computed from. */
type SharedAnswer = { key: string; workspace: Workspace; text: AnswerText };

/**
 * The response cache. An answer depends on nothing but the data version, the workspace's settings and the input, and is
 * cached under exactly these, the workspace first, as in the snapshot it was computed from. Concurrent requests for the same
 * JSON wait for one computation; a file is sent as it is written, and cached when it is complete.
 */
export function createAnswers(options: AnswersOptions): Answers {
  const memory = createAnswerMemory(options.memoryBytes);
  const underWay = new Map<string, Promise<SharedAnswer>>();
  // Requests admitted together arrive consecutively, with one workspace.
  const workspaceText = rememberLast(workspaceKey);
  const keyOf = (workspace: Workspace, { endpoint, input }: AnswerRequest): string =>
    `${workspaceText(workspace)}${endpoint.name} ${JSON.stringify(input)}`;
  const baseOf = rememberLast((workspace: Workspace) =>
    rememberLast((endpoint: Endpoint) =>
      rememberLast((atMs: number) => jsonMembers(options.baseMeta(workspace, new Date(atMs), endpoint))),
    ),
  );

  const makeText = async (request: AnswerRequest): Promise<SharedAnswer> => {
    const { workspace, answer } = await request.make();
    if (answer.kind !== "json") throw new Error("a JSON endpoint returned another kind of answer");
    const { data, meta } = answer.body;
    const text = { kind: "json", data: JSON.stringify(data), meta: jsonMembers(meta) } as const;
    const key = keyOf(workspace, request);
    memory.set(key, text);
    return { key, workspace, text };
  };
  const shareMaking = (key: string, request: AnswerRequest): Promise<SharedAnswer> => {
    if (options.memoryBytes === 0) return makeText(request);
    let making = underWay.get(key);
    if (making !== undefined) note(JOINED);
    else {
      making = makeText(request).finally(() => underWay.delete(key));
      underWay.set(key, making);
    }
    return making;
  };
  const makeFile = async (request: AnswerRequest): Promise<ReadyAnswer> => {
    const { workspace, answer } = await request.make();
    if (answer.kind !== "file") throw new Error("a file's endpoint returned JSON");
    const { content, ...file } = answer;
    // A table is as long as the store's history: its stream holds a connection, and never all of it.
    if (content instanceof Readable) return answer;
    const remember = (text: string): void =>
      memory.set(keyOf(workspace, request), { ...file, content: text });
    const pieces = content as AsyncIterable<string>;
    return { ...file, content: tellWhole(pieces, memory.longest, remember) };
  };
  const readyOf = (
    text: AnswerText,
    workspace: Workspace,
    { endpoint, now }: Pick<AnswerRequest, "endpoint" | "now">,
  ): ReadyAnswer => {
    if (text.kind === "file") return text;
    const meta = [baseOf(workspace)(endpoint)(now.getTime()), text.meta].join(",");
    return { kind: "json", text: `{"data":${text.data},"meta":{${meta}}}` };
  };
  return async (request) => {
    const { endpoint, workspace } = request;
    const key = keyOf(workspace, request);
    const known = memory.get(key);
    note(known === undefined ? MISS : HIT);
    if (known !== undefined) return readyOf(known, workspace, request);
    if (endpoint.response === null) return makeFile(request);
    const made = await shareMaking(key, request);
    // Of the same data, the request's own freshness: it may have waited for a computation that began before a sync.
    return readyOf(made.text, made.key === key ? workspace : made.workspace, request);
  };
}

/** Passes the pieces on, and their whole text to `tell` at the end unless it has become longer than `longest`. */
async function* tellWhole(
  pieces: AsyncIterable<string>,
  longest: number,
  tell: (text: string) => void,
): AsyncGenerator<string> {
  let text = "";
  let length = 0;
  for await (const piece of pieces) {
    length += piece.length;
    text = length <= longest ? text + piece : "";
    yield piece;
  }
  if (length <= longest) tell(text);
}

/** The workspace, its data version, and all else of a workspace but the times that only its own members of meta show. */
function workspaceKey(workspace: Workspace): string {
  const { shopKey, dataVersion, sources, ...rest } = workspace;
  const settings = { ...rest, dataAsOf: null };
  const states = sources.map((source) => ({ ...source, lastSyncedAt: source.lastSyncedAt !== null }));
  return `${shopKey} ${dataVersion} ${JSON.stringify([settings, states])} `;
}
