import assert from "node:assert/strict";
import { test } from "node:test";
import { makeUserLink, unusedLinks } from "./support/console-person.ts";
import { LOOKS, wrongLooks } from "./support/page-looks.ts";
import {
  askToSign,
  enrol,
  EVIL,
  HOME,
  passkeyLink,
  postFrom,
  sign,
  signInAgain,
  startPasskeyPlace,
  type Device,
} from "./support/passkey-place.ts";
import { startTestService, type TestService } from "./support/service.ts";
import { before, use } from "./support/use.ts";

/**
 * The ways in at an https address, in Chromium with its virtual authenticator, what is refused of them, and one's own account:
 * passkeys added and removed, a proof given, and how its pages look.
 */

const place = use(startPasskeyPlace);
/** On this machine, without https. */
const local = use(startTestService);
let localHome: string;
before(async () => {
  await makeUserLink(local, { name: "Operator" });
  localHome = local.address.replace("127.0.0.1", "localhost");
});

async function refusals(name: string): Promise<unknown[]> {
  const { rows } = await place.service.database.query<{ reason: string }>(
    `select detail->>'reason' as reason from identity_event join console_user on user_id::text = detail->>'user_id'
      where action = 'session.refuse' and name = $1 order by happened_at`,
    [name],
  );
  return rows.map(({ reason }) => reason);
}

test("a link opens the making of a passkey, which signs in then and later", async (context) => {
  await place.withDevice(context, async (device) => {
    const { page, own, authenticator } = device;
    await enrol(device, await passkeyLink(place, "Ada"));
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
  });
});

test("who dismisses the device's question has not used the link up", async (context) => {
  await place.withDevice(context, async (device) => {
    const { page, authenticator } = device;
    await authenticator.verify(false);
    await page.goto(await passkeyLink(place, "Hesitant"));
    const button = page.getByRole("button", { name: "Create passkey and sign in" });
    await button.click();
    await page.getByRole("alert").filter({ hasText: "Nothing was done" }).waitFor();
    assert.equal(await unusedLinks(place.service, "Hesitant"), 1);
    await authenticator.verify(true);
    await button.click();
    await page.waitForURL(`${HOME}/w`);
    assert.equal(await unusedLinks(place.service, "Hesitant"), 0);
    const again = await postFrom(device, "/enter/options", { secret: "A".repeat(43) });
    assert.deepEqual(
      [again.status, JSON.parse(again.text)],
      [403, { message: "This link is not valid: it was withdrawn, has expired, or is not complete." }],
    );
  });
});

test("a second device gets a passkey by another link, and both sign in", async (context) => {
  await place.withDevice(context, async (first) => {
    await enrol(first, await passkeyLink(place, "Two devices"));
    await first.page.goto(await passkeyLink(place, "Two devices"));
    await first.page.getByRole("button", { name: "Create passkey and sign in" }).click();
    await first.page
      .getByRole("alert")
      .filter({ hasText: "already has a passkey for your account" })
      .waitFor();
    await place.withDevice(context, async (second) => {
      await enrol(second, await passkeyLink(place, "Two devices"));
      for (const device of [first, second]) {
        await device.page.goto(`${HOME}/w`);
        await signInAgain(device);
        await device.page.waitForURL(`${HOME}/w`);
      }
    });
  });
});

test("after a lost device a recovery link ends its passkey and its sign-in", async (context) => {
  await place.withDevice(context, async (lost) => {
    await enrol(lost, await passkeyLink(place, "Lost"));
    await place.withDevice(context, async (found) => {
      await enrol(found, await passkeyLink(place, "Lost", { isRecovery: true }));
      assert.equal((await found.authenticator.credentials()).length, 1);
      await found.page.goto(`${HOME}/me`);
      await found.page.getByText("Your earlier passkeys and linked accounts have been removed").waitFor();
    });
    await lost.page.goto(`${HOME}/w`);
    assert.equal(lost.page.url(), `${HOME}/sign-in`);
    await lost.page.getByRole("button", { name: "Sign in with a passkey" }).click();
    await lost.page.getByText("This passkey is not registered here.").waitFor();
    // The device that has the old one makes a new one, too.
    await enrol(lost, await passkeyLink(place, "Lost", { isRecovery: true }));
  });
});

