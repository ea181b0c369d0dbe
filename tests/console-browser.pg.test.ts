import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { useChromium } from "./support/chromium.ts";
import { makeUserLink, unusedLinks } from "./support/console-person.ts";
import { service } from "./support/shared-service.ts";

/** The address that the printed link names: localhost. */
const home = `http://localhost:${new URL(service.address).port}`;

const chromium = useChromium(async () => {
  // The first person is the operator, who is led to make a workspace.
  await makeUserLink(service, { name: "Operator" });
});

test("opening a link uses nothing; its one button signs in, and the secret leaves the address", async (context) => {
  await chromium.withPage(context, {}, async (page, own) => {
    const { link } = await makeUserLink(service, { name: "Pressed" });
    await page.goto(link);
    assert.equal(await unusedLinks(service, "Pressed"), 1);
    assert.equal(page.url(), `${home}/enter`);
    assert.equal(await page.getByLabel("Paste your link").isVisible(), false);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL(`${home}/w`);
    assert.equal(await unusedLinks(service, "Pressed"), 0);
    const [cookie, ...others] = (await own.cookies()).toSorted((one, other) =>
      one.name < other.name ? -1 : 1,
    );
    assert.deepEqual(
      others.map(({ name, httpOnly }) => [name, httpOnly]),
      [["returns-done", true]],
    );
    assert.deepEqual(
      [cookie?.name, cookie?.httpOnly, cookie?.sameSite, cookie?.path, cookie?.secure],
      ["returns", true, "Lax", "/", false],
    );
    assert.equal(await page.evaluate("document.cookie"), "");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.waitForURL(`${home}/sign-in`);
    assert.deepEqual(await own.cookies(), []);
    await page.goto(`${home}/w`);
    assert.equal(page.url(), `${home}/sign-in`);
  });
});

test("a form of another site signs nobody in and nobody out", async (context) => {
  if (chromium.isMissing(context)) return;
  const { secret } = await makeUserLink(service, { name: "Crossed" });
  const { link } = await makeUserLink(service, { name: "Crossed" });
  // Another origin by its name and port, which is another site, and one by its port alone, which is the same site.
  const evil = createServer((request, response) => {
    const action = `${home}${request.url}`;
    response.setHeader("Content-Type", "text/html");
    response.end(
      `<form method="post" action="${action}"><input name="secret" value="${secret}"><button>Win</button></form>`,
    );
  });
  evil.listen(0, "127.0.0.1");
  await once(evil, "listening");
  const evilHome = `http://127.0.0.1:${(evil.address() as AddressInfo).port}`;
  try {
    await chromium.withPage(context, { expected: /^Clear-Site-Data|status of 403/u }, async (page, own) => {
      await page.goto(link);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.waitForURL(`${home}/w`);
      const signedIn = await own.cookies(home);
      const left = await unusedLinks(service, "Crossed");
      for (const path of ["/enter", "/sign-out"]) {
        for (const origin of [evilHome, evilHome.replace("127.0.0.1", "localhost")]) {
          await page.goto(origin + path);
          const [response] = await Promise.all([
            page.waitForResponse(home + path),
            page.getByRole("button", { name: "Win" }).click(),
          ]);
          assert.equal(response.status(), 403, `${origin}${path}`);
        }
      }
      assert.deepEqual(await own.cookies(home), signedIn);
      assert.equal(await unusedLinks(service, "Crossed"), left);
      await page.goto(`${home}/w`);
      assert.equal(page.url(), `${home}/w`);
    });
  } finally {
    evil.close();
    evil.closeAllConnections();
  }
});
