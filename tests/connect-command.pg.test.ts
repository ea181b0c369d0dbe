import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { startLoopSimulator } from "../tools/simulators/loop/server.ts";
import { startShipStationSimulator } from "../tools/simulators/shipstation/server.ts";
import { startShopifySimulator } from "../tools/simulators/shopify/start.ts";
import { requireWorkspace } from "../src/actions/workspace/workspace.ts";
import { putLabelSource } from "../src/store/queries/publish.ts";
import { runCommand, type CommandOutcome } from "./support/command.ts";
import { openControlDatabase } from "./support/control.ts";
import { serviceEnvironment } from "./support/service.ts";
import { APP, APP_OPTIONS } from "./support/webhooks.ts";
import { before, use } from "./support/use.ts";
import { makeWorkspace } from "./support/workspace.ts";
import { makeFolder } from "./support/folder.ts";

const folder = makeFolder();
const control = use(openControlDatabase);
const simulator = use(() => startShopifySimulator({ ...APP, orders: 10, products: 3 }));
before(async () => {
  for (const domain of ["lamps.example", "other.example", "labels.example"])
    await makeWorkspace(control.database, domain);
});

/** The secret in a file, as an option. */
function tokenFile(text: string): string[] {
  const file = join(folder, "token");
  writeFileSync(file, `${text}\n`);
  return ["--token-file", file];
}

function run(
  words: readonly string[],
  options: Record<string, string> = {},
  input?: string,
): Promise<CommandOutcome> {
  return runCommand(words, { ...serviceEnvironment(control.url), ...options }, input);
}

const shopify = (workspace: string, ...words: string[]): string[] => [
  "connect",
  "shopify",
  "--workspace",
  workspace,
  "--url",
  simulator.url,
  ...words,
];

/** Everything stored of connections; credentials by their length. */
async function connections() {
  return control.database.rows<{ shop: string; source: string; settings: Record<string, unknown> }>(
    {
      name: "test_connections",
      text: `select w.shop_domain as shop, s.source, s.settings from data_source s join workspace w using (shop_key)
              where s.is_connection and s.sealed_credentials is not null order by 1, 2`,
    },
    [],
  );
}

const refuses = async (
  words: readonly string[],
  sentence: RegExp,
  { code = 1, input }: { code?: number; input?: string } = {},
): Promise<void> => {
  const stored = await connections();
  const outcome = await run(words, {}, input);
  assert.equal(outcome.code, code, outcome.stderr);
  assert.equal(outcome.stdout, "");
  const sentences = outcome.stderr.trim().split("\n");
  assert.equal(sentences.length, 1, outcome.stderr);
  assert.match(sentences[0] ?? "", sentence);
  assert.deepEqual(await connections(), stored);
};

test("an invalid connection is refused in one sentence, and not stored", async () => {
  const token = tokenFile(simulator.token);
  await refuses(shopify("lamps.example", "--token-stdin"), /^Shopify (rejected|no longer accepts)/u, {
    input: "shpat_wrong",
  });
  await refuses(
    shopify("nowhere.example", ...token),
    /^There is no workspace for the domain nowhere\.example/u,
  );
});

test("invalid arguments exit with 2, and a token is never taken from the command line", async () => {
  const wrong = { code: 2 };
  await refuses(shopify("lamps.example"), /^Give one of --token-stdin and --token-file\.$/u, wrong);
  await refuses(shopify("lamps.example", "--token", "shpat_x"), /unknown option '--token'/iu, wrong);
  await refuses(shopify("lamps.example", "--token-stdin"), /^There is no token on standard input\.$/u, wrong);
  const file = tokenFile(simulator.token);
  await refuses(
    shopify("lamps.example", ...file, "--shop", "shop.example"),
    /^The shop must be its domain/u,
    wrong,
  );
  await refuses(shopify("lamps.example", ...file, "--family-metafield", "x"), /familyMetafield/u, wrong);
  await refuses(["connect", "shopify", "--workspace", "lamps.example", ...file], /^Name the shop/u, wrong);
});

