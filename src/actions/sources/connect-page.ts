import { formFor, formOf, drawField } from "../../console/action-form.ts";
import { definePage, type PageCall } from "../../console/page.ts";
import { refusal } from "../../console/views/form.ts";
import { ApiError } from "../../contract/errors.ts";
import { html, type Html } from "../../lib/html.ts";
import type { Fields } from "../field.ts";
import {
  CONNECTION_INPUT,
  connectSource,
  listSources,
  mayNameAddress,
  optionFields,
  secretFields,
  shopField,
} from "./connect.ts";
import type { Source } from "./connect.ts";
import { hasApproval, linkSource } from "./install.ts";
import { SHOPIFY } from "../../sync/connectors/shopify/settings.ts";
import { readSource } from "./page.ts";
import { SOURCES_PATH, sourcePath } from "./paths.ts";
import type { ShownSource } from "./actions.ts";

type Data = {
  source: Source;
  shown: ShownSource;
  mayNameAddress: boolean;
  hasApproval: boolean;
};

/** The forms that connect a source, or connect it again. */
export const connectPage = definePage<Data>({
  name: "source-connect",
  path: `${SOURCES_PATH}/:source/connect`,
  right: connectSource,
  data: async (call) => {
    const { connecting } = await call.caller();
    const { shown } = await readSource(call);
    return {
      source: sourceOf(call),
      shown,
      mayNameAddress: mayNameAddress(connecting),
      hasApproval: hasApproval(connecting),
    };
  },
  view: (data, call) => ({ title: `Connect ${data.source.title}`, body: body(data, call) }),
  forms: [
    formOf(connectSource, {
      follow: ({ result, done }, { href }) => ({ href: href(sourcePath(result.source, "/progress")), done }),
    }),
    formOf(linkSource, {
      path: `${SOURCES_PATH}/:source/link`,
      follow: ({ secret }, call) => {
        const { title } = sourceOf(call);
        const link = secret?.reveal() ?? "";
        return { view: { title: `Approve at ${title}`, body: approve(title, link), isSecret: true } };
      },
    }),
  ],
});

function sourceOf({ path }: PageCall): Source {
  const source = listSources().find((each) => each.source === path["source"]);
  if (source === undefined) throw new ApiError("not_found", "There is no such source.");
  return source;
}

function body(data: Data, call: PageCall): Html {
  const { source, shown } = data;
  const { title, kind } = source;
  return html`<p><a href="${call.href(SOURCES_PATH)}">All sources</a></p>
    <h1>${shown.state === "new" ? `Connect ${title}` : `Connect ${title} again`}</h1>
    <p class="lead">
      ${kind === "store" ? "Orders, returns, refunds and products are read. Nothing in the shop is changed; the shop only reports its changes, by webhooks." : "The costs of return labels are read. Nothing is changed at the source."}
    </p>
    ${source.source === SHOPIFY && byApproval(data, call)} ${withKey(data, call)}`;
}

/** A link instead of a redirect: a form of the console must not redirect to another site. */
function byApproval(data: Data, call: PageCall): Html {
  const { source } = data;
  if (!data.hasApproval) {
    return html`<section><h2>By approval</h2>
      ${refusal(call, linkSource.name)}
      <p>
        Not available here: it needs an app of ${source.title} and a public address, which the operator of
        this service sets (<code>PUBLIC_URL</code>, <code>SHOPIFY_CLIENT_ID</code>,
        <code>SHOPIFY_CLIENT_SECRET</code>). <a href="/docs/connect">How to connect</a>.
      </p></section>`;
  }
  return html`<section><h2>By approval</h2>
    <p>Somebody who may install apps in the shop approves the connection in its admin. No key is copied.</p>
    ${form(data, call, linkSource, { secrets: {} })}</section>`;
}

function withKey(data: Data, call: PageCall): Html {
  const { source, shown } = data;
  const { title, address, key } = source;
  const secrets = secretFields(
    source,
    shown.state === "new" ? "Optional." : "Leave it empty to keep the current one.",
  );
  return html`<section><h2>${address === null ? `With a ${key.title}` : `With its ${key.title}`}</h2>
    ${key.help !== null && html`<p>${key.help}</p>`}
    ${form(data, call, connectSource, { button: `Connect ${title}`, secrets })}</section>`;
}

/** The fields of this source only, filled with stored values; its options have defaults. */
function form(
  { source, shown, mayNameAddress: mayName }: Data,
  call: PageCall,
  action: typeof connectSource | typeof linkSource,
  { button = action.title, secrets }: { button?: string; secrets: Fields },
): Html | null {
  const { address } = CONNECTION_INPUT;
  const options = optionFields(source);
  const names = Object.keys(options);
  const values = valuesOf(source, shown);
  const isFilledIn = call.refusedForm?.action === action.name;
  const folded = html`<details ${isFilledIn && html` open=""`}>
    <summary>How products are sorted</summary>
    ${Object.entries(options).map(([name, field]) => drawField(call, action.name, name, field, values[name]))}
  </details>`;
  const input = {
    ...(source.shops === null ? {} : { shop: shopField(source.shops) }),
    ...(mayName ? { address } : {}),
    ...secrets,
    ...options,
  };
  return formFor(
    call,
    { ...action, input },
    {
      button,
      values,
      drawn: Object.fromEntries(names.map((name, place) => [name, place === 0 ? folded : null])),
    },
  );
}

function valuesOf({ address, options }: Source, { account, settings }: ShownSource): Record<string, string> {
  const url = settings["url"];
  const usual = address ?? (account === null ? null : `https://${account}`);
  const chosen = options.map(({ setting, isList }) => {
    const value = settings[setting];
    const text = isList && Array.isArray(value) ? value.join("\n") : value;
    return [`option-${setting}`, typeof text === "string" ? text : ""];
  });
  return {
    shop: account ?? "",
    address: typeof url === "string" && url !== usual ? url : "",
    ...Object.fromEntries(chosen),
  };
}

/** Shown once: anyone with the link who may install apps in the shop can use it. */
function approve(title: string, link: string): Html {
  return html`<h1>Approve at ${title}</h1>
    <p>Open this link while you are signed in to the shop, and approve what the app may read. It leads back here.</p>
    <p><a href="${link}">Approve at ${title}</a></p>
    <p>
      If somebody else runs the shop, send them the link. It connects this workspace once, within seven days, and
      works only for people who may install apps in the shop.
    </p>
    <div class="code">
      <pre tabindex="0"><code>${link}</code></pre>
      <button class="copy" type="button" hidden>Copy</button>
    </div>`;
}
