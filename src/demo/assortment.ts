import type { SeasonName } from "./seasonality.ts";

export type ProductKind = "apparel" | "shoes" | "home";

/** One family of the demo store: what is sold, how much of it, and how often it comes back. */
export interface FamilyPlan {
  family: string;
  analyticsCategory: string;
  kind: ProductKind;
  code: string;
  vendors: readonly string[];
  titles: readonly string[];
  colours: readonly string[];
  coloursPerProduct: number;
  /** From smallest to largest; a single empty size means that the product has none. */
  sizes: readonly string[];
  priceRangeMinor: readonly [low: number, high: number];
  season: SeasonName;
  /** Share of the store's sold lines in an average month. */
  share: number;
  /** Units returned per unit sold, over the lifetime. */
  returnRate: number;
}

const LETTER_SIZES = ["XS", "S", "M", "L", "XL"];
const SHOE_SIZES = ["UK 3", "UK 4", "UK 5", "UK 6", "UK 7", "UK 8", "UK 9"];
const NO_SIZES = [""];

const APPAREL: readonly FamilyPlan[] = [
  {
    family: "Dresses",
    analyticsCategory: "Apparel > Dresses",
    kind: "apparel",
    code: "DRS",
    vendors: ["Tarn & Thread", "Lantern Row"],
    titles: [
      "Meadow Midi Dress",
      "Harbour Wrap Dress",
      "Solstice Maxi Dress",
      "Linden Shirt Dress",
      "Vesper Slip Dress",
    ],
    colours: ["Sage", "Ink", "Rust", "Ivory"],
    coloursPerProduct: 2,
    sizes: [...LETTER_SIZES, "XXL"],
    priceRangeMinor: [5500, 12900],
    season: "summer",
    share: 0.15,
    returnRate: 0.31,
  },
  {
    family: "Jeans",
    analyticsCategory: "Apparel > Denim",
    kind: "apparel",
    code: "JNS",
    vendors: ["Saltmarsh Denim"],
    titles: ["Slim Straight Jeans", "Wide Leg Jeans", "High Rise Jeans", "Relaxed Taper Jeans"],
    colours: ["Indigo", "Washed Black", "Stone"],
    coloursPerProduct: 2,
    sizes: ["26", "28", "30", "32", "34", "36"],
    priceRangeMinor: [6500, 9800],
    season: "steady",
    share: 0.09,
    returnRate: 0.23,
  },
  {
    family: "Knitwear",
    analyticsCategory: "Apparel > Knitwear",
    kind: "apparel",
    code: "KNT",
    vendors: ["Northfold", "Tarn & Thread"],
    titles: [
      "Cable Crew Jumper",
      "Merino Roll Neck",
      "Fisherman Cardigan",
      "Lambswool Vest",
      "Boxy Cotton Knit",
    ],
    colours: ["Oatmeal", "Charcoal", "Moss", "Navy"],
    coloursPerProduct: 2,
    sizes: LETTER_SIZES,
    priceRangeMinor: [4900, 11900],
    season: "winter",
    share: 0.1,
    returnRate: 0.15,
  },
  {
    family: "Shirts",
    analyticsCategory: "Apparel > Tops",
    kind: "apparel",
    code: "SHT",
    vendors: ["Northfold", "Lantern Row"],
    titles: ["Oxford Shirt", "Linen Camp Shirt", "Poplin Blouse", "Brushed Check Shirt"],
    colours: ["White", "Sky", "Olive"],
    coloursPerProduct: 2,
    sizes: LETTER_SIZES,
    priceRangeMinor: [3900, 6900],
    season: "steady",
    share: 0.08,
    returnRate: 0.13,
  },
  {
    family: "T-Shirts",
    analyticsCategory: "Apparel > Tops",
    kind: "apparel",
    code: "TEE",
    vendors: ["Northfold"],
    titles: ["Heavyweight Tee", "Pocket Tee", "Breton Long Sleeve", "Organic Ribbed Tee"],
    colours: ["White", "Black", "Clay", "Navy"],
    coloursPerProduct: 2,
    sizes: LETTER_SIZES,
    priceRangeMinor: [1800, 3400],
    season: "summer",
    share: 0.11,
    returnRate: 0.09,
  },
  {
    family: "Outerwear",
    analyticsCategory: "Apparel > Outerwear",
    kind: "apparel",
    code: "OUT",
    vendors: ["Northfold", "Brindle Works"],
    titles: ["Waxed Field Jacket", "Quilted Liner Jacket", "Wool Overcoat", "Packable Rain Shell"],
    colours: ["Olive", "Navy", "Camel"],
    coloursPerProduct: 2,
    sizes: LETTER_SIZES,
    priceRangeMinor: [8900, 22900],
    season: "winter",
    share: 0.06,
    returnRate: 0.18,
  },
];

