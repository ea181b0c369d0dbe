import assert from "node:assert/strict";
import { test } from "node:test";
import { SETTINGS } from "../src/console/registry.ts";
import { useChromium } from "./support/chromium.ts";
import { scene, type Member } from "./support/scene.ts";

/** Every form of the settings without a mouse. */
let owner: Member;

const browser = useChromium(async () => {
  owner = await (await scene({ store: "small" })).member();
});

/** What Tab reaches within the page's content, in the order of the markup; of radios of one name the chosen one or the first. */
const REACHABLE = `(() => {
  const all = [...document.querySelectorAll("#content :is(a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0'])")];
  const seen = all.filter((each) => each.checkVisibility({ visibilityProperty: true }) && !each.disabled);
  const radios = new Map();
  for (const each of seen) if (each.type === "radio") {
    const key = each.form?.action + each.name;
    if (!radios.has(key) || each.checked) radios.set(key, each);
  }
  const reached = seen.filter((each) => each.type !== "radio" || radios.get(each.form?.action + each.name) === each);
  reached.forEach((each, index) => each.setAttribute("data-place", String(index)));
  return reached.length;
})()`;
const PLACE = `document.activeElement?.getAttribute("data-place") ?? null`;
const FOCUSED = `document.activeElement?.matches(".banner[role=alert], .banner[role=status]") === true`;

test("Tab reaches every field and button of every page of settings in order, and goes on", async (context) => {
  await browser.withPage(context, { as: owner }, async (page) => {
    for (const { path, name } of SETTINGS) {
      if (path.includes(":")) continue;
      await page.goto(owner.home + path);
      const count = Number(await page.evaluate(REACHABLE));
      await page.locator("#content").focus();
      const places: number[] = [];
      // A day is three fields and a button.
      for (let presses = 0; presses <= 4 * count + 1; presses += 1) {
        await page.keyboard.press("Tab");
        const place = await page.evaluate(PLACE);
        if (place === null) break;
        if (places.at(-1) !== Number(place)) places.push(Number(place));
      }
      assert.deepEqual(
        places,
        Array.from({ length: count }, (_, index) => index),
        name,
      );
    }
  });
});

test("Enter in a field sends its form, and the focus lands on the message", async (context) => {
  await browser.withPage(context, { as: owner, expected: /status of 4\d\d/u }, async (page) => {
    const sent: string[] = [];
    for (const { path, name } of SETTINGS) {
      if (path.includes(":")) continue;
      await page.goto(owner.home + path);
      const forms = page.locator("#content form[method=post]:has(input:is([type=text], [type=number]))");
      const count = await forms.count();
      for (let index = 0; index < count; index += 1) {
        await page.goto(owner.home + path);
        const form = forms.nth(index);
        const fields = form.locator("input:is([type=text], [type=number])");
        if (!(await fields.first().isVisible())) continue;
        const button = form.locator("button:not([formmethod=get])");
        // Enter presses the first button, which only looks where a change can be tried.
        if ((await form.locator("button").first().getAttribute("formmethod")) === "get") continue;
        if ((await button.count()) === 0) continue;
        for (const field of await fields.all()) {
          await field.fill((await field.getAttribute("type")) === "number" ? "-1" : " ");
        }
        for (const day of await form.locator("input[type=date]").all()) await day.fill("2026-01-01");
        await Promise.all([
          page.waitForEvent("load", { timeout: 8000 }),
          fields.first().press("Enter"),
        ]).catch(async (error: unknown) =>
          assert.fail(`${name}, form ${index + 1}: ${await form.innerHTML()} ${String(error)}`),
        );
        // A browser moves the focus with the first picture of a page, which may come after its load.
        await page
          .waitForFunction(FOCUSED, undefined, { timeout: 8000 })
          .catch(() => assert.fail(`${name}, form ${index + 1}: ${page.url()}`));
        sent.push(name);
      }
    }
    assert.ok(sent.length >= 6, sent.join(", "));
  });
});
