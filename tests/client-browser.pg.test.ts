import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import type { ConsoleMessage, Page } from "playwright-core";
import { clientPackage } from "../src/client/package.ts";
import { useChromium } from "./support/chromium.ts";
import { service } from "./support/shared-service.ts";
import { createSmallStore } from "./support/small-store.ts";
import { makeFolder } from "./support/folder.ts";

const MONTHS = { start_month: "2025-03", end_month: "2026-02" };
/** Where the pages of these tests find the package's files. */
const PACKAGE_PATH = "/client-package/";

let token: string;
const folder = makeFolder();
const chromium = useChromium(async () => {
  const tenant = await createSmallStore(service.database);
  token = tenant.token;
  const file = join(folder, "client.tgz");
  writeFileSync(file, clientPackage(null));
  await promisify(execFile)("tar", ["-xzf", file, "-C", folder, "--strip-components=1"]);
});

test("In a page of the service's origin the package reads figures, pages and a file", async (context) => {
  if (chromium.isMissing(context)) return;
  const page = await openPage(service.address);
  const result: unknown = await page.evaluate(
    `import("${PACKAGE_PATH}lib/index.js").then(async ({ createClient, ReturnsApiError }) => {
      const client = createClient({ baseUrl: location.origin, token: ${JSON.stringify(token)} });
      const months = ${JSON.stringify(MONTHS)};
      const { data, quota } = await client.summary(months);
      const labels = [];
      for await (const entity of client.iterateEntities({ limit: 3 })) labels.push(entity.label);
      const { filename, ...file } = await client.exportReport(months);
      const csv = await client.exportReport(months).then((whole) => whole.text());
      const refusal = await client.summary({ ...months, sku: "NONE" }).catch((error) => error);
      const code = refusal instanceof ReturnsApiError ? refusal.code : null;
      await file.stream.cancel();
      return { data, isQuotaKnown: quota.remaining > 0, labels, filename, csv, code };
    })`,
  );
  const ask = (path: string, params: Record<string, string | number>) =>
    service.call(path, { token, params });
  const summary = await ask("/api/v1/summary", MONTHS);
  const entities = await ask("/api/v1/entities", { limit: 100 });
  const file = await ask("/api/v1/export/report.csv", MONTHS);
  assert.ok(entities.json().data.length > 3);
  assert.deepEqual(result, {
    data: summary.json().data,
    isQuotaKnown: true,
    labels: entities.json().data.map(({ label }) => label),
    filename: "returns-report_workspace_2025-03_2026-02.csv",
    csv: file.text,
    code: "invalid_request",
  });
});

test("In a page of another origin a call fails as one without an answer", async (context) => {
  if (chromium.isMissing(context)) return;
  const page = await openPage(service.address.replace("127.0.0.1", "localhost"));
  const isBlocked = (message: ConsoleMessage): boolean => /blocked by CORS policy/u.test(message.text());
  const told = page.waitForEvent("console", isBlocked);
  const asked: Promise<unknown> = page.evaluate(
    `import("${PACKAGE_PATH}lib/index.js").then(async ({ createClient, ReturnsNetworkError }) => {
      const settings = { token: ${JSON.stringify(token)}, maxRetries: 0 };
      const client = createClient({ baseUrl: "${service.address}", ...settings });
      const error = await client.alerts().catch((reason) => reason);
      return [location.origin === "${service.address}", error instanceof ReturnsNetworkError, error.reason];
    })`,
  );
  const [result] = await Promise.all([asked, told]);
  assert.deepEqual(result, [false, true, "connection"]);
});

/** An empty page of the origin, which finds the package's files there; everything else is the service's. */
async function openPage(origin: string): Promise<Page> {
  const page = await chromium.browser.newPage();
  await page.route(`${origin}/page`, (route) =>
    route.fulfill({ contentType: "text/html", body: "<!doctype html><title>Page</title>" }),
  );
  await page.route(`${origin}${PACKAGE_PATH}**`, (route) => {
    const file = new URL(route.request().url()).pathname.slice(PACKAGE_PATH.length);
    return route.fulfill({ contentType: "text/javascript", body: readFileSync(join(folder, file)) });
  });
  await page.goto(`${origin}/page`);
  return page;
}
