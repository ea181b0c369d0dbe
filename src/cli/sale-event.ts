import { OPERATOR } from "../control/actor.ts";
import { Option } from "commander";
import { addSaleEvent, removeSaleEvent, showSaleEvents } from "../control/sale-event.ts";
import type { CommandGroup, CommandSession } from "./command.ts";

type Event = Awaited<ReturnType<typeof showSaleEvents>>[number];

const COLUMNS = {
  slug: "slug",
  label: "label",
  "starts on": "starts_on",
  "ends on": "ends_on",
  skus: ({ skus }: Event) => skus ?? "all",
} as const;

export const SALE_EVENT: CommandGroup = {
  name: "sale-event",
  summary: "Sale events that reports compare with other days.",
  commands: [
    {
      name: "add",
      summary: "Add a sale event, or replace the one with that slug.",
      arguments: { "<slug>": "its name in requests" },
      forWorkspace: true,
      required: {
        "--label <text>": "its name for people",
        "--starts-on <day>": "first day, YYYY-MM-DD (UTC)",
        "--ends-on <day>": "last day, YYYY-MM-DD (UTC)",
      },
      otherOptions: [
        new Option("--sku <sku>", "a SKU in the sale, repeatable (default: all)")
          .argParser((sku: string, skus: string[]) => [...skus, sku])
          .default([]),
      ],
      examples: [
        "./returns sale-event add spring-2026 --workspace shop.example --label 'Spring sale' \\\n" +
          "    --starts-on 2026-04-03 --ends-on 2026-04-12 --sku LAMP-01 --sku LAMP-02",
      ],
      run: async ({ database, terminal, workspace }: CommandSession, slug: string, options: AddOptions) => {
        const request = { ...options, slug, skus: options.sku };
        const { event, isNew } = await addSaleEvent(database, OPERATOR, workspace, request);
        terminal.printTable([event], COLUMNS, event);
        terminal.hint(isNew ? "Added." : "Replaced.");
      },
    },
    {
      name: "remove",
      summary: "Remove a sale event.",
      arguments: { "<slug>": "its slug, from `sale-event list`" },
      forWorkspace: true,
      confirms: true,
      run: async ({ database, terminal, workspace, confirm }: CommandSession, slug: string) => {
        await confirm(`Remove the sale event ${slug}?`);
        const result = await removeSaleEvent(database, OPERATOR, workspace, slug);
        terminal.print(result, result.removed ? "Removed.\n" : `There is no sale event ${slug}.\n`);
      },
    },
    {
      name: "list",
      summary: "Show a workspace's sale events.",
      forWorkspace: true,
      run: async ({ database, terminal, workspace }) =>
        terminal.printTable(await showSaleEvents(database, workspace), COLUMNS),
    },
  ],
};

type AddOptions = { label: string; startsOn: string; endsOn: string; sku: string[] };