test("a shop is connected with the token of its custom app, read from the standard input", async () => {
  const words = shopify("lamps.example", "--token-stdin", "--family-tag-prefix", "family:", "--json");
  const outcome = await run(words, { PUBLIC_URL: "https://returns.example" }, `${simulator.token}\n`);
  assert.equal(outcome.code, 0, outcome.stderr);
  assert.deepEqual(JSON.parse(outcome.stdout), {
    source: "shopify",
    workspace: "lamps.example",
    account: "simulated-shop.myshopify.com",
    url: simulator.url,
    requested_run: "backfill",
    notes: [],
  });
  const [connection] = await connections();
  assert.equal(connection?.settings["familyTagPrefix"], "family:");
  const audit = await control.audit();
  assert.ok(audit.some(({ action, actor }) => action === "source.connect" && actor === "operator"));
  assert.ok(!(outcome.stdout + outcome.stderr + JSON.stringify(audit)).includes(simulator.token));
  const { operations } = await simulator.control("statistics", {});
  assert.equal(operations["WebhookCreate"], 17);
});

test("connecting again keeps the options and registers no webhook twice", async () => {
  const words = shopify("lamps.example", ...tokenFile(simulator.token), "--condition-option", "State");
  const outcome = await run(words, { PUBLIC_URL: "https://returns.example" });
  assert.equal(outcome.code, 0, outcome.stderr);
  assert.match(outcome.stderr, /\.\/returns runs shows the progress/u);
  const [connection] = await connections();
  assert.equal(connection?.settings["familyTagPrefix"], "family:");
  assert.equal(connection?.settings["conditionOption"], "State");
  const { operations } = await simulator.control("statistics", {});
  assert.equal(operations["WebhookCreate"], 17);
});

test("a shop of one workspace is not connected to another, nor a workspace to another shop", async () => {
  const token = tokenFile(simulator.token);
  await refuses(
    shopify("other.example", ...token),
    /^The shop simulated-shop\.myshopify\.com is already connected to the workspace lamps\.example\.$/u,
  );
  const second = await startShopifySimulator({ domain: "second.myshopify.com", orders: 5, products: 2 });
  try {
    const words = ["connect", "shopify", "--workspace", "lamps.example", "--url", second.url];
    await refuses(
      [...words, ...tokenFile(second.token)],
      /^The workspace lamps\.example has the data of the shop simulated-shop\.myshopify\.com/u,
    );
  } finally {
    await second.stop();
  }
});

test("missing scopes are named; without read_all_orders the operator is told which orders are missing", async () => {
  await simulator.control("set-scopes", { scopes: ["read_orders", "read_products"] });
  await refuses(
    shopify("lamps.example", ...tokenFile(simulator.token)),
    /give the app the scopes read_returns\.$/u,
  );
  await simulator.control("set-scopes", { scopes: ["read_orders", "read_products", "read_returns"] });
  const outcome = await run(shopify("lamps.example", ...tokenFile(simulator.token)));
  assert.equal(outcome.code, 0);
  assert.match(
    outcome.stderr,
    /Without the scope read_all_orders Shopify shows the orders of the last 60 days only\./u,
  );
  assert.match(outcome.stderr, /PUBLIC_URL is not set/u);
});

test("--oauth prints the address that the merchant opens", async () => {
  const shop = ["--shop", "new.myshopify.com"];
  await refuses(shopify("other.example", ...shop, "--oauth"), /^Set PUBLIC_URL, SHOPIFY_CLIENT_ID and/u);
  const environment = { ...APP_OPTIONS, PUBLIC_URL: "https://returns.example" };
  const outcome = await run(shopify("other.example", ...shop, "--oauth"), environment);
  assert.equal(outcome.code, 0, outcome.stderr);
  assert.match(outcome.stdout, /^https:\/\/returns\.example\/connect\/shopify\?link=[\w-]+\n$/u);
  assert.match(outcome.stderr, /within seven days/u);
});

