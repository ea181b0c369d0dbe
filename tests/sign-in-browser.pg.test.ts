import assert from "node:assert/strict";
import { once } from "node:events";
import type { Server } from "node:http";
import { test } from "node:test";
import { Provider } from "oidc-provider";
import type { Page } from "playwright-core";
import { useChromium } from "./support/chromium.ts";
import { makeUserLink, unusedLinks } from "./support/console-person.ts";
import { freePort } from "./support/free-port.ts";
import { wrongLooks } from "./support/page-looks.ts";
import {
  enrol,
  HOME,
  passkeyLink,
  signInAgain,
  startPasskeyPlace,
  type Device,
} from "./support/passkey-place.ts";
import { startTestService, type TestService } from "./support/service.ts";
import { service as local } from "./support/shared-service.ts";
import { createTenant, type Tenant } from "./support/tenants.ts";
import { use } from "./support/use.ts";

/**
 * The ways in, in Chromium: passkeys at an https address, by its virtual authenticator; one's own account; links; single sign-on
 * with oidc-provider, which is not ours (decision 0075).
 */

const place = use(startPasskeyPlace);
/** The console of the shared service, on this machine without https. */
const localHome = local.address.replace("127.0.0.1", "localhost");

const createPasskey = ({ page }: Device): Promise<void> =>
  page.getByRole("button", { name: "Create passkey and sign in" }).click();
const refusedAgain = ({ page }: Device): Promise<void> =>
  page.getByRole("alert").filter({ hasText: "already has a passkey for your account" }).waitFor();

async function addPasskey({ page }: Device, name: string): Promise<void> {
  await page.getByLabel("Passkey name").fill(name);
  await page.getByRole("button", { name: "Add passkey" }).click();
}

async function forgetProofs(service: TestService): Promise<void> {
  await service.database.query("update console_session set proved_at = now() - interval '601 s'");
}

const looksWell = async (page: Page, name: string): Promise<void> =>
  assert.deepEqual(await wrongLooks(page, name), []);

test("a link allows to create one passkey on a device, not used up by a dismissed prompt; it signs in at once and later", async (context) => {
  await place.withDevice(context, async (device) => {
    const { page, own, authenticator } = device;
    for (const path of ["/sign-in", "/enter"]) {
      await page.goto(HOME + path);
      await looksWell(page, path);
    }
    await page.getByLabel("Paste your link").fill("no link");
    await createPasskey(device);
    await page.getByRole("alert").waitFor();
    await looksWell(page, "/enter, refused");
    await authenticator.verify(false);
    await page.goto(await passkeyLink(place, "Ada"));
    await createPasskey(device);
    await page.getByRole("alert").filter({ hasText: "Nothing was done" }).waitFor();
    assert.equal(await unusedLinks(place.service, "Ada"), 1);
    await authenticator.verify(true);
    await createPasskey(device);
    await page.waitForURL(`${HOME}/w`);
    assert.equal(await unusedLinks(place.service, "Ada"), 0);
    const [held] = await authenticator.credentials();
    assert.deepEqual([held?.rpId, held?.isResidentCredential], ["returns.example", true]);
    const [cookie] = await own.cookies();
    assert.deepEqual(
      [cookie?.name, cookie?.secure, cookie?.httpOnly, cookie?.sameSite, cookie?.path],
      ["__Host-returns", true, true, "Lax", "/"],
    );
    await signInAgain(device);
    await page.waitForURL(`${HOME}/w`);
    const [later] = await own.cookies();
    assert.notEqual(later?.value, cookie?.value);
    const { rows } = await place.service.database.query(
      `select action, detail->>'way' as way, host(origin::inet) like '127.0.0._' as is_local
         from (select actor, action, detail, before, origin, happened_at from audit_event
             union all select actor, action, detail, before, origin, happened_at from identity_event) a join console_user on actor = 'user:' || user_id
        where name = 'Ada' order by happened_at, action`,
    );
    assert.deepEqual(rows, [
      { action: "passkey.add", way: null, is_local: true },
      { action: "session.begin", way: "passkey", is_local: true },
      { action: "session.end", way: null, is_local: true },
      { action: "session.begin", way: "passkey", is_local: true },
    ]);
    await page.goto(await passkeyLink(place, "Ada"));
    await createPasskey(device);
    await refusedAgain(device);
  });
});

