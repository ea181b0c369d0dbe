import fc from "fast-check";

/** Preloaded if a run has a seed (scripts/test.ts): property tests use it, too. */
fc.configureGlobal({ seed: Number(process.env["RETURNS_TEST_SEED"]) });
