import {
  addEndpoint,
  endpointList,
  pauseEndpoint,
  removeEndpoint,
  resumeEndpoint,
  rotateEndpoint,
  testEndpoint,
} from "../actions/alert-endpoints/actions.ts";
import { commandOf, listCommand } from "./action-command.ts";
import type { CommandGroup } from "./command.ts";

const OF_ONE = { words: ["endpoint"] };

export const NOTIFY: CommandGroup = {
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
    commandOf(testEndpoint, OF_ONE),
    commandOf(rotateEndpoint, OF_ONE),
    commandOf(pauseEndpoint, OF_ONE),
    commandOf(resumeEndpoint, OF_ONE),
    commandOf(removeEndpoint, OF_ONE),
  ],
};
