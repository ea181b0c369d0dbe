import type { FastifyRequest } from "fastify";
import type { MemberAdmission } from "../access/admit-member.ts";
import type { ReadyAnswer } from "../access/answers.ts";
import type { Operation } from "../access/operation.ts";
import type { RawInput } from "../contract/input.ts";
import type { AnyEndpoint } from "../contract/registry.ts";
import { REST_WORDS } from "../contract/errors.ts";
import type { ConsoleCaller, ActionTools } from "../actions/action.ts";
import type { Actor } from "../actions/actor.ts";
import { isFreshProof } from "../access/session.ts";
import { isIn } from "../actions/watchlist/actions.ts";
import { closeSetup, showSetup, requireWorkspace } from "../actions/workspace/workspace.ts";
import { mayDo } from "../actions/right.ts";
import type { ApiAnswer } from "./figure.ts";
import type { ConsoleSite } from "./request-rules.ts";
import { fillPath } from "./route.ts";
import { imageSources } from "./views/picture.ts";
import type { BodyOf, JsonEndpoint, MadeRequest, Page, PageCall, PageParameters } from "./page.ts";
import { userName } from "../lib/user-name.ts";

export type OperationByName = (name: AnyEndpoint["name"]) => Operation;

export function operationByName(operations: readonly Operation[]): OperationByName {
  const byName = new Map(operations.map((operation) => [operation.endpoint.name, operation]));
  return (name) => {
    const operation = byName.get(name);
    if (operation === undefined) throw new Error(`there is no operation ${name}`);
    return operation;
  };
}

/** A page's call, and the requests that it collects while the page is made, with their answers in the same order. */
export type OpenCall = PageCall & { requests: MadeRequest[]; answers: () => ApiAnswer[] };

/** Tools of every page and action. */
export type CallTools = {
  operationOf: OperationByName;
  control: ActionTools;
  site: ConsoleSite;
  now: () => Date;
};

/** The caller and the page: `raw` is its query as sent, `held` the values in its path. */
type CallRequest = {
  request: { headers: { host?: string | undefined } };
  member: Omit<MemberAdmission, "userId" | "userName" | "workspaceName" | "authenticatedAt" | "visit">;
  actor: Actor;
  page: Page;
  raw: RawInput;
  held: Readonly<Record<string, string>>;
};

/** The signed-in person as the actor of a request. */
export function actorOf(
  { userId, authenticatedAt }: { userId: string; authenticatedAt: Date },
  sessionHash: Buffer,
  standing: Actor["standing"],
  { clientAddress }: FastifyRequest,
  now: Date,
): Actor & { session: NonNullable<Actor["session"]> } {
  const session = { userId, sessionHash };
  const isFresh = isFreshProof(authenticatedAt, now);
  return { name: userName(userId), origin: clientAddress, standing, isFresh, session };
}

export function openCall(
  tools: CallTools,
  { request, member, actor, page, raw, held }: CallRequest,
): OpenCall {
  const { operationOf, control, site, now } = tools;
  const { workspace, role } = member;
  const requests: MadeRequest[] = [];
  const answers: (ApiAnswer | null)[] = [];
  const load = async (): Promise<ConsoleCaller> => {
    const row = await requireWorkspace(control.database, workspace.shopDomain);
    return { ...control, actor, workspace: row, admitted: workspace, now: now() };
  };
  // One page uses it many times.
  let caller: Promise<ConsoleCaller> | undefined;
  const asked = new Map<string, Promise<ApiAnswer>>();
  const ask = async (name: string, endpoint: JsonEndpoint["name"], given: Record<string, string>) => {
    const operation = operationOf(endpoint);
    requests.push({ name, endpoint: operation.endpoint, parameters: given });
    // Which answer comes first is chance; the same page has the same bytes.
    const place = answers.push(null) - 1;
    const values = new Map<string, unknown>(Object.entries(given));
    const answer = await operation.read(member, {
      words: REST_WORDS,
      parameters: () => ({ values, refusals: refusalsOf(raw, values) }),
    });
    const read = { name, body: jsonOf(answer) };
    answers[place] = read;
    return read;
  };
  return {
    shopDomain: workspace.shopDomain,
    origin: site.publicOrigin ?? `http://${request.headers.host}`,
    currencyCode: workspace.currencyCode,
    primaryWindowDays: workspace.primaryWindowDays,
    minSoldUnits: workspace.minSoldUnits,
    entitlements: workspace.entitlements,
    imageSources: imageSources(workspace.sources),
    role,
    query: Object.fromEntries([...raw.values].map(([name, value]) => [name, String(value)])),
    problems: [],
    page,
    path: held,
    refusedForm: null,
    caller: () => (caller ??= load()),
    isWatched: isIn(member.watched),
    setup: async () => {
      if (!member.isSetupOpen || !mayDo(role, closeSetup)) return null;
      return showSetup(control.database, actor, workspace.shopKey);
    },
    href: (path, parameters = {}) => addressOf(workspace.shopDomain, fillPath(path, held), parameters),
    requests,
    answers: () => answers.filter((answer) => answer !== null),
    read: <Name extends JsonEndpoint["name"]>(name: string, endpoint: Name, parameters: PageParameters) => {
      const answer = asked.get(name) ?? ask(name, endpoint, givenParameters(parameters));
      asked.set(name, answer);
      return answer as Promise<ApiAnswer<BodyOf<Name>>>;
    },
  };
}

/** A name that the page was given twice is refused where the page passes it on. */
function refusalsOf(raw: RawInput, values: ReadonlyMap<string, unknown>): ReadonlyMap<string, string> {
  return new Map([...raw.refusals].filter(([name]) => values.has(name)));
}

function jsonOf(answer: ReadyAnswer): unknown {
  if (answer.kind !== "json") throw new Error("a page reads only JSON");
  return JSON.parse(answer.text) as unknown;
}

function givenParameters(parameters: PageParameters): Record<string, string> {
  return Object.fromEntries(
    Object.entries(parameters)
      .filter(([, value]) => value !== undefined && value !== "")
      .map(([name, value]) => [name, String(value)]),
  );
}

/** The address of a page of a workspace. */
export function addressOf(shopDomain: string, path: string, parameters: PageParameters = {}): string {
  return withQuery(`/w/${encodeURIComponent(shopDomain)}${path}`, parameters);
}

/** A path with parameters, those without a value left out. */
export function withQuery(path: string, parameters: PageParameters = {}): string {
  const query = new URLSearchParams(givenParameters(parameters)).toString();
  return `${path}${query === "" ? "" : `?${query}`}`;
}
