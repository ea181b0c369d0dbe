import { fold } from "../lib/fold.ts";

/** Groups of reasons (M22). */
export const REASON_GROUPS = [
  "too_small",
  "too_large",
  "not_as_described",
  "damaged",
  "changed_mind",
  "late",
  "wrong_item",
  "other",
] as const;
export type ReasonGroup = (typeof REASON_GROUPS)[number];

/** By reason, in lower case of A to Z, the group that a person confirmed. */
export type ReasonMapping = Readonly<Record<string, ReasonGroup>>;

/** Shopify's standard reasons by their handles. */
const SHOPIFY: readonly (readonly [reason: string, group: ReasonGroup])[] = [
  ["size-too-small", "too_small"],
  ["size-too-large", "too_large"],
  ["not-as-described", "not_as_described"],
  ["defective", "damaged"],
  ["unwanted", "changed_mind"],
  ["color", "changed_mind"],
  ["style", "changed_mind"],
  ["wrong-item", "wrong_item"],
];

/** A group's own name, as stores write it. */
const NAMES = REASON_GROUPS.flatMap((group) =>
  ["_", "-", " "].map((between) => [group.replaceAll("_", between), group] as const),
);

/** Which group a reason belongs to, for every reason that has one; all others are `other`. The workspace's own come first. */
export function groupsByReason(mapping: ReasonMapping): ReadonlyMap<string, ReasonGroup> {
  return new Map<string, ReasonGroup>([...NAMES, ...SHOPIFY, ...Object.entries(mapping)]);
}

/** Phrases of English, German, French and Spanish, without case, accents and punctuation; the first group that one fits. */
const PHRASES: readonly (readonly [group: ReasonGroup, phrases: readonly string[]])[] = [
  [
    "too_small",
    "too small,too tight,too short,too narrow,runs small,zu klein,zu eng,zu kurz,fallt klein aus,trop petit,trop petite,trop serre,trop court,taille petit,demasiado pequeno,muy pequeno,demasiado ajustado,muy ajustado,demasiado corto,me queda pequeno",
  ],
  [
    "too_large",
    "too large,too big,too loose,too long,too wide,runs large,zu gross,zu weit,zu lang,fallt gross aus,trop grand,trop grande,trop large,trop long,taille grand,demasiado grande,muy grande,demasiado ancho,demasiado largo,me queda grande",
  ],
  [
    "wrong_item",
    "wrong item,wrong product,wrong size sent,received the wrong,falscher artikel,falsche ware,falsch geliefert,mauvais article,article errone,erreur de livraison,articulo equivocado,producto equivocado,articulo incorrecto",
  ],
  [
    "damaged",
    "damaged,defective,defect,broken,faulty,poor quality,beschadigt,defekt,kaputt,mangelhaft,endommage,defectueux,casse,abime,danado,defectuoso,roto,averiado",
  ],
  [
    "late",
    "arrived late,too late,late delivery,zu spat,spate lieferung,verspatet,trop tard,en retard,livraison tardive,llego tarde,demasiado tarde,entrega tardia",
  ],
  [
    "not_as_described",
    "not as described,not as pictured,differs from,nicht wie beschrieben,entspricht nicht,anders als beschrieben,pas conforme,non conforme,different de la description,no es como,no coincide,diferente a la descripcion",
  ],
  [
    "changed_mind",
    "changed mind,changed my mind,change of mind,no longer wanted,no longer needed,unwanted,did not like,gefallt nicht,nicht mehr gewunscht,meinung geandert,nicht benotigt,ne plait pas,ne me plait pas,change d avis,plus besoin,ya no lo quiero,cambio de opinion,no me gusta,ya no lo necesito",
  ],
].map(([group, phrases]) => [group, (phrases as string).split(",")] as [ReasonGroup, string[]]);

/** The group that is proposed for a reason, by a phrase in it; null = none. A person confirms it. */
export function proposedGroup(reason: string): ReasonGroup | null {
  const words = ` ${fold(reason.slice(0, 200))
    .replaceAll("ß", "ss")
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim()} `;
  return PHRASES.find(([, phrases]) => phrases.some((phrase) => words.includes(` ${phrase} `)))?.[0] ?? null;
}