test("an answer counts once, and not to another question", async (context) => {
  await place.withDevice(context, async (device) => {
    await enrol(device, await passkeyLink(place, "Replayed"));
    const credential = await sign(device, await askToSign(device));
    assert.equal((await postFrom(device, "/sign-in", { credential })).status, 0);
    const again = await postFrom(device, "/sign-in", { credential });
    assert.equal(again.status, 403);
    assert.match(again.text, /That took too long, or was sent twice\./u);
    const proof = await sign(device, await askToSign(device, "/confirm/options"));
    assert.equal((await postFrom(device, "/sign-in", { credential: proof })).status, 403);
    const options = { ...(await askToSign(device)), challenge: "A".repeat(43) };
    assert.equal(
      (await postFrom(device, "/sign-in", { credential: await sign(device, options) })).status,
      403,
    );
  });
});

test("an answer that was given to another origin is refused, also one below ours", async (context) => {
  await place.withDevice(context, async (device) => {
    const { page, own } = device;
    await enrol(device, await passkeyLink(place, "Phished"));
    const options = await askToSign(device);
    await own.route(`${EVIL}/**`, (route) =>
      route.fulfill({ contentType: "text/html", body: "<title>Evil</title>" }),
    );
    await page.goto(`${EVIL}/`);
    const credential = await sign(device, options);
    await page.goto(`${HOME}/sign-in`);
    const refused = await postFrom(device, "/sign-in", { credential });
    assert.equal(refused.status, 403);
    assert.match(refused.text, /created for another address/u);
    assert.deepEqual(await refusals("Phished"), ["rejected"]);
  });
});

test("without fingerprint, face or PIN a passkey signs nobody in", async (context) => {
  await place.withDevice(context, async (device) => {
    const { authenticator } = device;
    await enrol(device, await passkeyLink(place, "Unverified"));
    const options = { ...(await askToSign(device)), userVerification: "discouraged" };
    await authenticator.verify(false);
    const credential = await sign(device, options);
    const refused = await postFrom(device, "/sign-in", { credential });
    assert.equal(refused.status, 403);
    assert.match(refused.text, /must ask for a fingerprint/u);
    assert.deepEqual(await refusals("Unverified"), ["unverified"]);
  });
});

test("a passkey that counts less than it did is refused: there may be a copy", async (context) => {
  await place.withDevice(context, async (device) => {
    const { page, authenticator } = device;
    await enrol(device, await passkeyLink(place, "Copied"));
    const [copy] = await authenticator.credentials();
    await signInAgain(device);
    await page.waitForURL(`${HOME}/w`);
    await authenticator.clear();
    assert.ok(copy !== undefined && copy.signCount > 0);
    await authenticator.add({ ...copy, signCount: copy.signCount - 1 });
    await signInAgain(device);
    await page.getByText("This passkey may have been copied").waitFor();
    assert.deepEqual(await refusals("Copied"), ["counter"]);
  });
});

test("somebody who is disabled is out at once, and their passkey signs nobody in", async (context) => {
  await place.withDevice(context, async (device) => {
    const { page } = device;
    await enrol(device, await passkeyLink(place, "Dismissed"));
    await place.service.database.query(
      "update console_user set disabled_at = now() where name = 'Dismissed'",
    );
    await page.goto(`${HOME}/w`);
    assert.equal(page.url(), `${HOME}/sign-in`);
    await page.getByRole("button", { name: "Sign in with a passkey" }).click();
    await page.getByText("This person can no longer sign in.").waitFor();
    assert.deepEqual(await refusals("Dismissed"), ["disabled"]);
  });
});

test("no line of the log holds a link, a challenge or a passkey", async (context) => {
  await place.withDevice(context, async (device) => {
    const link = await passkeyLink(place, "Logged");
    await enrol(device, link);
    const options = await askToSign(device);
    const credential = await sign(device, options);
    await postFrom(device, "/sign-in", { credential });
    await postFrom(device, "/sign-in", { credential });
    const log = place.service.logs.join("");
    assert.match(log, /passkey: challenge/u);
    const { challenge } = options as { challenge: string };
    const { id } = JSON.parse(credential) as { id: string };
    for (const text of [link.slice(link.indexOf("#") + 1), challenge, id, "Logged"])
      assert.ok(!log.includes(text), text);
  });
});

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
