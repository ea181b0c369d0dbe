import { randomUUID } from "node:crypto";
import { messageIdOf } from "./send.ts";
import type { PushMessage } from "./send.ts";

/** A message of the form of an alert, of a category that no alert has. */
export function testMessage(endpointId: string, now: Date): PushMessage {
  const id = `test-${randomUUID()}`;
  const alert = {
    id,
    category: "test",
    severity: "info",
    title: "Test message",
    body: "Somebody requested this message to check whether alerts arrive here.",
    link_url: null,
    link_label: null,
    metadata: null,
    created_at: now.toISOString(),
  };
  return { messageId: messageIdOf(id, endpointId), alerts: [alert] };
}
