import assert from "node:assert/strict";
import { test } from "node:test";
import { leaveWorkspace } from "../src/actions/members/actions.ts";
import { exportWorkspace } from "../src/actions/workspace/export.ts";
import type { Fields } from "../src/actions/field.ts";
import { ACTIONS, PAGES, SETTINGS } from "../src/console/registry.ts";
import { openPage } from "./support/console-person.ts";
import { actAs, type Member } from "./support/scene.ts";
import { send } from "./support/service.ts";
import { service } from "./support/shared-service.ts";
import { createSmallStore } from "./support/small-store.ts";

/** Every form and page accepts or refuses any text under any name: none causes an error of the service. */

const tenant = await createSmallStore(service.database);

/** As they are sent, percent-encoded. */
const VALUES = [
  "constructor",
  "__proto__",
  "%00",
  "%ED%A0%80",
  "%FF",
  "%F0%9F%98%80".repeat(300),
  "a".repeat(1500),
  "9".repeat(400),
  "0000-01-01",
  "9999-12-31",
  "%0D%0AX-Injected:%201",
  "%E2%80%AE%3Cscript%3E",
  "..%2F..%2F",
];
/** Names that no form has. */
const NAMES = ["__proto__", "constructor", "name[]", "name[__proto__]", "", "%00", "earlier"];

/** Outside workspaces, with their fields. */
const OWN_FORMS: Readonly<Record<string, readonly string[]>> = {
  "/me/name": ["name", "end_others"],
  "/me/passkeys": ["name", "credential"],
  "/me/passkeys/remove": ["id", "knows"],
  "/me/account/unlink": ["knows"],
  "/me/sessions/end": ["id"],
  "/w": ["domain", "currency", "way"],
  "/operator/workspace": ["domain", "plan", "billing", "readiness"],
  "/operator/people/disable": ["person"],
  "/operator/people/enable": ["person"],
  "/confirm": ["credential", "secret", "next"],
  "/sign-in": ["credential"],
  "/enter": ["secret", "credential"],
};

/** A person may send 60 forms a minute. */
const MOST_OF_ONE = 50;
let sent = 0;
let sender: Member;

async function statusOf(path: string, body?: string): Promise<number> {
  if (sent % MOST_OF_ONE === 0) sender = await actAs(service, tenant, "owner", `Sender ${sent}`);
  sent += 1;
  const { cookie } = sender;
  if (body === undefined) return (await openPage(service, path, cookie)).status;
  const type = "application/x-www-form-urlencoded";
  const headers = { cookie, origin: service.address, "sec-fetch-site": "same-origin", "content-type": type };
  return (await send(service.address + path, { method: "POST", headers, body })).status;
}

/** Sends each value under each name twice, and under names that no form has. */
async function sendAll(pathOf: (value: string) => string, names: readonly string[]): Promise<void> {
  for (const value of VALUES) {
    const pairs = [...names, ...NAMES, ...names].map((name) => `${name}=${value}`);
    const status = await statusOf(pathOf(value), pairs.join("&"));
    assert.ok(status < 500, `${status} for ${pathOf(value).slice(0, 100)}: ${value.slice(0, 50)}`);
  }
}

for (const form of ACTIONS) {
  // Leaving would end the test; an export has no fields; this store has no order documents.
  if (form.takes === "bytes" || form.name === leaveWorkspace.name || form.name === exportWorkspace.name)
    continue;
  const { input = {} } = form.right as typeof form.right & { input?: Fields };
  const address = `/w/${tenant.shopDomain}${form.path}`;

  test(`${form.name} accepts or refuses any values`, async () => {
    const names = Object.keys(input);
    await sendAll(() => address.replace(":source", "shipstation").replaceAll(/:\w+/gu, "1"), names);
    if (form.path.includes(":")) await sendAll((value) => address.replaceAll(/:\w+/gu, value), names);
  });
}

test("forms outside workspaces accept or refuse any values", async () => {
  for (const [path, names] of Object.entries(OWN_FORMS)) await sendAll(() => path, names);
});

test("every page accepts or refuses names of members that every object has", async () => {
  const found: string[] = [];
  for (const page of [...PAGES, ...SETTINGS]) {
    for (const name of page.takes) {
      const path = page.path.replaceAll(/:\w+/gu, "constructor");
      const status = await statusOf(`/w/${tenant.shopDomain}${path}?${name}=constructor`);
      if (status >= 500) found.push(`${status} ${path}?${name}`);
    }
  }
  assert.deepEqual(found, []);
});
