import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeUserLink } from "./support/console-person.ts";
import { wrongLooks, LOOKS } from "./support/page-looks.ts";
import { enrol, HOME, passkeyLink, signInAgain, startPasskeyPlace } from "./support/passkey-place.ts";
import type { Device, PasskeyPlace } from "./support/passkey-place.ts";
import { startTestService, type TestService } from "./support/service.ts";

/** One's own account in a browser: passkeys added and removed, a proof given, and how its pages look. */

let place: PasskeyPlace;
let local: TestService;
let localHome: string;
before(async () => {
  place = await startPasskeyPlace();
  local = await startTestService();
  await makeUserLink(local, { name: "Operator" });
  localHome = local.address.replace("127.0.0.1", "localhost");
});
after(() => Promise.all([place.stop(), local.stop()]));

async function addPasskey({ page }: Device, name: string): Promise<void> {
  await page.getByLabel("Passkey name").fill(name);
  await page.getByRole("button", { name: "Add passkey" }).click();
  await page.getByText(`Passkey ${name} was added.`).waitFor();
}

async function forgetProofs(service: TestService): Promise<void> {
  await service.database.query("update console_session set proved_at = now() - interval '601 s'");
}

test("on this machine a passkey is added after a link, signs in, and then proves", async (context) => {
  await place.withDevice(context, async (device) => {
    const { page, own } = device;
    const { secret } = await makeUserLink(local, { name: "Local" });
    await page.goto(`${localHome}/enter#${secret}`);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL(`${localHome}/w`);
    await page.getByRole("link", { name: "Local" }).click();
    await addPasskey(device, "Laptop");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Sign in with a passkey" }).click();
    await page.waitForURL(`${localHome}/w`);
    await forgetProofs(local);
    await page.goto(`${localHome}/me`);
    const [older] = await own.cookies();
    await page.getByRole("link", { name: "confirm your identity" }).click();
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

test("a passkey is removed together with the other sign-ins, and the last one after a warning alone", async (context) => {
  await place.withDevice(context, async (device) => {
    const { page } = device;
    await enrol(device, await passkeyLink(place, "Careful"));
    await place.withDevice(context, async (other) => {
      await enrol(other, await passkeyLink(place, "Careful"));
      await page.goto(`${HOME}/me`);
      const [first = ""] = await page
        .locator("input[name=id]")
        .evaluateAll((fields) => fields.map((field) => (field as unknown as { value: string }).value));
      const item = page.locator("li", { has: page.locator(`input[value="${first}"]`) });
      await item.locator("summary").click();
      await item.getByLabel("Also end my sessions in other browsers").check();
      await item.getByRole("button").click();
      await page.getByText("was removed. Your other sessions have ended: 1.").waitFor();
      await other.page.goto(`${HOME}/me`);
      assert.equal(other.page.url(), `${HOME}/sign-in`);
    });
    await page.locator("summary", { hasText: "Remove" }).click();
    await page.getByRole("button", { name: "Remove" }).click();
    await page.getByText("This is your last passkey: confirm that you").waitFor();
    await page.locator("summary", { hasText: "Remove" }).click();
    await page.getByLabel("I understand that I will then need a link").check();
    await page.getByRole("button", { name: "Remove" }).click();
    await page.getByText("No passkeys yet.").waitFor();
  });
});

test("somebody with two authenticators adds the second one on the page of their account", async (context) => {
  await place.withDevice(context, async (device) => {
    const { page, authenticator } = device;
    await enrol(device, await passkeyLink(place, "Keys"));
    await page.goto(`${HOME}/me`);
    await authenticator.clear();
    await addPasskey(device, "Security key");
    assert.equal((await page.locator("summary", { hasText: "Remove" }).all()).length, 2);
    await page.getByLabel("Passkey name").fill("Again");
    await page.getByRole("button", { name: "Add passkey" }).click();
    await page.getByRole("alert").filter({ hasText: "already has a passkey for your account" }).waitFor();
    await signInAgain(device);
    await page.waitForURL(`${HOME}/w`);
  });
});

for (const { width, colorScheme } of LOOKS) {
  test(`the ways in and the account at ${width} px, ${colorScheme}`, async (context) => {
    const look = { viewport: { width, height: 800 }, colorScheme };
    await place.withDevice(
      context,
      async (device) => {
        const { page } = device;
        const found: string[] = [];
        const examine = async (name: string): Promise<void> => {
          found.push(
            ...(await wrongLooks(device.page, "page", width === 360 ? [360, 320] : [width])).map(
              (wrong) => `${name}: ${wrong}`,
            ),
          );
        };
        for (const path of ["/sign-in", "/enter"]) {
          await page.goto(HOME + path);
          await examine(path);
        }
        await page.getByLabel("Paste your link").fill("no link");
        await page.getByRole("button", { name: "Create passkey and sign in" }).click();
        await page.getByRole("alert").waitFor();
        await examine("/enter, refused");
        await enrol(device, await passkeyLink(place, `A person whose name is long ${width} ${colorScheme}`));
        await page.goto(`${HOME}/me`);
        await page.locator("summary", { hasText: "Remove" }).click();
        await examine("/me");
        await forgetProofs(place.service);
        await page.getByRole("button", { name: "Change name" }).click();
        await examine("/me, refused");
        await page.goto(`${HOME}/confirm?next=%2Fme`);
        await examine("/confirm");
        const { secret } = await makeUserLink(local, { name: "Looked at" });
        await page.goto(`${localHome}/enter#${secret}`);
        await page.getByRole("button", { name: "Sign in" }).click();
        await page.waitForURL(`${localHome}/w`);
        for (const path of ["/confirm", "/me"]) {
          await page.goto(localHome + path);
          await examine(`${path} on this machine`);
        }
        assert.deepEqual(found, []);
      },
      look,
    );
  });
}