test("a second device gets a passkey with another link; removing it ends its session, and a recovery link removes the first", async (context) => {
  const name = `A person whose name is long ${"long".repeat(15)}`;
  await place.withDevice(context, async (first) => {
    const { page } = first;
    await enrol(first, await passkeyLink(place, name));
    await place.withDevice(context, async (second) => {
      await enrol(second, await passkeyLink(place, name));
      await signInAgain(second);
      await second.page.waitForURL(`${HOME}/w`);
      await page.goto(`${HOME}/me`);
      await looksWell(page, "/me");
      await page.reload();
      // The newest is the last one.
      const item = page.locator("li", { has: page.locator("summary", { hasText: "Remove" }) }).last();
      await item.locator("summary").click();
      await item.getByLabel("Also end my sessions in other browsers").check();
      await item.getByRole("button").click();
      await page.getByText("was removed. Your other sessions have ended: 1.").waitFor();
      await second.page.goto(`${HOME}/me`);
      assert.equal(second.page.url(), `${HOME}/sign-in`);
      await second.page.getByRole("button", { name: "Sign in with a passkey" }).click();
      await second.page.getByText("This passkey is not registered here.").waitFor();
    });
    // The device with the old passkey also creates a new one.
    await enrol(first, await passkeyLink(place, name, { isRecovery: true }));
    await page.getByText("Your earlier passkeys and linked accounts have been removed").waitFor();
    await page.goto(`${HOME}/me`);
    assert.equal(await page.locator("summary", { hasText: "Remove" }).count(), 1);
  });
});

test("a person adds a second authenticator on the page of their account, and removing the last one needs a second confirmation", async (context) => {
  await place.withDevice(context, async (device) => {
    const { page, authenticator } = device;
    await enrol(device, await passkeyLink(place, "Keys"));
    await page.goto(`${HOME}/me`);
    await authenticator.clear();
    await addPasskey(device, "Security key");
    await page.getByText("Passkey Security key was added.").waitFor();
    await addPasskey(device, "Again");
    await refusedAgain(device);
    await signInAgain(device);
    await page.waitForURL(`${HOME}/w`);
    await page.goto(`${HOME}/me`);
    const removals = page.locator("summary", { hasText: "Remove" });
    assert.equal(await removals.count(), 2);
    for (const left of [1, 0]) {
      await removals.first().click();
      await page.getByRole("button", { name: "Remove" }).first().click();
      if (left === 1) await page.getByText("was removed.").waitFor();
    }
    await page.getByText("This is your last passkey: confirm that you").waitFor();
    await removals.click();
    await page.getByLabel("I understand that I will then need a link").check();
    await page.getByRole("button", { name: "Remove" }).click();
    await page.getByText("No passkeys yet.").waitFor();
    await forgetProofs(place.service);
    await page.getByRole("button", { name: "Change name" }).click();
    await looksWell(page, "/me, refused");
    await page.goto(`${HOME}/confirm?next=%2Fme`);
    await looksWell(page, "/confirm");
  });
});

test("on this machine a link signs in by its button, which removes the secret from the address; a passkey is added, signs in, and confirms", async (context) => {
  await place.withDevice(context, async (device) => {
    const { page, own } = device;
    const { link: printed } = await makeUserLink(local, { name: "Local" });
    await page.goto(printed);
    assert.equal(await unusedLinks(local, "Local"), 1);
    assert.equal(page.url(), `${localHome}/enter`);
    assert.equal(await page.getByLabel("Paste your link").isVisible(), false);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL(`${localHome}/w`);
    await page.getByText("You are signed in").waitFor();
    assert.equal(await unusedLinks(local, "Local"), 0);
    const [cookie, ...others] = (await own.cookies()).toSorted((one, other) =>
      one.name < other.name ? -1 : 1,
    );
    assert.deepEqual(others, []);
    assert.deepEqual(
      [cookie?.name, cookie?.httpOnly, cookie?.sameSite, cookie?.path, cookie?.secure],
      ["returns", true, "Lax", "/", false],
    );
    assert.equal(await page.evaluate("document.cookie"), "");
    await page.getByRole("link", { name: "Local" }).click();
    await addPasskey(device, "Laptop");
    await page.getByText("Passkey Laptop was added.").waitFor();
    await looksWell(page, "/me on this machine");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.waitForURL(`${localHome}/sign-in`);
    assert.deepEqual(await own.cookies(), []);
    await page.goto(`${localHome}/w`);
    assert.equal(page.url(), `${localHome}/sign-in`);
    await page.getByRole("button", { name: "Sign in with a passkey" }).click();
    await page.waitForURL(`${localHome}/w`);
    await forgetProofs(local);
    await page.goto(`${localHome}/me`);
    const [older] = await own.cookies();
    await page.getByRole("link", { name: "confirm your identity" }).click();
    await looksWell(page, "/confirm on this machine");
    await page.getByRole("button", { name: "Confirm with a passkey" }).click();
    await page.getByText("The confirmation lasts 10 minutes.").waitFor();
    assert.equal(page.url(), `${localHome}/me`);
    const newer = (await own.cookies()).find(({ name }) => name === "returns");
    assert.notEqual(newer?.value, older?.value);
    await page.getByText("Remove Laptop").first().click();
    await page.getByRole("button", { name: "Remove Laptop" }).click();
    await page.getByText("Passkey Laptop was removed.").waitFor();
  });
});

