import assert from "node:assert/strict";
import { once } from "node:events";
import type { Server } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { Provider } from "oidc-provider";
import type { Page } from "playwright-core";
import { useChromium } from "./support/chromium.ts";
import { makeUserLink } from "./support/console-person.ts";
import { freePort } from "./support/free-port.ts";
import { axeViolations, wrongLooks } from "./support/page-looks.ts";
import { startTestService, type TestService } from "./support/service.ts";
import { createTenant, type Tenant } from "./support/tenants.ts";

/** Single sign-on in Chromium with oidc-provider, which is not ours (decision 0075). */

const CLIENT = { client_id: "returns", client_secret: "secret of the client" };

/** What the provider's own pages make the browser say, and the refusal at the end. */
const OF_PROVIDER =
  /Clear-Site-Data|Autofocus processing|ERR_NAME_NOT_RESOLVED|autocomplete attributes|status of 40[34]/u;

let service: TestService;
let tenant: Tenant;
let home = "";

const chromium = useChromium(async () => {
  const [ownPort, port] = [await freePort(), await freePort()];
  home = `http://localhost:${ownPort}`;
  const issuer = `http://localhost:${port}`;
  const provider = await startProvider(issuer, port);
  service = await startTestService({
    PORT: String(ownPort),
    PUBLIC_URL: home,
    OIDC_ISSUER: issuer,
    OIDC_CLIENT_ID: CLIENT.client_id,
    OIDC_CLIENT_SECRET: CLIENT.client_secret,
    OIDC_NAME: "Acme",
  });
  tenant = await createTenant(service.database);
  await makeUserLink(service, { name: "Owner", shopDomain: tenant.shopDomain });
  return async () => {
    await service.stop();
    provider.closeAllConnections();
    provider.close();
  };
});

/** Its own sign-in page takes any name, and its account has the verified address of it. */
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
  await once(server, "listening");
  return server;
}

async function picture(page: Page, name: string): Promise<void> {
  const folder = process.env["KEEP_PICTURES"];
  if (folder !== undefined) await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
  assert.deepEqual(await axeViolations(page), [], name);
  assert.deepEqual(await wrongLooks(page, name), [], name);
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
    const { link } = await makeUserLink(service, { name: "Owner" });
    await page.goto(link);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.goto(`${home}/w/${tenant.shopDomain}/settings/members`);
    await page.getByRole("textbox", { name: "Name" }).fill("Grace");
    await page.getByLabel("E-mail address for single sign-on").fill("Grace@acme.example");
    await picture(page, "invite");
    await page.getByRole("button", { name: "Invite member" }).click();
    const invitation = await page.locator("code").first().innerText();
    await page.getByRole("button", { name: "Sign out" }).click();

    await page.goto(invitation);
    await picture(page, "invitation");
    await page.goto(`${home}/sign-in`);
    await picture(page, "sign-in");
    await page.getByRole("button", { name: "Sign in with Acme" }).click();
    await signInThere(page, "grace", true);
    assert.equal(new URL(page.url()).pathname, `/w/${tenant.shopDomain}`);

    await page.goto(`${home}/me`);
    await page.getByRole("link", { name: "Confirm your identity" }).click();
    await picture(page, "confirm");
    await page.getByRole("button", { name: "Confirm with Acme" }).click();
    await signInThere(page, "grace", false);
    await page.getByText("You have confirmed your identity").waitFor();
    await picture(page, "account");
    await page.getByRole("button", { name: "Unlink account" }).click();
    await page.getByText("Your account was unlinked").waitFor();
    await page.getByRole("button", { name: "Link account" }).click();
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
    await picture(page, "refused");
  });
});
