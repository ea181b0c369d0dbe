import assert from "node:assert/strict";
import { test } from "node:test";
import type { Fields } from "../src/actions/field.ts";
import { ACTIONS } from "../src/console/registry.ts";
import { actAs } from "./support/scene.ts";
import { elementsIn, readMarkup, textsIn, type MarkupElement } from "./support/markup.ts";
import { unescaped } from "./support/page-figures.ts";
import { createPerson, setRole } from "./support/people.ts";
import { service } from "./support/shared-service.ts";
import { createSmallStore } from "./support/small-store.ts";
import { wrongFor } from "./support/wrong-values.ts";

/** Every form of the settings, in loops over the registry: errors at their fields, and conflicting saves. */

const tenant = await createSmallStore(service.database);
const owner = await actAs(service, tenant);
const viewer = await createPerson(service.database);
await setRole(service.database, tenant, viewer, "viewer");

const filled = (path: string): string =>
  path
    .replace(":token_id", tenant.tokenId)
    .replace(":person", viewer.userId)
    .replace(":source", "shipstation")
    .replace(":slug", "summer")
    .replaceAll(/:\w+/gu, "00000000-0000-4000-8000-000000000000");

/** The form that posts to a path, with its controls by name. */
function formOn(text: string, path: string): MarkupElement | undefined {
  return elementsIn(readMarkup(text)).find(
    ({ name, attributes }) => name === "form" && attributes["action"] === path,
  );
}

const isControl = ({ name, attributes }: MarkupElement): boolean =>
  ["input", "select", "textarea"].includes(name) && attributes["type"] !== "hidden";

test("every refused field of every form shows the reason beside it, in the page's words", async () => {
  const proven: string[] = [];
  for (const form of ACTIONS) {
    const { input } = form.right as typeof form.right & { input?: Fields };
    if (form.isScript === true || input === undefined) continue;
    const path = filled(form.path);
    const { text } = await owner.get(filled(form.page.path));
    const address = `/w/${tenant.shopDomain}${path}`;
    const drawn = formOn(text, address);
    const names = new Set(
      drawn === undefined
        ? []
        : elementsIn(drawn)
            .filter(isControl)
            .map(({ attributes }) => attributes["name"]),
    );
    const wrong = Object.entries(input).flatMap(([name, field]) => {
      const found = names.has(name)
        ? wrongFor(name, field, { subject: () => field.label, isForm: true })
        : null;
      return found === null ? [] : [{ name, ...found }];
    });
    if (wrong.length === 0) continue;
    const hidden = elementsIn(drawn as MarkupElement).filter(
      ({ attributes }) => attributes["type"] === "hidden",
    );
    const sent = Object.fromEntries([
      ...hidden.map(({ attributes }) => [attributes["name"], unescaped(attributes["value"] ?? "")]),
      ...wrong.map(({ name, value }) => [name, value]),
    ]) as Record<string, string>;
    const answer = await owner.post(path, sent);
    assert.equal(answer.status, 400, `${form.name}: ${answer.text.slice(0, 200)}`);
    const page = readMarkup(answer.text);
    for (const { name, value, sentence } of wrong) {
      const where = `${form.name}, ${name}`;
      assert.doesNotMatch(sentence, /[a-z]_[a-z]|--/u, where);
      const again = formOn(answer.text, address) ?? assert.fail(`${where}: the form is gone`);
      const control = elementsIn(again).find((each) => isControl(each) && each.attributes["name"] === name);
      const group = elementsIn(again).find(
        (each) => each.name === "fieldset" && elementsIn(each).some((one) => one.attributes["name"] === name),
      );
      const kept = unescaped(
        (control?.name === "textarea" ? textsIn(control).join("") : control?.attributes["value"]) ?? "",
      );
      const isTyped = ["text", "number", "date", undefined].includes(control?.attributes["type"]);
      if (isTyped && control?.name !== "select") assert.equal(kept.trim(), value.trim(), where);
      const described = control?.attributes["aria-describedby"] ?? group?.attributes["aria-describedby"];
      const isInvalid =
        control?.attributes["aria-invalid"] === "true" || group?.attributes["aria-invalid"] === "true";
      assert.ok(isInvalid, `${where} is not marked`);
      const hint = elementsIn(page).filter(({ attributes }) => attributes["id"] === described);
      assert.equal(hint.length, 1, `${where} is described by ${String(described)}`);
      assert.equal(
        unescaped(textsIn(hint[0] as MarkupElement).join(""))
          .replaceAll(/\s+/gu, " ")
          .trim(),
        sentence,
        where,
      );
      proven.push(where);
    }
    assert.match(answer.text, /<p class="banner refused" role="alert" tabindex="-1" autofocus/u, form.name);
  }
  assert.ok(proven.length >= 15, proven.join("; "));
});

test("if two tabs save the same setting, the second shows what the first saved, and saves when it is sent again", async () => {
  const cases = [
    [
      "/settings/data",
      "/settings/data/name",
      { display_name: "First" },
      { display_name: "Second" },
      /Name is now First/u,
    ],
    [
      "/settings/windows?min_sold_units=3",
      "/settings/windows",
      { primary_window_days: "31", min_sold_units: "2" },
      { primary_window_days: "30", min_sold_units: "5" },
      /Return window in days is now 31/u,
    ],
    [
      `/settings/members/${viewer.userId}`,
      `/settings/members/${viewer.userId}/role`,
      { role: "admin" },
      { role: "owner" },
      /Role is now admin/u,
    ],
    [
      "/settings/orders?left_out_tags=a",
      "/settings/orders",
      { left_out_tags: "first" },
      { left_out_tags: "second" },
      /is now first/u,
    ],
  ] as const;
  for (const [page, path, first, second, told] of cases) {
    const earlierOn = (text: string): string => {
      const form = formOn(text, `/w/${tenant.shopDomain}${path}`) ?? assert.fail(path);
      const found = elementsIn(form).find(({ attributes }) => attributes["name"] === "earlier");
      return unescaped(found?.attributes["value"] ?? assert.fail(`${path} does not say what it was made of`));
    };
    const earlier = earlierOn((await owner.get(page)).text);
    assert.equal((await owner.post(path, { ...first, earlier })).status, 303, path);
    const late = await owner.post(path, { ...second, earlier });
    assert.equal(late.status, 409, path);
    assert.match(late.text, /Somebody saved other settings after you opened this page: /u, path);
    assert.match(late.text, /Yours were not saved/u, path);
    assert.match(unescaped(late.text), told);
    assert.equal((await owner.post(path, { ...second, earlier: earlierOn(late.text) })).status, 303, path);
  }
});
