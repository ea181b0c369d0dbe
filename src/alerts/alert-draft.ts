import type { NewAlert } from "../store/queries/publish.ts";

/** An alert as a rule states it: everything but the identity it gets when it is stored. */
export type AlertDraft = Omit<NewAlert, "alertId">;
