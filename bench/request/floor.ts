import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BenchContext } from "../context.ts";
import type { LoadRequest } from "./load.ts";
import { startLikeService } from "./server-process.ts";
import type { MeasuredServer } from "./server-process.ts";

const FLOOR = join(import.meta.dirname, "floor-server.ts");

/** Starts the floor with the answers that the service gives to a question of each endpoint. */
export async function startFloor(
  context: BenchContext,
  service: MeasuredServer,
  questions: ReadonlyMap<string, LoadRequest>,
): Promise<MeasuredServer> {
  const texts: Record<string, string> = {};
  for (const [name, { path, headers }] of questions) {
    const response = await fetch(service.address + path, { headers });
    if (response.status !== 200) throw new Error(`${name} answered ${response.status}`);
    texts[name] = await response.text();
  }
  const file = join(context.folder, "floor.json");
  writeFileSync(file, JSON.stringify(texts));
  return startLikeService(FLOOR, file);
}
