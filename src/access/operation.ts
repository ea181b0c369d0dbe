import type { Answer, Endpoint, Input } from "../contract/endpoint.ts";
import { ApiError, invalidRequest, MCP_WORDS, REST_WORDS } from "../contract/errors.ts";
import type { QuotaState, Vocabulary } from "../contract/errors.ts";
import { compileRequest, type RawInput } from "../contract/input.ts";
import { Inexact } from "../lib/exact.ts";
import { traced } from "../lib/trace.ts";
import type { DatabasePool, Queryable } from "../store/database.ts";
import { checkReadiness } from "../store/migrate.ts";
import { giveBackRequests } from "../store/queries/admit.ts";
import { WorkspaceGone } from "../store/queries/import-stage.ts";
import { StreamsBusy } from "../store/snapshot-stream.ts";
import { loadWorkspace, type LoadedWorkspace } from "../store/queries/workspace-load.ts";
import type { Snapshot, Workspace } from "../store/workspace.ts";
import { checkMember, notReady, workspaceBusy, unknownToken } from "./admit-member.ts";
import type { Admission, Admit } from "./admit.ts";
import type { Answers, ReadyAnswer } from "./answers.ts";
import { WorkspaceBusy, type WorkspaceQueue } from "./workspace-queue.ts";
import { countEnd, type CountUsage } from "./usage-count.ts";

export type Handler<E extends Endpoint> = (call: Snapshot & { input: Input<E> }) => Promise<Answer>;

/** A request in a surface's vocabulary; its parameters are read after admission. */
type MemberRequest = { words: Vocabulary; parameters: () => RawInput };

/** The same as a surface received it with a token. */
type RawRequest = MemberRequest & { authorization: string | undefined };

/** One endpoint ready to run: a guard, input, handler, in the order of the contract. */
export type Operation = {
  endpoint: Endpoint;
  /** Answers a token, counted. Throws `ApiError`; `onAdmitted` hears the quota and who asks before the input is read. */
  perform(
    request: RawRequest,
    onAdmitted: (quota: QuotaState | null, tokenId: string) => void,
  ): Promise<ReadyAnswer>;
  /**
   * Answers a member, uncounted. Throws the `ApiError` that a token of the workspace would get; `not_found` when the
   * workspace has been deleted meanwhile.
   */
  read(admission: LoadedWorkspace, request: MemberRequest): Promise<ReadyAnswer>;
};

export type Guard = {
  admit: Admit;
  answers: Answers;
  openSnapshot: OpenSnapshot;
  /** Where uncached answers wait for a slot of their workspace, holding no connection. */
  workspaceQueue: WorkspaceQueue;
  giveBack: GiveBack;
  countUsage: CountUsage;
  /** M5: the newest complete month of a window, for a request that lacks its months; null = there is none. */
  newestMonth: (workspace: Workspace, window: unknown) => string | null;
};

/** Joins an endpoint's contract, admission and the handler. REST, MCP and the console call nothing else. */
export function createOperation<E extends Endpoint>(
  endpoint: E,
  handler: Handler<E>,
  { admit, answers, openSnapshot, workspaceQueue, giveBack, countUsage, newestMonth }: Guard,
): Operation {
  const readers = {
    rest: compileRequest(endpoint, REST_WORDS),
    mcp: compileRequest(endpoint, MCP_WORDS),
  };
  const need = { scope: endpoint.scope, entitlements: endpoint.entitlements, counted: true };
  const span = { name: "answer", attributes: { "returns.endpoint": endpoint.name }, expects: isAnswer };
  const answer = async (workspace: Workspace, { words, parameters }: MemberRequest): Promise<ReadyAnswer> => {
    const input = readers[words.surface](parameters(), (window) =>
      newestMonth(workspace, window),
    ) as Input<E>;
    const make = () =>
      openSnapshot(workspace, async (snapshot) => ({
        workspace: snapshot.workspace,
        answer: await handler({ ...snapshot, input }).catch(refuseInexact),
      }));
    const now = new Date();
    return traced(span, () =>
      answers({ endpoint, workspace, input, now, make: () => workspaceQueue(workspace.shopKey, make) }),
    );
  };
  return {
    endpoint,
    perform: (request, onAdmitted) =>
      countEnd(countUsage, { endpoint: endpoint.name, surface: request.words.surface }, async (asked) => {
        const admission = await admit(request.authorization, need, undefined, (caller) => {
          asked.caller = caller;
        });
        asked.isCounted = admission.quota !== null;
        onAdmitted(admission.quota, admission.tokenId);
        return answer(admission.workspace, request).catch(async (error: unknown) => {
          if (error instanceof WorkspaceGone) throw unknownToken();
          if (!isBusy(error)) throw error;
          // It was counted before it waited: only admission knows the data version, and so whether the answer is cached.
          const quota = await giveBack(admission);
          asked.isCounted = false;
          throw workspaceBusy(quota, error);
        });
      }),
    read: async (admission, request) => {
      checkMember(admission, endpoint);
      return answer(admission.workspace, request).catch(async (error: unknown) => {
        if (error instanceof WorkspaceGone)
          throw new ApiError("not_found", "This workspace has been deleted.");
        if (isBusy(error)) throw workspaceBusy(await giveBack({ ...admission, quota: null }), error);
        throw error;
      });
    },
  };
}

