import type { Readable } from "node:stream";
import type { Right } from "../actions/right.ts";
import type { ParameterProblem } from "../contract/errors.ts";
import type { Static, TSchema } from "typebox";
import type { Endpoint } from "../contract/endpoint.ts";
import type { AnyEndpoint } from "../contract/registry.ts";
import type { Html } from "../lib/html.ts";
import type { ConsoleCaller } from "../actions/action.ts";
import type { Refusal } from "../actions/refusal.ts";
import type { IsWatched } from "../actions/watchlist/actions.ts";
import type { Setup } from "../actions/workspace/queries.ts";
import type { Role } from "../contract/role.ts";
import type { ApiAnswer } from "./figure.ts";

/** An endpoint that answers JSON, by its name. */
export type JsonEndpoint = Extract<AnyEndpoint, { response: TSchema }>;

/** The JSON that an endpoint answers. */
export type BodyOf<Name extends JsonEndpoint["name"]> = Static<
  Extract<JsonEndpoint, { name: Name }>["response"]
>;

/** The parameters of a request by name, as an address has them. */
export type PageParameters = Readonly<Record<string, string | number | boolean | undefined>>;

/** One request of the API that a page made; the API box and the tests read the list. */
export type MadeRequest = {
  /** Its name within the page, with which `data-from` begins. */
  name: string;
  endpoint: Endpoint;
  parameters: Readonly<Record<string, string>>;
};

/** A refused form: its page is shown again with the error and the entered values. */
export type RefusedForm = { action: string; values: URLSearchParams; refusal: Refusal };

/** The input of a page. */
export type PageCall = {
  shopDomain: string;
  /** The origin of this service as the browser sees it, such as https://returns.example. */
  origin: string;
  currencyCode: string;
  /** The workspace's usual return window. */
  primaryWindowDays: number;
  /** A rate of fewer sold units is not meaningful. */
  minSoldUnits: number;
  entitlements: readonly string[];
  /** Origins of product images besides this service. */
  imageSources: readonly string[];
  role: Role;
  /** The page's own query, which is the state of its view; `read` refuses names given twice as the API does. */
  query: Readonly<Record<string, string>>;
  /** Why the API refused the query; empty while it has not. */
  problems: readonly ParameterProblem[];
  /** The page that is shown, or whose form was sent. */
  page: Page;
  /** The values of the path's `:names`. */
  path: Readonly<Record<string, string>>;
  /** The form of this page that was refused; null = none was. */
  refusedForm: RefusedForm | null;
  /** The input of actions: the workspace, and the member as the actor. */
  caller: () => Promise<ConsoleCaller>;
  isWatched: IsWatched;
  /**
   * The remaining setup steps, one statement; null: none, or the list is hidden, or the member may do none of them; then no
   * statement runs.
   */
  setup: () => Promise<Setup | null>;
  /** Path of a page of this workspace, with a query: `href("/report", { sku: "A" })`. It may hold `:names` of `path`. */
  href: (path: string, parameters?: PageParameters) => string;
  /**
   * Calls the API's own operation, uncounted, and lists the request under `name`; each name is called once. Undefined or empty
   * PageParameters are omitted. Throws `ApiError`.
   */
  read<Name extends JsonEndpoint["name"]>(
    name: string,
    endpoint: Name,
    parameters: PageParameters,
  ): Promise<ApiAnswer<BodyOf<Name>>>;
};

/** The output of a view: the frame adds navigation, the as-of line, and the API box of the requests. */
export type View = {
  /** Page and object, such as "Report: Brass lamp". */
  title: string;
  body: Html;
  /** Shows a job that has not ended: without script the browser loads the page again every 5 s. */
  isRunning?: boolean;
  /** Where its forms may lead besides this service. */
  formTargets?: readonly string[];
};

/** A file under /w/<shop_domain>: the answer of an operation as it is. */
export type PageFile = {
  name: string;
  path: string;
  right: Right;
  endpoint: AnyEndpoint["name"];
};

/** An action's input, in addition to its page's. */
export type ActionCall = PageCall & {
  /** The fields of the form; empty when bytes were sent. */
  form: URLSearchParams;
  /** The body, where the action takes bytes. */
  bytes: Buffer;
};

/** The outcome of an action. */
export type FormOutcome =
  /** The page at `href` is shown next, with a sentence of what counts from now on. */
  | { href: string; done: string }
  /** Shown this once, such as a new token. */
  | { view: View }
  | { file: { name: string; type: string; body: Readable | string } }
  /** The browser leaves for an address that the view's `formTargets` allow. */
  | { leave: string }
  /** For a script of the console. */
  | { json: unknown };

/** One POST under /w/<shop_domain>; its page lists it, and one router performs it. */
export type PageForm = {
  /** For logs and metrics, and for the form that sends it. */
  name: string;
  /** Below /w/<shop_domain>, by default the page's path; it may hold segments such as `:id`. */
  path?: string;
  /** The action checks it again. */
  right: Right;
  /** A script sends it, and gets a refusal as JSON; else the page is shown again with the refusal. */
  isScript?: true;
  /** Type of the body; a form by default. */
  takes?: "bytes";
  /** Runs an action. Throws its `Refusal`. */
  perform: (call: ActionCall) => Promise<FormOutcome>;
};

/** A form, as the router finds it. */
export type FormAction = PageForm & { path: string; page: Page };

/** One page under /w/<shop_domain>; the registry lists them, and one router serves them. */
export type Page<Data = unknown> = {
  /** For logs and metrics. */
  name: string;
  /** Below /w/<shop_domain>; "" = the overview. A segment such as `:id` matches any text. */
  path: string;
  right: Right;
  /** Text of the link in the navigation; null = not listed there. */
  link: string | null;
  /** The names that its query may hold; with any that is neither here nor shared by all endpoints, the page is refused. */
  takes: readonly string[];
  data: (call: PageCall) => Promise<Data>;
  view: (data: Data, call: PageCall) => View;
  forms: readonly FormAction[];
  /** Purpose and state in a sentence: its line on the overview of settings. */
  about?: (call: PageCall) => Promise<string>;
  /** Shown instead of the view if the API refuses the query: its form, with `call.problems` at their fields. */
  refused?: (call: PageCall) => View | Promise<View>;
};

type PageParts<Data> = Omit<Page<Data>, "link" | "takes" | "forms"> &
  Partial<Pick<Page, "link" | "takes">> & { forms?: readonly PageForm[] };

/** Ties the types of a page's data and view, and hides them from the registry; most take no query, and many have no link. */
export function definePage<Data>({ forms = [], ...parts }: PageParts<Data>): Page {
  const page = { link: null, takes: [], ...parts } as unknown as Page;
  return Object.assign(page, { forms: forms.map((form) => ({ path: page.path, ...form, page })) });
}
