import fc from "fast-check";

/** Preloaded where a run has a seed (scripts/test.ts): property tests draw from it, too. */
fc.configureGlobal({ seed: Number(process.env["RETURNS_TEST_SEED"]) });
