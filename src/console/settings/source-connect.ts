import { ApiError } from "../../contract/errors.ts";
import { connectByForm, hasApproval, linkByForm, mayNameAddress } from "../../control/connect-form.ts";
import type { ConnectForm } from "../../control/connect-form.ts";
import { listSources } from "../../control/connect.ts";
import type { Source } from "../../control/connect.ts";
import { readSource } from "../../actions/sources/page.ts";
import type { ShownSource } from "../../actions/sources/reads.ts";
import { html } from "../../lib/html.ts";
import type { Html } from "../../lib/html.ts";
import type { Action } from "../action.ts";
import { definePage } from "../page.ts";
import type { PageCall } from "../page.ts";
import { actionForm, refusal } from "../views/form.ts";
import {
  OPTION_PREFIX,
  optionFields,
  placeFields,
  SECRET_PREFIX,
  secretFields,
} from "../views/settings/connect-fields.ts";
import { SOURCES_PATH, sourcePath } from "./source-paths.ts";

type Data = {
  source: Source;
  shown: ShownSource;
  mayNameAddress: boolean;
  hasApproval: boolean;
};

/** The forms that connect a source, or connect it again. */
export const sourceConnect = definePage<Data>({
  name: "source-connect",
  path: `${SOURCES_PATH}/:source/connect`,
  right: "source.connect",
  link: null,
  takes: [],
  data: async (call) => {
    const { connecting } = await call.acting();
    const { shown } = await readSource(call);
    return {
      source: sourceOf(call),
      shown,
      mayNameAddress: mayNameAddress(connecting),
      hasApproval: hasApproval(connecting),
    };
  },
  view: (data, call) => ({ title: `Connect ${data.source.title}`, body: body(data, call) }),
});

export const connectActions: readonly Action[] = [
  {
    name: "source.connect",
    path: `${SOURCES_PATH}/:source/connect`,
    right: "source.connect",
    page: sourceConnect,
    perform: async (call) => {
      const source = sourceOf(call);
      const { account, notes } = await connectByForm(await call.acting(), source, formOf(source, call.form));
      const which = account === null ? "" : ` to ${account}`;
      const done = [`${source.title} is connected${which}, and is read from now on.`, ...notes].join(" ");
      return { href: call.href(sourcePath(source.source, "/progress")), done };
    },
  },
  {
    name: "source.link",
    path: `${SOURCES_PATH}/:source/link`,
    right: "source.link",
    page: sourceConnect,
    perform: async (call) => {
      const source = sourceOf(call);
      const link = await linkByForm(await call.acting(), source, formOf(source, call.form));
      return { view: { title: `Approve at ${source.title}`, body: approve(source, link), isSecret: true } };
    },
  },
];

function sourceOf({ path }: Pick<PageCall, "path">): Source {
  const source = listSources().find((each) => each.source === path["source"]);
  if (source === undefined) throw new ApiError("not_found", "There is no such source.");
  return source;
}

/** What was filled in; an option that was left empty has its usual value. */
function formOf({ key, otherSecrets, options }: Source, form: URLSearchParams): ConnectForm {
  const text = (name: string): string => form.get(name) ?? "";
  const secrets = [key.secret, ...otherSecrets.map(({ secret }) => secret)];
  return {
    shop: text("shop"),
    address: text("address"),
    secrets: Object.fromEntries(secrets.map((name) => [name, text(`${SECRET_PREFIX}${name}`)])),
    settings: Object.fromEntries(
      options.map(({ setting, isList }) => {
        const given = text(`${OPTION_PREFIX}${setting}`);
        const lines = given.split(/\r?\n/u).flatMap((line) => line.trim() || []);
        if (lines.length === 0) return [setting, null];
        return [setting, isList ? lines : given.trim()];
      }),
    ),
  };
}

function body(data: Data, call: PageCall): Html {
  const { source, shown } = data;
  const { title, kind } = source;
  return html`<p><a href="${call.href(SOURCES_PATH)}">All sources</a></p>
    <h1>${shown.state === "new" ? `Connect ${title}` : `Connect ${title} again`}</h1>
    <p class="lead">
      ${kind === "store" ? "Orders, returns, refunds and products are read. Nothing in the shop is changed; it is only asked to report changes, by webhooks." : "The costs of return labels are read. Nothing is changed there."}
    </p>
    ${source.address === null && byApproval(data, call)} ${withKey(data, call)}`;
}

/** A link instead of a redirect: the answer to a form of the console may not lead to another site. */
function byApproval(data: Data, call: PageCall): Html {
  const { source } = data;
  const action = "source.link";
  if (!data.hasApproval) {
    return html`<section><h2>By approval</h2>
      ${refusal(call, action)}
      <p>
        Not here: it takes an app of ${source.title} and an address of this service, which whoever runs this
        installation sets (<code>PUBLIC_URL</code>, <code>SHOPIFY_CLIENT_ID</code>,
        <code>SHOPIFY_CLIENT_SECRET</code>). <a href="/docs/connect">How to connect</a>.
      </p></section>`;
  }
  return html`<section><h2>By approval</h2>
    <p>You approve it in the admin of the shop, as somebody who may install apps there. No key is copied.</p>
    ${refusal(call, action)}
    ${actionForm(call, { path: sourcePath(source.source, "/link"), button: "Create link" }, [
      ...placeFields(call, action, data),
      ...presence(optionFields(call, action, data)),
    ])}</section>`;
}

function withKey(data: Data, call: PageCall): Html {
  const { source } = data;
  const action = "source.connect";
  const { title, address, key } = source;
  return html`<section><h2>${address === null ? `With a ${key.title}` : `With its ${key.title}`}</h2>
    ${address === null && html`<p>Of a custom app that has the scopes read_orders, read_returns, read_products and, for orders older than 60 days, read_all_orders.</p>`}
    ${refusal(call, action)}
    ${actionForm(call, { path: sourcePath(source.source, "/connect"), button: `Connect ${title}` }, [
      ...placeFields(call, action, data),
      ...secretFields(call, action, data),
      ...presence(optionFields(call, action, data)),
    ])}</section>`;
}

function presence(part: Html | null): Html[] {
  return part === null ? [] : [part];
}

/** Shown once: whoever has the link and may install apps in the shop can use it. */
function approve({ title }: Source, link: string): Html {
  return html`<h1>Approve at ${title}</h1>
    <p>Follow this link signed in to the shop, and approve what the app may read. It leads back here.</p>
    <p><a href="${link}">Approve at ${title}</a></p>
    <p>
      Somebody else runs the shop? Pass the link on. It connects this workspace once, within seven days, and
      works only for people who may install apps in the shop.
    </p>
    <div class="code">
      <pre tabindex="0"><code>${link}</code></pre>
      <button class="copy" type="button" hidden>Copy</button>
    </div>`;
}
