import { createToken, revokeToken, rotateToken, tokenList } from "../actions/tokens/actions.ts";
import { commandOf, listCommand } from "./action-command.ts";
import type { CommandGroup } from "./command.ts";

export const TOKEN: CommandGroup = {
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