test("label sources are connected with their key after they have accepted it", async () => {
  const sources = {
    shipstation: await startShipStationSimulator({ count: 5 }),
    loop: await startLoopSimulator({ count: 5 }),
  };
  try {
    for (const [source, { url, apiKey }] of Object.entries(sources)) {
      const words = ["connect", source, "--workspace", "labels.example", "--url", url];
      await refuses(
        [...words, ...tokenFile("wrong-key")],
        /^\w+ does not accept this API key \(status 401\): check it under .+ → .+\.$/u,
      );
      const outcome = await run([...words, ...tokenFile(apiKey), "--json"]);
      assert.equal(outcome.code, 0, outcome.stderr);
      assert.equal((JSON.parse(outcome.stdout) as { source: string }).source, source);
    }
  } finally {
    await Promise.all(Object.values(sources).map((source) => source.stop()));
  }
  const labels = (await connections()).filter(({ shop }) => shop === "labels.example");
  assert.deepEqual(
    labels.map(({ source }) => source),
    ["loop", "shipstation"],
  );
});

test("connections shows every source, and disconnect deletes the credentials of one and says what stays", async () => {
  const list = async (): Promise<Record<string, unknown>[]> =>
    JSON.parse((await run(["connections", "--json"])).stdout) as Record<string, unknown>[];
  assert.deepEqual(
    (await list()).map(({ workspace, source, status }) => [workspace, source, status]),
    [
      ["labels.example", "loop", "waiting"],
      ["labels.example", "shipstation", "waiting"],
      ["lamps.example", "shopify", "waiting"],
    ],
  );
  const table = (await run(["connections", "--workspace", "lamps.example"])).stdout;
  const none = (await run(["connections", "--workspace", "other.example"])).stdout;
  assert.equal(none, "No source is connected to other.example: ./returns connect --help shows how.\n");
  assert.match(table, /^workspace +source +account +currency/u);
  assert.match(table, /simulated-shop\.myshopify\.com/u);

  const words = ["disconnect", "shopify", "--workspace", "lamps.example", "--yes"];
  const outcome = await run(words);
  assert.equal(
    outcome.stdout,
    "shopify is disconnected: its credentials are deleted; it had delivered no data.\n",
  );
  assert.equal((await run(words)).stdout, "shopify is not connected; it had delivered no data.\n");
  const row = (await list()).at(-1);
  assert.deepEqual([row?.["source"], row?.["status"]], ["shopify", "disconnected"]);
  assert.ok(!(await connections()).some(({ source }) => source === "shopify"));
  const { shop_key: shopKey } = await requireWorkspace(control.database, "lamps.example");
  const audit = (await control.audit()).filter((event) => event.shop_key === shopKey);
  assert.equal(audit.at(-1)?.action, "source.disconnect");
  await refuses(
    ["disconnect", "loop", "--workspace", "lamps.example", "--yes"],
    /^The workspace lamps\.example is not connected to "loop"/u,
  );
});

test("connections shows the currency of each source: a store's is the workspace's, a label source's is known once it was read", async () => {
  const currencies = async (): Promise<unknown[]> => {
    const { stdout } = await run(["connections", "--json"]);
    const rows = JSON.parse(stdout) as Record<string, unknown>[];
    return rows.map((row) => [row["workspace"], row["source"], row["currency_code"]]);
  };
  const loop = ["labels.example", "loop", null];
  const lamps = ["lamps.example", "shopify", "EUR"];
  assert.deepEqual(await currencies(), [loop, ["labels.example", "shipstation", null], lamps]);
  const { shop_key: shopKey } = await requireWorkspace(control.database, "labels.example");
  await control.database.transaction((connection) =>
    putLabelSource(connection, shopKey, "shipstation", new Date("2026-06-01T00:00:00Z"), "USD"),
  );
  assert.deepEqual(await currencies(), [loop, ["labels.example", "shipstation", "USD"], lamps]);
  const table = (await run(["connections", "--workspace", "labels.example"])).stdout;
  assert.match(table, /^labels\.example +shipstation +\S+ +USD +ok/mu);
});
