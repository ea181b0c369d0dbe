import fc from "fast-check";

/** CI draws the same values each time, so that a change fails by what it changed; `npm test` draws new ones. */
fc.configureGlobal({ seed: 20_261_124 });
