import assert from "node:assert/strict";
import { test } from "node:test";
import { createPerson, setRole, type Person } from "../../../tests/support/people.ts";
import { service } from "../../../tests/support/shared-service.ts";
import { createTenant } from "../../../tests/support/tenants.ts";
import { userName } from "../../lib/user-name.ts";
import { listNotices, MANAGERS, notifyMembers, type Notice } from "../../store/queries/notice.ts";

const NOTICE: Notice = {
  event: "token:1:14",
  category: "token_expiry",
  severity: "warning",
  title: "A token expires in 14 days",
  body: "Rotate it before.",
  linkPath: "/settings/tokens",
  linkLabel: "Tokens",
};

const tenant = await createTenant(service.database);
const [owner, admin, viewer] = (await Promise.all([1, 2, 3].map(() => createPerson(service.database)))) as [
  Person,
  Person,
  Person,
];
await setRole(service.database, tenant, owner, "owner");
await setRole(service.database, tenant, admin, "admin");
await setRole(service.database, tenant, viewer, "viewer");

const noticesOf = ({ userId }: Person) =>
  listNotices(service.installation.database, tenant.shopKey, userName(userId), 10);

test("a notice reaches its recipients alone, once per event, and never the API's alerts", async () => {
  const { database } = service.installation;
  for (let run = 1; run <= 2; run += 1) {
    await database.transaction((connection) => notifyMembers(connection, tenant.shopKey, MANAGERS, NOTICE));
  }
  for (const person of [owner, admin]) {
    const [notice, ...others] = await noticesOf(person);
    assert.deepEqual(others, []);
    assert.deepEqual(
      [notice?.title, notice?.body, notice?.link_path, notice?.link_label],
      ["A token expires in 14 days", "Rotate it before.", "/settings/tokens", "Tokens"],
    );
  }
  assert.deepEqual(await noticesOf(viewer), []);
  const alerts = await service.call("/api/v1/alerts", { token: tenant.token });
  assert.deepEqual(alerts.json().data, []);
});

test("who is disabled gets no notice", async () => {
  const { database } = service.installation;
  await service.database.query("update console_user set disabled_at = now() where user_id = $1", [
    admin.userId,
  ]);
  await notifyMembers(database, tenant.shopKey, MANAGERS, { ...NOTICE, event: "token:1:3" });
  assert.deepEqual([(await noticesOf(owner)).length, (await noticesOf(admin)).length], [2, 1]);
});
