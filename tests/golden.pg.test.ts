import assert from "node:assert/strict";
import { test } from "node:test";
import { assertHolds, readGoldenStores, titleOf, type GoldenStore } from "./golden/golden.ts";
import { createStore, setFullLeaderboards } from "./support/import-store.ts";
import { actAs } from "./support/scene.ts";
import { service } from "./support/shared-service.ts";
import { changeWorkspace } from "./support/tenants.ts";
import { compareStore } from "./support/warehouse.ts";
import { assertPreviewed, SOME } from "./support/window-preview.ts";

/** Each golden store: the API's answers equal those computed by hand, docs/sql computes the same of every other one, of a selection of the rest, and so does every third preview. */

for (const [turn, golden] of readGoldenStores().entries()) {
  test(`${golden.rules.join(", ")}: ${golden.about}`, () => checkStore(golden, turn));
}

async function checkStore(golden: GoldenStore, turn: number): Promise<void> {
  const { workspace, as_of: asOf, files } = golden;
  const tenant = await createStore(service, { ...workspace, asOf, files });
  for (const request of golden.requests) {
    const full = request.full_leaderboards ?? workspace.full_leaderboards;
    await setFullLeaderboards(service, tenant, full);
    const answer = await tenant.ask(request.path, request.params);
    assert.equal(answer.status, request.status ?? 200, `${titleOf(request)}: ${answer.text}`);
    assertHolds(answer.json(), request.expect ?? {}, titleOf(request));
  }
  await setFullLeaderboards(service, tenant, true);
  await changeWorkspace(service.database, tenant, { visible_card_size: 500 });
  await compareStore({ ...service, token: tenant.token }, golden.name, turn, {
    isWhole: turn % 2 === 0,
    selections: turn % 2,
  });
  if (turn % 3 > 0) return;
  await setFullLeaderboards(service, tenant, workspace.full_leaderboards);
  await changeWorkspace(service.database, tenant, { visible_card_size: workspace.visible_card_size });
  const member = await actAs(service, tenant);
  const wanted = SOME[(turn / 3) % SOME.length] ?? assert.fail();
  await assertPreviewed(service, { member, tenant, isUnlimited: true }, wanted);
}
