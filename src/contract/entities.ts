import Type from "typebox";
import { defineEndpoint } from "./endpoint.ts";
import { meta, nullableText, units } from "./meta.ts";
import { cursorParameter, limitParameter, vendorParameter } from "./parameters.ts";

const groupType = Type.Enum(["family", "analytics_category"]);

const selector = Type.Union([
  Type.Object({ sku: Type.String() }, { additionalProperties: false }),
  Type.Object({ product_gid: Type.String() }, { additionalProperties: false }),
  Type.Object(
    { product_group_type: groupType, product_group_key: Type.String() },
    { additionalProperties: false },
  ),
]);

export const entities = defineEndpoint({
  name: "entities",
  path: "/api/v1/entities",
  scope: "read:dashboard",
  entitlements: ["api_access"],
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
  }),
  response: Type.Object(
    {
      data: Type.Array(
        Type.Object(
          {
            type: Type.Enum(["sku", "product", "product_group"]),
            label: Type.String(),
            subtitle: nullableText,
            product_gid: nullableText,
            sku: nullableText,
            product_title: nullableText,
            vendor: nullableText,
            product_group_type: Type.Union([groupType, Type.Null()]),
            product_group_key: nullableText,
            selector,
          },
          { additionalProperties: false },
        ),
      ),
      meta: meta({
        query: Type.String(),
        type: Type.Enum(["all", "sku", "product", "product_group"]),
        vendor: nullableText,
        limit: Type.Integer({ minimum: 1, maximum: 100 }),
        returned: units,
        next_cursor: nullableText,
      }),
    },
    { additionalProperties: false },
  ),
  toolName: "list_entities",
});
