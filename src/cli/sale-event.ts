import { addSaleEvent, removeSaleEvent, saleEventList } from "../actions/sale-events/actions.ts";
import { commandOf, listCommand } from "./action-command.ts";
import type { CommandGroup } from "./command.ts";

export const SALE_EVENT: CommandGroup = {
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
