/** A person as the actor of an audit event, and as the recipient of a notice. */
export function userName(userId: string): string {
  return `user:${userId}`;
}
