import { parseToken } from "../../src/access/token.ts";
import assert from "node:assert/strict";
import { openPage } from "./console-page.ts";
import type { Reader } from "./console-page.ts";
import type { TestService } from "./service.ts";

export const TOKENS = "/settings/tokens";
export const TOKEN = /rta_live_[0-9A-Za-z]{65}/gu;

/** The fields of a form; a name may stand there twice. */
export type Fields = readonly (readonly [string, string])[];

let asked = 0;

/** The name of a form that was never sent. */
export function requestKey(): string {
  asked += 1;
  return `00000000-0000-4000-8000-${String(asked).padStart(12, "0")}`;
}

/** The form of a token that may read reports and alerts for 90 days, unless told otherwise. */
export function tokenForm(name: string, change: Record<string, string> = {}): Fields {
  return [
    ["scopes", "read:alerts"],
    ["scopes", "read:reports"],
    ...Object.entries({ request_key: requestKey(), name, expires: "90d", ...change }),
  ];
}

/** What somebody does on the pages of tokens. */
export type TokenPages = {
  /** Posts a form of a page below /w/<shop_domain>; follows no redirect. */
  post: (path: string, fields: Fields, address?: string) => Promise<Response>;
  /** A page that is there. */
  read: (path: string) => Promise<string>;
  make: (name: string) => Promise<{ token: string; tokenId: string }>;
};

export function tokenPages(service: TestService, { tenant, cookie }: Reader): TokenPages {
  const post = (path: string, fields: Fields, address = service.address): Promise<Response> =>
    fetch(`${address}/w/${tenant.shopDomain}${path}`, {
      method: "POST",
      redirect: "manual",
      headers: { origin: address, "sec-fetch-site": "same-origin", cookie, "accept-encoding": "gzip" },
      body: new URLSearchParams(fields.map((field) => [...field])),
    });
  return {
    post,
    read: async (path) => {
      const { status, text } = await openPage(service, path, { tenant, cookie });
      assert.equal(status, 200, path);
      return text;
    },
    make: async (name) => {
      const page = await (await post(`${TOKENS}/new`, tokenForm(name))).text();
      const [token = ""] = page.match(TOKEN) ?? [];
      return { token, tokenId: parseToken(token)?.tokenId ?? "" };
    },
  };
}
