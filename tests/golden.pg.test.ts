import assert from "node:assert/strict";
import { test } from "node:test";
import { assertHolds, readGoldenStores, titleOf } from "./golden/golden.ts";
import type { GoldenStore } from "./golden/golden.ts";
import { createStoreTenant, importStore, setFullLeaderboards } from "./support/import-store.ts";
import { service } from "./support/shared-service.ts";

for (const golden of readGoldenStores()) {
  test(`${golden.rules.join(", ")}: ${golden.about}`, () => checkStore(golden));
}

async function checkStore(golden: GoldenStore): Promise<void> {
  const { workspace, as_of: asOf, files } = golden;
  const tenant = await createStoreTenant(service, workspace);
  const result = await importStore(service, tenant, { currencyCode: workspace.currency_code, asOf, files });
  assert.deepEqual(result.invalid, []);
  for (const request of golden.requests) {
    const full = request.full_leaderboards ?? workspace.full_leaderboards;
    await setFullLeaderboards(service, tenant, full);
    const answer = await service.call(request.path, {
      token: tenant.token,
      params: request.params,
      isUnlimited: true,
    });
    assert.equal(answer.status, request.status ?? 200, `${titleOf(request)}: ${answer.text}`);
    assertHolds(answer.json(), request.expect ?? {}, titleOf(request));
  }
}