const SHOES: readonly FamilyPlan[] = [
  {
    family: "Sneakers",
    analyticsCategory: "Shoes > Sneakers",
    kind: "shoes",
    code: "SNK",
    vendors: ["Quayside Footwear"],
    titles: ["Court Low Sneaker", "Canvas Deck Sneaker", "Trail Runner"],
    colours: ["White", "Black", "Sand"],
    coloursPerProduct: 2,
    sizes: SHOE_SIZES,
    priceRangeMinor: [5900, 10900],
    season: "steady",
    share: 0.1,
    returnRate: 0.2,
  },
  {
    family: "Boots",
    analyticsCategory: "Shoes > Boots",
    kind: "shoes",
    code: "BTS",
    vendors: ["Quayside Footwear", "Brindle Works"],
    titles: ["Pull-On Chelsea Boot", "Lace-Up Work Boot", "Shearling Ankle Boot"],
    colours: ["Black", "Tan", "Chestnut"],
    coloursPerProduct: 2,
    sizes: SHOE_SIZES,
    priceRangeMinor: [8900, 16900],
    season: "winter",
    share: 0.07,
    returnRate: 0.22,
  },
  {
    family: "Sandals",
    analyticsCategory: "Shoes > Sandals",
    kind: "shoes",
    code: "SND",
    vendors: ["Quayside Footwear"],
    titles: ["Crossover Sandal", "Cork Footbed Sandal", "Woven Slide"],
    colours: ["Tan", "Black", "Natural"],
    coloursPerProduct: 2,
    sizes: SHOE_SIZES,
    priceRangeMinor: [3900, 7900],
    season: "summer",
    share: 0.04,
    returnRate: 0.2,
  },
];

const HOME: readonly FamilyPlan[] = [
  {
    family: "Bedding",
    analyticsCategory: "Home > Textiles",
    kind: "home",
    code: "BED",
    vendors: ["Oriel Home"],
    titles: ["Washed Linen Duvet Set", "Percale Sheet Set", "Flannel Duvet Set", "Down-Free Pillow Pair"],
    colours: ["White", "Dusk", "Clay"],
    coloursPerProduct: 2,
    sizes: ["Single", "Double", "King", "Super King"],
    priceRangeMinor: [4500, 18900],
    season: "steady",
    share: 0.06,
    returnRate: 0.075,
  },
  {
    family: "Cushions & Throws",
    analyticsCategory: "Home > Textiles",
    kind: "home",
    code: "CSH",
    vendors: ["Oriel Home", "Tarn & Thread"],
    titles: ["Herringbone Throw", "Velvet Cushion", "Block Print Cushion", "Boucle Throw"],
    colours: ["Ochre", "Forest", "Natural"],
    coloursPerProduct: 3,
    sizes: NO_SIZES,
    priceRangeMinor: [2200, 7900],
    season: "winter",
    share: 0.04,
    returnRate: 0.06,
  },
  {
    family: "Lighting",
    analyticsCategory: "Home > Lighting",
    kind: "home",
    code: "LGT",
    vendors: ["Brindle Works"],
    titles: ["Rise Floor Lamp", "Paper Pendant", "Clip Reading Light", "Dome Wall Light"],
    colours: ["Brass", "Black", "White"],
    coloursPerProduct: 2,
    sizes: NO_SIZES,
    priceRangeMinor: [3900, 15900],
    season: "winter",
    share: 0.03,
    returnRate: 0.065,
  },
  {
    family: "Kitchen",
    analyticsCategory: "Home > Kitchen",
    kind: "home",
    code: "KIT",
    vendors: ["Oriel Home", "Brindle Works"],
    titles: ["Stoneware Mug Set", "Cast Iron Pan", "Enamel Teapot", "Acacia Board", "Linen Apron"],
    colours: ["Cream", "Slate", "Green"],
    coloursPerProduct: 2,
    sizes: NO_SIZES,
    priceRangeMinor: [1900, 8900],
    season: "gifts",
    share: 0.05,
    returnRate: 0.06,
  },
];

export const FAMILY_PLANS: readonly FamilyPlan[] = [...APPAREL, ...SHOES, ...HOME];

/** The product whose batch goes bad: steady sales, few variants, and an unremarkable return rate until then. */
export const BATCH_PRODUCT_PLAN: FamilyPlan = {
  family: "Lighting",
  analyticsCategory: "Home > Lighting",
  kind: "home",
  code: "LMP",
  vendors: ["Brindle Works"],
  titles: ["Glow Table Lamp"],
  colours: ["Brass", "Black"],
  coloursPerProduct: 2,
  sizes: NO_SIZES,
  priceRangeMinor: [6400, 6400],
  season: "steady",
  share: 0.023,
  returnRate: 0.13,
};