const TOO_LARGE =
  `A figure of this request is beyond ${Number.MAX_SAFE_INTEGER.toLocaleString("en")}, amounts in minor units, ` +
  "and cannot be given exactly: choose fewer months or products.";

/** M9: no figure is rounded, so none beyond the safe integers is given. */
function refuseInexact(error: unknown): never {
  throw error instanceof Inexact ? invalidRequest(TOO_LARGE) : error;
}

/** Errors that answer the request, rather than fail. */
function isAnswer(error: unknown): boolean {
  return error instanceof ApiError || isBusy(error) || error instanceof WorkspaceGone;
}

/** Errors of a request that was not begun, and so counts nothing. */
function isBusy(error: unknown): error is WorkspaceBusy | StreamsBusy {
  return error instanceof WorkspaceBusy || error instanceof StreamsBusy;
}

/** Runs `work` on one snapshot of an admitted workspace. */
type OpenSnapshot = <Result>(
  admitted: Workspace,
  work: (snapshot: Snapshot) => Promise<Result>,
) => Promise<Result>;

/** Thrown where a node does not show the workspace as admission saw it. */
const OTHER_STATE = new Error("the node's state of the workspace differs from admission's");
const CANCELED = "57014";

/**
 * Reads settings and facts from one snapshot, not older than the admission, so no answer pairs the facts of one data version with
 * the settings of another. `databaseOf`: the workspace's node; `database` answers where the node fails, or was left behind by a
 * failover and lacks the state that admission saw. Throws `WorkspaceGone`, or an `ApiError` when the workspace is not ready in it.
 */
export function createSnapshots(
  database: SnapshotDatabase,
  databaseOf: (shopKey: number) => Promise<SnapshotDatabase> = () => Promise.resolve(database),
): OpenSnapshot {
  const open = <Result>(
    opened: SnapshotDatabase,
    admitted: Workspace,
    work: (snapshot: Snapshot) => Promise<Result>,
  ): Promise<Result> =>
    opened.snapshot(admitted.shopKey, async (connection) => {
      const found = await loadWorkspace(connection, admitted);
      if (opened !== database && !isSameState(found, admitted)) throw OTHER_STATE;
      if (found === null) throw new WorkspaceGone();
      if (found.readiness !== "ready") throw notReady(found.readiness, null);
      return work({ database: connection, workspace: found.workspace });
    });
  return async (admitted, work) => {
    const own = await databaseOf(admitted.shopKey);
    if (own === database) return open(database, admitted, work);
    return open(own, admitted, work).catch((error: unknown) => {
      if (isAnswer(error) || (error as { code?: unknown }).code === CANCELED) throw error;
      return open(database, admitted, work);
    });
  };
}

type SnapshotDatabase = Pick<DatabasePool, "snapshot">;

function isSameState(found: LoadedWorkspace | null, admitted: Workspace): boolean {
  return found?.readiness === "ready" && JSON.stringify(found.workspace) === JSON.stringify(admitted);
}

/**
 * Subtracts a request that got no slot from its day's count, if it was counted; returns the resulting quota. Throws if the
 * database is slow to answer even this: then it is unavailable, and the caller is not at fault.
 */
type GiveBack = (admission: Pick<Admission, "workspace" | "quota">) => Promise<QuotaState | null>;

const DAY_MS = 86_400_000;
const SOON_MS = 1000;

type Owed = { requests: number; done: Promise<void> };

/** Requests of a workspace that are given back in the same turn of the event loop share a statement: many stop waiting at once. */
export function createGiveBack(database: Queryable): GiveBack {
  const owedByDay = new Map<string, Owed>();
  const openOwed = (key: string, shopKey: number, day: string): Owed => {
    const owed: Owed = { requests: 0, done: Promise.resolve() };
    owed.done = new Promise((resolve, reject) => {
      setImmediate(() => {
        owedByDay.delete(key);
        giveBackRequests(database, shopKey, day, owed.requests).then(resolve, reject);
      });
    });
    owedByDay.set(key, owed);
    return owed;
  };
  const giveBack = async (shopKey: number, quota: QuotaState): Promise<QuotaState> => {
    const day = new Date(quota.resetsAt.getTime() - DAY_MS).toISOString().slice(0, 10);
    const key = `${shopKey} ${day}`;
    const owed = owedByDay.get(key) ?? openOwed(key, shopKey, day);
    owed.requests += 1;
    await owed.done;
    return { ...quota, used: quota.used - 1 };
  };
  return async ({ workspace, quota }) => {
    const sinceMs = performance.now();
    const given = quota === null ? null : await giveBack(workspace.shopKey, quota);
    const isReady = quota !== null || (await checkReadiness(database)).ready;
    if (isReady && performance.now() - sinceMs < SOON_MS) return given;
    throw new Error("a request was not served in time because the database did not answer");
  };
}
