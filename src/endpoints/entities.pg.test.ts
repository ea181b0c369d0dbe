import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { service } from "../../tests/support/shared-service.ts";
import { createTenant, insertRows } from "../../tests/support/tenants.ts";
import type { Tenant } from "../../tests/support/tenants.ts";
import { fold } from "../lib/fold.ts";

let tenant: Tenant;

before(async () => {
  tenant = await createTenant(service.database);
  const products = [
    ["gid 1", "Crème Brûlée Tee", "Ångström"],
    ["gid 2", "Tee Shirt", "Nordwind"],
    ["gid 3", "50% Wool_Hat", "Nordwind"],
  ] as const;
  const skus = [
    ["TEE", "gid 2"],
    ["TEE-10", "gid 2"],
    ["A-TEE", "gid 1"],
    ["HAT", "gid 3"],
  ] as const;
  const productOf = (gid: string) => products.find((product) => product[0] === gid);
  await insertRows(service.database, "entity", [
    ...skus.map(([sku, gid]) => {
      const [, title = "", vendor = ""] = productOf(gid) ?? [];
      return {
        ...row(1, sku, sku, [sku, title, vendor]),
        sku,
        product_gid: gid,
        product_title: title,
        vendor,
      };
    }),
    ...products.map(([gid, title, vendor]) => ({
      ...row(2, title, gid, [title, vendor]),
      sku: null,
      product_gid: gid,
      product_title: title,
      vendor,
    })),
    { ...row(3, "Tops", "Tops", ["Tops"]), product_group_type: "family", vendor: null },
  ]);
});

function row(rank: number, label: string, key: string, searched: readonly string[]) {
  return {
    shop_key: tenant.shopKey,
    type_rank: rank,
    label,
    entity_key: key,
    product_group_type: "",
    search_text: searched.map(fold).join("\n"),
    sku: null as string | null,
    product_gid: null as string | null,
    product_title: null as string | null,
    vendor: null as string | null,
  };
}

/** Labels of the matches, best first. */
async function search(q: string, params: Record<string, string> = {}): Promise<unknown[]> {
  const answer = await service.call("/api/v1/entities", {
    token: tenant.token,
    params: { q, limit: "100", ...params },
  });
  const { data, meta } = answer.json();
  assert.deepEqual([meta["query"], meta["next_cursor"]], [q, null]);
  return data.map((entity) => entity["label"]);
}

describe("a search", () => {
  test("finds the exact SKU first, then groups and products by name, then prefixes, then the rest", async () => {
    assert.deepEqual(await search("tee"), ["TEE", "Tee Shirt", "Crème Brûlée Tee", "TEE-10", "A-TEE"]);
  });

  test("takes no notice of case and accents, in the text and in the question", async () => {
    for (const q of ["creme brulee", "CRÈME BRÛLÉE", "crème", "angstrom", "ÅNGSTRÖM"]) {
      assert.ok((await search(q)).includes("Crème Brûlée Tee"), q);
    }
  });

  test("looks into product title and vendor of a SKU too", async () => {
    assert.ok((await search("wool")).includes("HAT"));
    assert.ok((await search("nordwind")).includes("TEE-10"));
  });

  test("tolerates a wrong letter, and finds no match for an unrelated word", async () => {
    assert.ok((await search("nordwnd")).includes("TEE"));
    assert.deepEqual(await search("submarine"), []);
  });

  test("takes % and _ as letters", async () => {
    assert.deepEqual(await search("50%"), ["50% Wool_Hat", "HAT"]);
    assert.deepEqual(await search("%%%"), []);
    assert.ok((await search("wool_")).includes("50% Wool_Hat"));
    assert.deepEqual(await search("wool%hat"), await search("wool-hat"), "only what is similar");
    assert.deepEqual(await search("\\"), []);
  });

  test("is narrowed by type and by vendor, and cut at the limit", async () => {
    assert.deepEqual(await search("tee", { type: "product", vendor: "Nordwind" }), ["Tee Shirt"]);
    assert.deepEqual(await search("tee", { limit: "1" }), ["TEE"]);
    assert.deepEqual(await search("tops", { vendor: "Nordwind" }), []);
  });

  test("of blanks alone is the whole catalogue", async () => {
    assert.equal((await search("  ")).length, 8);
  });
});

test("each selector that is listed can be passed back as parameters", async () => {
  const answer = await service.call("/api/v1/entities", { token: tenant.token, params: { limit: 100 } });
  const selectors = answer.json().data.map((entity) => entity["selector"]);
  assert.deepEqual(selectors[0], { sku: "A-TEE" });
  assert.deepEqual(selectors.at(-1), { product_group_type: "family", product_group_key: "Tops" });
  assert.ok(selectors.some((selector) => JSON.stringify(selector) === '{"product_gid":"gid 3"}'));
});
