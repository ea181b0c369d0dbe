import { OPERATOR } from "../control/actor.ts";
import {
  addEndpoint,
  pauseNow,
  removeEndpoint,
  resumeNow,
  rotateEndpoint,
  showEndpoints,
  testEndpoint,
} from "../control/notify.ts";
import type { NotifyTools } from "../control/notify.ts";
import { pushOptions } from "../control/push-options.ts";
import type { CommandGroup, CommandSession } from "./command.ts";
import { readSecretFile } from "./secret-input.ts";

const ENDPOINT_ID = { "<endpoint-id>": "its id, from `notify list`" };

type AddOptions = {
  kind: string;
  name: string;
  address?: string;
  addressFile?: string;
  severities?: string;
  categories?: string;
  digestHour?: string;
};

export const NOTIFY: CommandGroup = {
  name: "notify",
  summary: "Where a workspace's alerts are sent: webhooks, chat, e-mail.",
  examples: [
    "./returns notify add --workspace shop.example --kind webhook --name tickets --address https://tickets.example/alerts",
    "./returns notify add --workspace shop.example --kind email --name team --address team@shop.example --digest-hour 7",
    "./returns notify list --workspace shop.example",
  ],
  commands: [
    {
      name: "list",
      summary: "Show the endpoints, without their secrets.",
      forWorkspace: true,
      run: async (session) =>
        session.terminal.printTable(await showEndpoints(toolsOf(session)), {
          "endpoint id": "endpoint_id",
          kind: "kind",
          name: "name",
          address: "shown_address",
          "paused by": "pause_reason",
          "last delivery": "last_delivered_at",
          "next try": "due_at",
          "last problem": "last_problem",
        }),
    },
    {
      name: "add",
      summary: "Add an endpoint for alerts; a webhook's signing secret is printed, once, on standard output.",
      forWorkspace: true,
      needsKeys: true,
      required: { "--kind <kind>": "webhook, slack or email", "--name <name>": "what receives it" },
      options: {
        "--address <address>": "https://… or an e-mail address",
        "--address-file <file>": "a file that holds the address, if it is a secret",
        "--severities <list>": "critical, warning, info (default: all)",
        "--categories <list>":
          "return_rate_watchlist, connection_stale, report_ready, backfill_completed (default: all)",
        "--digest-hour <hour>": "0 to 23 in UTC: once a day (default: at once)",
      },
      run: async (session: CommandSession, options: AddOptions) => {
        const { address = "", addressFile } = options;
        const given =
          addressFile === undefined ? address : await readSecretFile("--address-file", addressFile);
        const added = await addEndpoint(toolsOf(session), { ...options, address: given });
        const { endpoint_id: id, secret } = added;
        session.terminal.print(added, secret === null ? `${id}\n` : `${secret}\n`);
        session.terminal.hint(`Its id is ${id}.${secret === null ? "" : " The secret is not shown again."}`);
      },
    },
    {
      name: "test",
      summary: "Send a test message now.",
      arguments: ENDPOINT_ID,
      forWorkspace: true,
      needsKeys: true,
      run: async (session: CommandSession, endpointId: string) => {
        const tested = await testEndpoint(toolsOf(session), endpointId);
        session.terminal.print(tested, `${tested.answer}\n`);
      },
    },
    {
      name: "rotate",
      summary: "Replace the signing secret of a webhook; the new one is printed, once, on standard output.",
      arguments: ENDPOINT_ID,
      forWorkspace: true,
      needsKeys: true,
      options: {
        "--overlap <time>": "how long messages are also signed with the old one: 1h, 7d (default: 24h)",
      },
      run: async (session: CommandSession, endpointId: string, { overlap = "24h" }: { overlap?: string }) => {
        const rotated = await rotateEndpoint(toolsOf(session), { endpointId, overlap });
        session.terminal.print(rotated, `${rotated.secret}\n`);
        session.terminal.hint(
          `Messages are also signed with the old one until ${rotated.previous_until.toISOString()}.`,
        );
      },
    },
    {
      name: "pause",
      summary: "Pause an endpoint until it is resumed.",
      arguments: ENDPOINT_ID,
      forWorkspace: true,
      run: async (session: CommandSession, endpointId: string) => {
        const { changed, ...endpoint } = await pauseNow(toolsOf(session), endpointId);
        const state = changed ? "paused" : "paused already";
        session.terminal.print({ ...endpoint, changed }, `${endpoint.name} is ${state}.\n`);
      },
    },
    {
      name: "resume",
      summary: "Resume an endpoint: it receives the alerts it missed, in order, and then new ones.",
      arguments: ENDPOINT_ID,
      forWorkspace: true,
      run: async (session: CommandSession, endpointId: string) => {
        const resumed = await resumeNow(toolsOf(session), endpointId);
        session.terminal.print(resumed, `${resumed.name} receives the alerts it missed, and new ones.\n`);
      },
    },
    {
      name: "remove",
      summary: "Remove an endpoint.",
      arguments: ENDPOINT_ID,
      forWorkspace: true,
      confirms: true,
      run: async (session: CommandSession, endpointId: string) => {
        await session.confirm(`Alerts are no longer sent to ${endpointId}. Remove it?`);
        const removed = await removeEndpoint(toolsOf(session), endpointId);
        session.terminal.print(removed, `${removed.name} is removed.\n`);
      },
    },
  ],
};

function toolsOf({ config, database, keys, workspace }: CommandSession): NotifyTools {
  return { database, keys, push: pushOptions(config), actor: OPERATOR, workspace, now: new Date() };
}
