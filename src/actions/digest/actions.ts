import { keyedHash } from "../../access/token.ts";
import { sendMail } from "../../alerts/delivery/mail.ts";
import { readSigned, signed } from "../../lib/signed.ts";
import { keyFor } from "../../lib/keys.ts";
import { defineAction, type ActionContext, type SurfaceCaller } from "../action.ts";
import type { Actor } from "../actor.ts";
import { MAIL_ADDRESS, MAIL_PAUSE_MS, MOST_MAILS_PER_DAY } from "../alert-endpoints/actions.ts";
import { countMails, lockLimits } from "../alert-endpoints/queries.ts";
import { own } from "../field.ts";
import { impossible, invalid } from "../refusal.ts";
import { findDisplayName } from "../workspace/queries.ts";
import { askingMail } from "./mail.ts";
import { endDigests, findDigest, putDigest } from "./queries.ts";

export const TIME_ZONES: readonly string[] = ["UTC", ...Intl.supportedValuesOf("timeZone")];
export const SENT_AT = "Mondays at 07:00";
const HOUR = 7;
const HASH_LENGTH = 16;

/** Why this installation sends no digest; null = it does. */
export function whyNoDigest(smtp: unknown, origin: string): string | null {
  if (smtp === null) return "This service cannot send e-mail: its operator has to set SMTP_URL.";
  if (origin.startsWith("https:")) return null;
  return "This service sends no digest: its links need a console at an https address, PUBLIC_URL.";
}

/** Has the overview of the workspace mailed to the caller every week, once the address has confirmed it by a link. */
export const setDigest = defineAction({
  name: "digest.set",
  title: "Save digest",
  past: "Turned the weekly digest on",
  least: "viewer",
  input: {
    address: own(
      "Your e-mail address",
      (subject, given) => {
        const address = given.trim();
        if (MAIL_ADDRESS.test(address)) return address;
        throw invalid(`${subject} must be one e-mail address, such as ada@shop.example.`);
      },
      { hint: "A confirmation e-mail is sent to it." },
    ),
    time_zone: own(
      "Time zone",
      (subject, given) => {
        if (TIME_ZONES.includes(given)) return given;
        throw invalid(`${subject} must be one from the list, such as Europe/Berlin.`);
      },
      { kind: "choice", hint: `The digest is sent on ${SENT_AT} in this time zone.` },
    ),
  },
  run: async (context: ActionContext<SurfaceCaller>, { address, time_zone: timeZone }) => {
    const { connection, shopKey, push, now } = context;
    const userId = personOf(context.actor);
    const reason = whyNoDigest(push.smtp, context.consoleOrigin());
    if (push.smtp === null || reason !== null) throw impossible(reason ?? "");
    const { smtp } = push;
    await lockLimits(connection, shopKey);
    const before = await findDigest(connection, shopKey, userId);
    // The audit is kept after a person is deleted, so it must not contain their address.
    const hash = keyedHash(`address ${address.toLowerCase()}`, keyFor("digests", context.keys));
    const addressHash = hash.toString("hex").slice(0, HASH_LENGTH);
    const audit = { detail: { time_zone: timeZone, address_hash: addressHash } };
    if (before?.address === address && before.due_at !== null) {
      const digest = { ...before, time_zone: timeZone, due_at: nextMonday(timeZone, now) };
      await putDigest(connection, shopKey, userId, digest);
      return { result: { confirmed: true }, done: `Saved. ${sentence(address, timeZone)}`, audit };
    }
    if (before !== null && now.getTime() - before.asked_at.getTime() < MAIL_PAUSE_MS)
      throw impossible("A confirmation e-mail was sent just now: wait a minute.");
    const mail = { action: "digest.set", actor: context.actor.name, address: addressHash };
    if ((await countMails(connection, shopKey, mail)) >= MOST_MAILS_PER_DAY) {
      const often = `${MOST_MAILS_PER_DAY} times within a day`;
      throw impossible(
        `You have saved this digest, or members have named this address, ${often}: no more confirmation e-mails are sent before tomorrow.`,
      );
    }
    await putDigest(connection, shopKey, userId, {
      address,
      time_zone: timeZone,
      asked_at: now,
      due_at: null,
    });
    const message = await askingMessage(context, userId, address);
    return {
      result: { confirmed: false },
      done: "",
      audit,
      next: async () => {
        const outcome = await sendMail(message, smtp);
        if (outcome.status !== "delivered")
          throw impossible(`The confirmation e-mail was not sent. ${outcome.problem}`);
        return {
          result: { confirmed: false },
          done: `An e-mail was sent to ${address}: open its link and press the button. Nothing else is sent before that.`,
        };
      },
    };
  },
});

