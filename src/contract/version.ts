/** The contract's version: in every answer's header and meta. */
export const API_VERSION = "2026-07-05";
