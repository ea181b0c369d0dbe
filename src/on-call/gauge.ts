import { Gauge } from "prom-client";
import type { Registry } from "prom-client";

/** A gauge that shows nothing while its value is not known; prom-client shows 0 where it has no labels. */
export class ReadGauge extends Gauge {
  readonly #hasLabels: boolean;

  constructor(name: string, help: string, labelNames: readonly string[], registry: Registry) {
    super({ name, help, labelNames: [...labelNames], registers: [registry] });
    this.#hasLabels = labelNames.length > 0;
  }

  /** Shows nothing until it is set again. */
  clear(): void {
    this.reset();
    if (!this.#hasLabels) this.remove();
  }
}

export type MakeGauge = (name: string, help: string, labelNames?: readonly string[]) => ReadGauge;

/** Makes gauges of one registry. */
export function gaugesOf(registry: Registry): MakeGauge {
  return (name, help, labelNames = []) => new ReadGauge(name, help, labelNames, registry);
}
