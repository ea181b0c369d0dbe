import { FILES, PAGES } from "../../src/console/registry.ts";

export const MONTHS = "start_month=2025-01&end_month=2026-03";

/** Every page of a workspace; below, every file with the months that it needs. */
export const PAGE_PATHS = PAGES.map(({ path }) => path);
export const FILE_PATHS = FILES.map(({ path }) => `${path}?${MONTHS}`);
export const ALL_PATHS = [...PAGE_PATHS, ...FILE_PATHS];

const VIEWS = [
  "",
  `?${MONTHS}`,
  `?${MONTHS}&sku=JACKET-M`,
  `?${MONTHS}&product_gid=${encodeURIComponent("gid://shopify/Product/1")}`,
  `?${MONTHS}&product_group_type=family&product_group_key=Outerwear`,
  `?${MONTHS}&include_incomplete=true`,
];

/** Each page of the small store in several views, and each file. */
export const ALL_VIEWS = [...PAGE_PATHS.flatMap((path) => VIEWS.map((view) => path + view)), ...FILE_PATHS];
