/** Preloaded into a process (NODE_OPTIONS=--import=…): writes the address of each module of OpenTelemetry that it loads. */
import { appendFileSync } from "node:fs";
import { registerHooks } from "node:module";

registerHooks({
  load: (url, context, nextLoad) => {
    const file = process.env["LOADED_PACKAGES_FILE"];
    if (file !== undefined && url.includes("/@opentelemetry/")) appendFileSync(file, `${url}\n`);
    return nextLoad(url, context);
  },
});
