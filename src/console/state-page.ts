import { html, type Html } from "../lib/html.ts";
import { isLostDatabase } from "../lib/log-failure.ts";

/** A page that explains why another is not shown: its status, and the reader's next steps. */
export type StatePage = { status: number; title: string; body: Html; retryAfterSeconds?: number };

/** `rest`: what follows on its title. */
export function statePage(status: number, title: string, rest: Html, retryAfterSeconds?: number): StatePage {
  const body = html`<h1>${title}</h1>
    ${rest}`;
  return { status, title, body, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) };
}

/** The same bytes for a missing workspace and for somebody else's. */
export const NOT_FOUND: StatePage = statePage(
  404,
  "Not found",
  html`<p>There is no such page, or it belongs to a workspace that you are not a member of.</p>
    <p><a href="/w">Your workspaces</a></p>`,
);

export const BILLING_INACTIVE: StatePage = statePage(
  403,
  "Billing is not active",
  html`<p>
      The figures of this workspace are not shown while its billing is not active. The operator of this service can
      change that.
    </p>`,
);

const READINESS: Readonly<Record<string, readonly [title: string, text: string]>> = {
  installing: [
    "No data yet",
    "Nothing has been imported. Connect a shop or import a folder of CSV or Parquet files; figures appear after the first import.",
  ],
  backfilling: [
    "The order history is being fetched",
    "Figures appear when all of it has arrived, because incomplete data would give wrong rates. You can leave this page.",
  ],
  reconnecting: [
    "The store refuses access",
    "The store's owner has to connect it again. Figures are withheld until then.",
  ],
  moving: [
    "This workspace is moving",
    "It is moving to another server. Nothing can be read or changed here meanwhile; nothing is lost.",
  ],
};

/** The data page shows the date, and can cancel it. */
export function erasing(dataHref: string): StatePage {
  return statePage(
    409,
    "This workspace will be erased",
    html`<p>Until then it is neither shown nor served, and an owner can cancel the erasure.</p>
      <p><a href="${dataHref}">When, and how to cancel it</a></p>`,
  );
}

/** The API withholds figures of a workspace that is not ready (409), and so does the console; `waysOn`: the member's options. */
export function notReady(readiness: string, waysOn: Html | null = null): StatePage {
  const [title, text] = READINESS[readiness] ?? ["Not ready", "Figures appear after the next sync."];
  return statePage(
    409,
    title,
    html`<p>${text}</p>
      ${waysOn}
      <p>
        <a href="/docs/connect">How to connect a shop</a> ·
        <a href="/docs/your-data">How to import your data</a>
      </p>`,
  );
}

export function forbidden(sentence: string): StatePage {
  return statePage(403, "Not allowed", html`<p>${sentence}</p>`);
}

/** `sentence`: the API's own, which names each field and the allowed values. */
export function badInput(sentence: string, freshHref: string): StatePage {
  return statePage(
    400,
    "This view does not exist",
    html`<p class="banner refused" role="alert">${sentence}</p>
      <p><a href="${freshHref}">Start from the newest months</a></p>`,
  );
}

export function tooMany(sentence: string, retryAfterSeconds: number): StatePage {
  return statePage(429, "One moment", html`<p>${sentence}</p>`, retryAfterSeconds);
}

const DATABASE_AWAY: StatePage = statePage(
  503,
  "The database does not answer",
  html`<p>
      Nothing is lost. Open this page again in a few seconds; if this continues, tell the operator of this service.
    </p>`,
  5,
);

export function unexpected(error: unknown, requestId: string): StatePage {
  if (isLostDatabase(error)) return DATABASE_AWAY;
  return statePage(
    500,
    "Something went wrong",
    html`<p>
        The service caused this, not you. If it happens again, give the operator of this service the id of
        this request:
        <code>${requestId}</code>
      </p>`,
    1,
  );
}

export const TOO_LARGE: StatePage = statePage(
  413,
  "This form is too large",
  html`<p>Nothing was changed. Go back, and shorten its texts or lists.</p>`,
);

export const ONLY_POST: StatePage = statePage(
  405,
  "No page at this address",
  html`<p>This address accepts only forms. Nothing was changed.</p>`,
);

export const ONLY_GET: StatePage = statePage(
  405,
  "This page accepts no forms",
  html`<p>Nothing was changed.</p>`,
);

/** Actions that give access to others require a recent sign-in; `href` = the page that requires it. */
export function unconfirmed(sentence: string, href: string): StatePage {
  return statePage(
    403,
    "Confirm your identity",
    html`<p>${sentence}</p>
      <p><a href="/confirm?next=${encodeURIComponent(href)}">Confirm identity</a></p>`,
  );
}
