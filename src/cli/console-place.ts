import { consoleAddress } from "../control/console-address.ts";
import { impossible } from "../control/refusal.ts";
import { runningAddress } from "../control/service-claim.ts";
import type { Session } from "./session.ts";

/** Where the console is for whoever gets a link from a command. Throws a `Refusal` when it is off. */
export function placeOfConsole({ config, installation }: Session): ReturnType<typeof consoleAddress> {
  if (!config.hasConsole) throw impossible("The console is off: CONSOLE is set to off.");
  // The running service may have picked a free port.
  const address = installation.embedded === null ? null : runningAddress(installation.dataFolder);
  return consoleAddress(config.publicUrl, address === null ? config.port : new URL(address).port);
}
