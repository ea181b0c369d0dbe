import { commandOf, listCommand } from "./action-command.ts";
import { keptAuditText } from "../lib/retention.ts";
import type { CommandGroup, CommandSpec } from "./command.ts";

/** The commands of nouns that consist of their actions and lists only. Actions are loaded when they run. */

export async function planCommands(): Promise<CommandGroup> {
  const { planList, setPlan } = await import("../actions/plan/actions.ts");
  return {
    name: "plan",
    summary: "Plans: what a workspace may use, and how many requests a day.",
    commands: [
      listCommand(planList),
      commandOf(setPlan, {
        words: ["plan"],
        settings: ["daily_quota", "entitlements"],
        examples: [
          "./returns plan set growth daily_quota=5000",
          "./returns plan set partner daily_quota=unlimited entitlements=api_access,data_export",
        ],
      }),
    ],
  };
}

export async function tokenCommands(): Promise<CommandGroup> {
  const { createToken, revokeToken, rotateToken, tokenList } = await import("../actions/tokens/actions.ts");
  return {
    name: "token",
    summary: "Access tokens of a workspace.",
    commands: [
      commandOf(createToken, {
        examples: [
          "./returns token create --workspace shop.example --name analyst --scopes read:dashboard,read:reports",
          "TOKEN=$(./returns token create --workspace shop.example --name ci --scopes read:alerts --expires 90d)",
        ],
      }),
      listCommand(tokenList),
      commandOf(revokeToken, {
        words: ["token_id"],
        examples: ["./returns token revoke 0000000000142MPX --workspace shop.example"],
      }),
      commandOf(rotateToken, {
        words: ["token_id"],
        examples: ["./returns token rotate 0000000000142MPX --workspace shop.example --overlap 24h"],
      }),
    ],
  };
}

export async function auditCommand(): Promise<CommandSpec> {
  const { auditListOfAll } = await import("../actions/audit/audit.ts");
  return listCommand(auditListOfAll, {
    name: "audit",
    examples: [
      "./returns audit --workspace shop.example",
      "./returns audit --since 2026-11-01 --limit 1000 --json",
    ],
    none: () => "No actions are recorded.",
    also: ({ config, terminal }, _actions, isEnd) => {
      const kept = keptAuditText(config);
      if (isEnd && kept !== null) terminal.hint(kept);
    },
  });
}

export async function watchCommands(): Promise<CommandGroup> {
  const { addWatched, removeWatched, watchedList } = await import("../actions/watchlist/actions.ts");
  const words = ["type", "key"] as const;
  return {
    name: "watch",
    summary: "The watchlist: entities whose return rate is watched for spikes.",
    examples: [
      "./returns watch add sku LAMP-01 --workspace shop.example",
      "./returns watch add family Lighting --workspace shop.example",
    ],
    commands: [
      commandOf(addWatched, { words }),
      commandOf(removeWatched, { words }),
      listCommand(watchedList),
    ],
  };
}

export async function notifyCommands(): Promise<CommandGroup> {
  const {
    addEndpoint,
    endpointList,
    pauseEndpoint,
    removeEndpoint,
    restoreEndpoint,
    resumeEndpoint,
    rotateEndpoint,
    testEndpoint,
  } = await import("../actions/alert-endpoints/actions.ts");
  const ofOne = { words: ["endpoint"] };
  return {
    name: "notify",
    summary: "Where a workspace's alerts are sent: webhooks, chat, e-mail.",
    examples: [
      "./returns notify add --workspace shop.example --kind webhook --name tickets --address https://tickets.example/alerts",
      "./returns notify add --workspace shop.example --kind email --name team --address team@shop.example --digest-hour 7",
      "./returns notify list --workspace shop.example",
    ],
    commands: [
      listCommand(endpointList),
      commandOf(addEndpoint, { files: { address: "a file that holds the address, if it is a secret" } }),
      commandOf(testEndpoint, ofOne),
      commandOf(rotateEndpoint, ofOne),
      commandOf(pauseEndpoint, ofOne),
      commandOf(resumeEndpoint, ofOne),
      commandOf(removeEndpoint, ofOne),
      commandOf(restoreEndpoint, ofOne),
    ],
  };
}

export async function saleEventCommands(): Promise<CommandGroup> {
  const { addSaleEvent, removeSaleEvent, saleEventList } = await import("../actions/sale-events/actions.ts");
  return {
    name: "sale-event",
    summary: "Sale events that reports compare with other days.",
    commands: [
      commandOf(addSaleEvent, {
        words: ["slug"],
        examples: [
          "./returns sale-event add spring-2026 --workspace shop.example --label 'Spring sale' \\\n" +
            "    --starts-on 2026-04-03 --ends-on 2026-04-12 --sku LAMP-01 --sku LAMP-02",
        ],
      }),
      commandOf(removeSaleEvent, { words: ["slug"] }),
      listCommand(saleEventList),
    ],
  };
}
