import { DEMO_STORE } from "../demo/demo-store-facts.ts";

/** The domain of the demo workspace. */
export const DEMO_DOMAIN: string = DEMO_STORE.domain;
