import { randomUUIDv7 } from "node:crypto";
import { userName } from "../lib/user-name.ts";
import type { Connection } from "../store/database.ts";
import type { PauseReason } from "../store/queries/alert-endpoint.ts";
import { listMembersByRole } from "../store/queries/console-member.ts";
import { insertNotice } from "../store/queries/notice.ts";

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
  for (const userId of await listMembersByRole(connection, shopKey, TOLD_ROLES)) {
    await insertNotice(connection, shopKey, {
      alertId: randomUUIDv7(),
      eventKey: `notice:endpoint_paused:${endpointId}:${failingSince.toISOString()}:${userId}`,
      recipient: userName(userId),
      category: "endpoint_paused",
      severity: "critical",
      title: `Alerts are no longer sent to ${name}`,
      body: `${why}${problem} What it misses is kept: resume it once the receiver is back, and it is delivered in order.`,
      linkPath: "/settings/notifications",
      linkLabel: "Open notifications",
    });
  }
}

function minuteOf(time: Date): string {
  return `${time.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
