import type { Answer } from "../contract/call.ts";
import type { Endpoint } from "../contract/endpoint.ts";
import { jsonText } from "../contract/wire.ts";
import { rememberLast } from "../lib/remember-last.ts";
import type { Workspace } from "../store/workspace.ts";
import { createAnswerMemory } from "./answer-memory.ts";
import type { AnswerText } from "./answer-memory.ts";

/** An answer as it is sent: JSON text, or a CSV file in pieces. */
export type ReadyAnswer = { kind: "json"; text: string } | Extract<Answer, { kind: "csv" }>;

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
  /** The most that remembered answers may take; 0 = remember none. */
  memoryBytes: number;
  /** `meta.freshness` of a workspace: the one part of an answer that time changes. */
  freshness: (workspace: Workspace, now: Date) => unknown;
  loadDataVersion: (workspace: Workspace) => Promise<number | null>;
};

/**
 * Makes answers that depend on nothing but the data version, the workspace's settings and the input, and remembers
 * the JSON ones under exactly these, the shop first. None mixes the facts of one version with the as-of of another:
 * the version is read again after the facts. Requests for the same answer at once wait for one making of it.
 */
export function createAnswers(options: AnswersOptions): Answers {
  const memory = createAnswerMemory(options.memoryBytes);
  const underWay = new Map<string, Promise<AnswerText | null>>();

  const makeCurrent = async ({ workspace, make }: AnswerRequest): Promise<Answer | null> => {
    const answer = await make();
    return (await options.loadDataVersion(workspace)) === workspace.dataVersion ? answer : null;
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
  // Requests that were admitted together come one after another, with one workspace.
  const keyOf = rememberLast(workspaceKey);
  const freshnessAt = rememberLast((workspace: Workspace) =>
    rememberLast((atMs: number) => JSON.stringify(options.freshness(workspace, new Date(atMs)))),
  );
  return async (request) => {
    if (request.endpoint.response === null) return makeCurrent(request) as Promise<ReadyAnswer | null>;
    const { endpoint, workspace, input, now } = request;
    const key = `${keyOf(workspace)}${endpoint.name} ${JSON.stringify(input)}`;
    const text = memory.get(key) ?? (await shareMaking(key, request));
    if (text === null) return null;
    return { kind: "json", text: text.before + freshnessAt(workspace)(now.getTime()) + text.after };
  };
}

/** The shop, its data version, and all else of a workspace but the times that only freshness tells. */
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
  if (place < 1) throw new Error("an answer must tell its freshness after what it is about");
  const before = jsonText({ data, meta: Object.fromEntries(members.slice(0, place)) });
  const rest = JSON.stringify(Object.fromEntries(members.slice(place + 1)));
  return {
    before: `${before.slice(0, -"}}".length)},"freshness":`,
    after: rest === "{}" ? "}}" : `,${rest.slice(1)}}`,
  };
}
