import type { Operation } from "../../access/operation.ts";
import { loadAnyWorkspace } from "../../store/queries/workspace-load.ts";
import { sendMail } from "../../alerts/delivery/mail.ts";
import { failed, nextTryAt, type SendOutcome } from "../../alerts/delivery/retry.ts";
import { openCall, operationByName, type CallTools } from "../../console/page-call.ts";
import { overview, readOverview } from "../../console/pages/overview.ts";
import { keyFor } from "../../lib/keys.ts";
import { userName } from "../../lib/user-name.ts";
import { digestAddress, nextMonday } from "./actions.ts";
import { digestMail } from "./mail.ts";
import { claimDigest, endDigest, findReader, type DueDigest } from "./queries.ts";

export type DigestEnvironment = Omit<CallTools, "operationOf"> & {
  operations: readonly Operation[];
  /** From 0 to 1, for the times of retries. */
  random: () => number;
  log: { warn: (about: object, message: string) => void };
};

/** Longer than one takes: a worker that is killed meanwhile has it sent by another after that. */
const LEASE_MS = 15 * 60_000;
const WEEK_MS = 7 * 24 * 3_600_000;

/**
 * Sends the due digests one at a time, until none is left or `stop` is aborted. Each is claimed by one worker. If a worker is
 * killed between the mail server's response and its own record, the digest is sent again with the same message id.
 */
export async function sendDigests(environment: DigestEnvironment, stop: AbortSignal): Promise<void> {
  const { control, now, random, log } = environment;
  while (!stop.aborted) {
    const at = now();
    const lease = new Date(at.getTime() + LEASE_MS);
    const due = await claimDigest(control.database, at, lease);
    if (due === null) return;
    const outcome = await sendOne(environment, due).catch((error: unknown): Outcome => {
      log.warn(
        { shopKey: due.shop_key, err: error },
        "a weekly digest could not be composed; it will be retried",
      );
      return failed("It could not be composed.");
    });
    const { status } = outcome;
    const retry = { now: at, retryAfterMs: null, random: random() };
    const again = status === "failed" ? nextTryAt(due.failures + 1, retry) : null;
    await endDigest(control.database, due, lease, {
      dueAt: status === "refused" || status === "gone" ? null : (again ?? nextMonday(due.time_zone, at)),
      failures: again === null ? 0 : due.failures + 1,
      sentAt: status === "delivered" ? at : null,
      problem: status === "delivered" ? null : `Not sent: ${outcome.problem}`,
    });
  }
}

type Outcome = SendOutcome | { status: "withheld"; problem: string };

/** Content that the console would show the member now. */
async function sendOne(environment: DigestEnvironment, due: DueDigest): Promise<Outcome> {
  const { control, operations, site, now } = environment;
  const { shop_key: shopKey, user_id: userId } = due;
  const reader = await findReader(control.database, shopKey, userId);
  const loaded = await loadAnyWorkspace(control.database, shopKey);
  if (reader === null || loaded === null) return withheld("You cannot sign in.");
  if (!loaded.isBillingActive) return withheld("Billing is not active.");
  if (loaded.readiness !== "ready") return withheld("The figures of the workspace are not shown now.");
  const { smtp } = control.push;
  if (smtp === null || site.publicOrigin === null) return withheld("This service sends no digest now.");
  const actor = {
    name: userName(userId),
    origin: null,
    standing: reader.role,
    isFresh: false,
    session: null,
  };
  const call = openCall(
    { ...environment, operationOf: operationByName(operations) },
    {
      request: { headers: {} },
      member: { ...loaded, role: reader.role },
      actor,
      page: overview,
      raw: { values: new Map(), refusals: new Map() },
      held: {},
    },
  );
  const shown = await readOverview(call, true);
  if (shown === null) return withheld("No month is complete yet.");
  const stop = digestAddress(keyFor("digests", control.keys), site.publicOrigin, {
    purpose: "stop",
    shopKey,
    userId,
    askedAt: 0,
  });
  const week = new Date(nextMonday(due.time_zone, now()).getTime() - WEEK_MS).toISOString().slice(0, 10);
  return sendMail(
    {
      messageId: `digest-${week}-${userId}-${shopKey}`,
      to: due.address,
      unsubscribe: stop,
      ...digestMail(shown, { name: reader.workspace_name, billingEndsAt: loaded.billingEndsAt }, call, stop),
    },
    smtp,
  );
}

function withheld(problem: string): Outcome {
  return { status: "withheld", problem };
}
