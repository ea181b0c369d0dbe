import type { Answer } from "../contract/call.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import { jsonText } from "../contract/wire.ts";
import { rememberLast } from "../lib/remember-last.ts";
import type { Workspace } from "../store/workspace.ts";
import { createAnswerMemory } from "./answer-memory.ts";
import type { AnswerText } from "./answer-memory.ts";

type CsvAnswer = Extract<Answer, { kind: "csv" }>;

/** An answer as it is sent: JSON text, or a CSV file, whole or in pieces. */
export type ReadyAnswer =
  | { kind: "json"; text: string }
  | { kind: "csv"; filename: string; content: string | AsyncIterable<string> };

/** One request for an answer; `input` is validated, its members in the order of the contract. */
export type AnswerRequest = {
  endpoint: Endpoint;
  workspace: Workspace;
  input: unknown;
  now: Date;
  make: () => Promise<Answer>;
};

/** Gives the answer at the workspace's data version; null = the data changed while it was made. */
export type Answers = (request: AnswerRequest) => Promise<ReadyAnswer | null>;

export type AnswersOptions = {
  /** Memory limit of the response cache; 0 = no cache. */
  memoryBytes: number;
  /** `meta.freshness` of a workspace: the one part of an answer that time changes. */
  freshness: (workspace: Workspace, now: Date) => unknown;
  findDataVersion: (workspace: Workspace) => Promise<number | null>;
};

/**
 * Makes answers that depend on nothing but the data version, the workspace's settings and the input, and remembers
 * them under exactly these, the shop first. None mixes the facts of one version with the as-of of another: the version
 * is read again after the facts. Requests for the same JSON at once wait for one making of it; a CSV file is sent as it
 * is made, and remembered when all of it was.
 */
export function createAnswers(options: AnswersOptions): Answers {
  const memory = createAnswerMemory(options.memoryBytes);
  const underWay = new Map<string, Promise<AnswerText | null>>();

  const makeCurrent = async ({ workspace, make }: AnswerRequest): Promise<Answer | null> => {
    const answer = await make();
    return (await options.findDataVersion(workspace)) === workspace.dataVersion ? answer : null;
  };
  const makeText = async (key: string, request: AnswerRequest): Promise<AnswerText | null> => {
    const answer = await makeCurrent(request);
    if (answer === null) return null;
    const text = splitAtFreshness(answer);
    memory.set(key, text);
    return text;
  };
  const shareMaking = (key: string, request: AnswerRequest): Promise<AnswerText | null> => {
    if (options.memoryBytes === 0) return makeText(key, request);
    let making = underWay.get(key);
    if (making === undefined) {
      making = makeText(key, request).finally(() => underWay.delete(key));
      underWay.set(key, making);
    }
    return making;
  };
  const makeFile = async (key: string, request: AnswerRequest): Promise<ReadyAnswer | null> => {
    const answer = (await makeCurrent(request)) as CsvAnswer | null;
    if (answer === null) return null;
    const { kind, filename, chunks } = answer;
    const remember = (text: string): void => memory.set(key, { kind, filename, text });
    return { kind, filename, content: tellWhole(chunks, memory.longest, remember) };
  };
  // Requests that were admitted together come one after another, with one workspace.
  const keyOf = rememberLast(workspaceKey);
  const freshnessAt = rememberLast((workspace: Workspace) =>
    rememberLast((atMs: number) => JSON.stringify(options.freshness(workspace, new Date(atMs)))),
  );
  return async (request) => {
    const { endpoint, workspace, input, now } = request;
    const key = `${keyOf(workspace)}${endpoint.name} ${JSON.stringify(input)}`;
    const known = memory.get(key);
    if (known === undefined && endpoint.response === null) return makeFile(key, request);
    const text = known ?? (await shareMaking(key, request));
    if (text === null) return null;
    if (text.kind === "csv") return { kind: "csv", filename: text.filename, content: text.text };
    return { kind: "json", text: text.before + freshnessAt(workspace)(now.getTime()) + text.after };
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

/** The shop, its data version, and all else of a workspace but the times that only freshness shows. */
function workspaceKey({ shopKey, dataVersion, sources, ...settings }: Workspace): string {
  const states = sources.map((source) => ({ ...source, lastSyncedAt: source.lastSyncedAt !== null }));
  return `${shopKey} ${dataVersion} ${JSON.stringify([settings, states])} `;
}

/** The text of an answer as `jsonText` writes it, cut where its freshness stands. */
function splitAtFreshness(answer: Answer): AnswerText {
  if (answer.kind !== "json") throw new Error("an endpoint of JSON answered something else");
  const { data, meta } = answer.body;
  const members = Object.entries(meta);
  const place = members.findIndex(([name]) => name === "freshness");
  if (place < 1) throw new Error("an answer must have its freshness after its subject");
  const before = jsonText({ data, meta: Object.fromEntries(members.slice(0, place)) });
  const rest = JSON.stringify(Object.fromEntries(members.slice(place + 1)));
  return {
    kind: "json",
    before: `${before.slice(0, -"}}".length)},"freshness":`,
    after: rest === "{}" ? "}}" : `,${rest.slice(1)}}`,
  };
}