const CLIENT = { client_id: "returns", client_secret: "secret of the client" };

/** Console messages caused by the provider's own pages and by the refusal at the end. */
const OF_PROVIDER =
  /Clear-Site-Data|Autofocus processing|ERR_NAME_NOT_RESOLVED|autocomplete attributes|status of 40[34]/u;

/** A service whose members sign in at a provider. */
let federated: TestService;
let tenant: Tenant;
let home = "";

const chromium = useChromium(async () => {
  // The first person of an installation is an operator, whom / redirects elsewhere.
  await makeUserLink(local, { name: "Operator" });
  const [ownPort, port] = [await freePort(), await freePort()];
  home = `http://localhost:${ownPort}`;
  const issuer = `http://localhost:${port}`;
  const provider = await startProvider(issuer, port);
  federated = await startTestService({
    PORT: String(ownPort),
    PUBLIC_URL: home,
    OIDC_ISSUER: issuer,
    OIDC_CLIENT_ID: CLIENT.client_id,
    OIDC_CLIENT_SECRET: CLIENT.client_secret,
    OIDC_NAME: "Acme",
  });
  tenant = await createTenant(federated.database);
  await makeUserLink(federated, { name: "Owner", shopDomain: tenant.shopDomain });
  return async () => {
    await federated.stop();
    provider.closeAllConnections();
    provider.close();
  };
});

/** Its own sign-in page accepts any name; the account has a verified address made of it. */
async function startProvider(issuer: string, port: number): Promise<Server> {
  const server = new Provider(issuer, {
    clients: [
      {
        ...CLIENT,
        redirect_uris: [`${home}/sign-in/provider/callback`],
        post_logout_redirect_uris: [`${home}/sign-in`],
      },
    ],
    claims: { openid: ["sub"], email: ["email", "email_verified"] },
    cookies: { keys: ["a key for the cookies of a test"] },
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@acme.example`, email_verified: true }),
    }),
  }).listen(port, "localhost");
  // If no service starts, nothing would stop it.
  await once(server.unref(), "listening");
  return server;
}

/** The provider's own pages: its sign-in, and its consent the first time. */
async function signInThere(page: Page, name: string, hasConsent: boolean): Promise<void> {
  await page.getByPlaceholder("Enter any login").fill(name);
  await page.getByPlaceholder("and password").fill("any");
  await page.getByRole("button", { name: "Sign-in" }).click();
  if (hasConsent) await page.getByRole("button", { name: "Continue" }).click();
  await page.waitForURL(`${home}/**`);
}

test("a member is invited by their address, signs in at the provider, confirms, unlinks, links and signs out of both", async (context) => {
  await chromium.withPage(context, { expected: OF_PROVIDER }, async (page) => {
    const { link } = await makeUserLink(federated, { name: "Owner" });
    await page.goto(link);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.goto(`${home}/w/${tenant.shopDomain}/settings/members`);
    await page.getByRole("textbox", { name: "Name" }).fill("Grace");
    await page.getByLabel("E-mail address for single sign-on").fill("Grace@acme.example");
    await looksWell(page, "invite");
    await page.getByRole("button", { name: "Invite member" }).click();
    const invitation = await page.locator("code").first().innerText();
    await page.getByRole("button", { name: "Sign out" }).click();

    await page.goto(invitation);
    await looksWell(page, "invitation");
    await page.goto(`${home}/sign-in`);
    await looksWell(page, "sign-in");
    await page.getByRole("button", { name: "Sign in with Acme" }).click();
    await signInThere(page, "grace", true);
    assert.equal(new URL(page.url()).pathname, `/w/${tenant.shopDomain}`);

    await page.goto(`${home}/me`);
    await page.getByRole("link", { name: "Confirm your identity" }).click();
    await looksWell(page, "confirm");
    await page.getByRole("button", { name: "Confirm with Acme" }).click();
    await signInThere(page, "grace", false);
    await page.getByText("You have confirmed your identity").waitFor();
    await looksWell(page, "account");
    await page.getByRole("button", { name: "Unlink account" }).click();
    await page.getByText("Your account was unlinked").waitFor();
    await page.getByRole("button", { name: "Link account" }).click();
    await signInThere(page, "grace", false);
    await page.getByText("Your account was linked").waitFor();

    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Yes, sign me out" }).click();
    await page.waitForURL(`${home}/sign-in**`);
    await page.getByRole("button", { name: "Sign in with Acme" }).click();
    await page.getByPlaceholder("Enter any login").waitFor();
    await page.goto(`${home}/sign-in`);
    await page.getByRole("button", { name: "Sign in with Acme" }).click();
    await signInThere(page, "stranger", true);
    await page.getByText("no open invitation is for its address").waitFor();
    await looksWell(page, "refused");
  });
});