/** `asked`: when the mail was sent whose link was followed; of an earlier one nothing is confirmed. */
export const confirmDigest = defineAction({
  name: "digest.confirm",
  title: "Send me the digest",
  past: "Confirmed the address of the weekly digest",
  least: "viewer",
  input: { asked: own("Link", (_subject, given) => Number(given), { kind: "hidden" }) },
  run: async ({ connection, shopKey, actor, now }, { asked }) => {
    const userId = personOf(actor);
    const found = await findDigest(connection, shopKey, userId);
    if (found?.asked_at.getTime() !== asked || found.address === "")
      throw impossible(
        "This link is no longer valid: the digest has been changed since. The settings show its current state.",
      );
    const { address, time_zone: timeZone } = found;
    const isNew = found.due_at === null;
    if (isNew) {
      const digest = { ...found, due_at: nextMonday(timeZone, now) };
      await putDigest(connection, shopKey, userId, digest);
    }
    return {
      result: { changed: isNew },
      done: `Confirmed. ${sentence(address, timeZone)}`,
      audit: isNew ? { detail: { time_zone: timeZone } } : null,
    };
  },
});

export const stopDigest = defineAction({
  name: "digest.stop",
  title: "Stop weekly digest",
  past: "Turned the weekly digest off",
  least: "viewer",
  takesMoving: true,
  input: {},
  run: async ({ connection, shopKey, domain, actor }) => {
    const changed = await endDigests(connection, shopKey, personOf(actor));
    const name = (await findDisplayName(connection, shopKey)) ?? domain;
    return {
      result: { changed },
      done: `The weekly digest of ${name} is ${changed ? "off" : "already off"}. You will not receive it any more.`,
      audit: changed ? { detail: {} } : null,
    };
  },
});

export const DIGEST_ACTIONS = [setDigest, confirmDigest, stopDigest] as const;

/** The first Monday at seven that is still to come, in a time zone. */
export function nextMonday(timeZone: string, now: Date): Date {
  const local = Temporal.Instant.fromEpochMilliseconds(now.getTime()).toZonedDateTimeISO(timeZone);
  const sevenEarlier = local.subtract({ hours: HOUR });
  const monday = sevenEarlier.startOfDay().add({ days: 8 - sevenEarlier.dayOfWeek });
  return new Date(monday.withPlainTime({ hour: HOUR }).epochMilliseconds);
}

export function sentence(address: string, timeZone: string): string {
  return `The weekly digest is sent to ${address} on ${SENT_AT}, ${timeZone}.`;
}

/** A member's own id: as an actor they are "user:" and that. */
function personOf({ name }: Actor): string {
  const [, userId = ""] = /^user:([0-9a-f-]{36})$/u.exec(name) ?? [];
  if (userId !== "") return userId;
  throw impossible("Only a member has a weekly digest.");
}

async function askingMessage(
  { connection, keys, shopKey, domain, consoleOrigin, now }: ActionContext<SurfaceCaller>,
  userId: string,
  to: string,
) {
  const name = (await findDisplayName(connection, shopKey)) ?? domain;
  const link = { purpose: "confirm", shopKey, userId, askedAt: now.getTime() } as const;
  const address = digestAddress(keyFor("digests", keys), consoleOrigin(), link);
  return { messageId: `digest-asked-${userId}-${now.getTime()}`, to, ...askingMail(name, address) };
}

export const DIGEST_PATH = "/digest";

/** A link of the weekly digest, for one member of one workspace. `askedAt`: time of the confirmation e-mail, in milliseconds. */
export type DigestLink = { purpose: "confirm" | "stop"; shopKey: number; userId: string; askedAt: number };

const PAYLOAD = /^(confirm|stop)\.(\d{1,16})\.([0-9a-f-]{36})\.(\d{1,16})$/u;

/** A link's address, signed for one purpose. It works without sign-in, and reveals nothing. */
export function digestAddress(key: Buffer, origin: string, link: DigestLink): string {
  const payload = [link.purpose, link.shopKey, link.userId, link.askedAt].join(".");
  return `${origin}${DIGEST_PATH}?link=${signed(key, payload)}`;
}

/** null = it was not signed here. */
export function readDigestLink(key: Buffer, given: string): DigestLink | null {
  const [, purpose, shopKey, userId = "", askedAt] = PAYLOAD.exec(readSigned(key, given) ?? "") ?? [];
  if (purpose !== "confirm" && purpose !== "stop") return null;
  return { purpose, shopKey: Number(shopKey), userId, askedAt: Number(askedAt) };
}
