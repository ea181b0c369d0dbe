import Type from "typebox";
import { defineEndpoint } from "./endpoint.ts";
import { groupType, meta, nullableText, pageEcho } from "./meta.ts";
import { cursorParameter, fieldsParameter, limitParameter, vendorParameter } from "./parameters.ts";
import { closed, oneOf, orNull, spare, text } from "./schema.ts";

export const entitySelector = oneOf(
  [
    closed({ sku: Type.String() }),
    closed({ product_gid: Type.String() }),
    closed({ product_group_type: groupType, product_group_key: Type.String() }),
  ],
  { component: "PublicEntitySelector" },
);

const entity = closed(
  {
    type: Type.Enum(["sku", "product", "product_group"], { description: "Kind of entity." }),
    label: Type.String(),
    subtitle: orNull(text("For a SKU its product's title, for a product its vendor, for a group its kind.")),
    product_gid: nullableText,
    sku: nullableText,
    product_title: nullableText,
    vendor: nullableText,
    product_group_type: orNull(groupType),
    product_group_key: nullableText,
    ...spare({ product_image_url: nullableText }),
    selector: entitySelector,
  },
  { component: "PublicEntity" },
);

export const entities = defineEndpoint({
  name: "entities",
  path: "/api/v1/entities",
  scope: "read:dashboard",
  entitlements: ["api_access"],
  tag: "Catalogue",
  summary: "SKUs, products and product groups, as selectors",
  description:
    "Without q: the whole catalogue in a fixed order, page by page. With q: the best matches, on one page.",
  parameters: Type.Object({
    q: Type.Optional(
      Type.String({
        maxLength: 200,
        description: "Search text over SKU, label, product title and vendor; case and accents do not matter.",
        "x-folded-length": 200,
        "x-allowed":
          "text of at most 200 characters without control characters, ligatures and the like counted by their letters",
      }),
    ),
    type: Type.Optional(
      Type.Enum(["all", "sku", "product", "product_group"], {
        default: "all",
        description: "Kind of entity to list.",
      }),
    ),
    ...limitParameter(100, 20),
    ...cursorParameter,
    ...vendorParameter,
    // The specification closes these rows: more members come only when they are requested.
    ...fieldsParameter("required"),
  }),
  response: closed({
    data: Type.Array(entity),
    meta: meta({
      query: text("The requested search text; empty when there was none."),
      type: Type.Enum(["all", "sku", "product", "product_group"], {
        description: "The requested type.",
      }),
      vendor: nullableText,
      ...pageEcho(100),
    }),
  }),
  example: "q=table lamp&limit=2",
  tool: {
    name: "list_entities",
    title: "List SKUs, products and groups",
    lines: [
      "Returns SKUs, products and product groups with the selector that names each of them in the other tools.",
      "Use it first, to turn a name into a selector; for the worst SKUs use get_return_rate_leaderboard instead.",
      "With q: the best matches on one page, groups and products named so before SKUs. Without q: all, by pages (meta.next_cursor as cursor).",
      "Default: all types, limit 20 (1 to 100); a row takes some 300 bytes. type product or product_group keeps SKUs out.",
      'Example: {"q": "lamp", "type": "product", "limit": 5}',
    ],
  },
});
