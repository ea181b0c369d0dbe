import type { Connection } from "../store/database.ts";
import type { PauseReason } from "../store/queries/alert-endpoint.ts";
import { listMembersByRole } from "../store/queries/workspace-member.ts";
import { notifyPeople } from "../store/queries/notice.ts";

const TOLD_ROLES = ["owner", "admin"] as const;

export type Pause = {
  endpointId: string;
  name: string;
  /** Why the last try failed, a sentence. */
  problem: string;
  pauseReason: PauseReason;
  /** The first try of the message that could not be delivered. */
  failingSince: Date;
};

/** Tells the owners and admins of a workspace that nothing is sent to an endpoint any more, once for each pause. */
export async function tellOfPause(connection: Connection, shopKey: number, pause: Pause): Promise<void> {
  const { endpointId, name, problem, pauseReason, failingSince } = pause;
  const why = pauseReason === "failing" ? `No try has succeeded since ${minuteOf(failingSince)}. ` : "";
  await notifyPeople(connection, shopKey, await listMembersByRole(connection, shopKey, TOLD_ROLES), {
    event: `endpoint_paused:${endpointId}:${failingSince.toISOString()}`,
    category: "endpoint_paused",
    severity: "critical",
    title: `Alerts are no longer sent to ${name}`,
    body: `${why}${problem} What it misses is kept: resume it once the receiver is back, and it is delivered in order.`,
    linkPath: "/settings/notifications",
    linkLabel: "Open notifications",
  });
}

function minuteOf(time: Date): string {
  return `${time.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
