import { spawn } from "node:child_process";
import { chownSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../tests/support/free-port.ts";
import type { Engine, Ran } from "./engine.ts";
import { attempt, demand } from "./engine.ts";

/** A container of the image: the image's user, a read-only root, no capabilities, and a volume for /data. */
export type Container = {
  /** Addresses of the API and of the operations port, as this machine reaches them. */
  api: string;
  operations: string;
  /** Runs a command beside the service, as its user. */
  exec: (command: readonly string[]) => Ran;
  /** Stops it as `docker stop` does; the exit code of the service. */
  stop(): Promise<number | null>;
  kill(): Promise<void>;
  log(): string;
};

export type ImageConfig = {
  user: string;
  folder: string;
  environment: string[];
  start: string[];
  health: string[];
  volumes: string[];
};

export type Runner = {
  config: ImageConfig;
  bytes: number;
  /** A volume is created at its first use. */
  start(volume: string, environment: Record<string, string>): Promise<Container>;
  /** Runs a shell script as root in the image, without starting the service. */
  look: (script: string) => string;
  /** Removes the volumes. */
  clean(): void;
};

/** Docker and podman run containers; images built by buildah run in namespaces made by util-linux. */
export function createRunner(engine: Engine, tag: string, folder: string): Runner {
  return engine.name === "buildah" ? namespaceRunner(engine, tag, folder) : commandRunner(engine.name, tag);
}

function commandRunner(command: "docker" | "podman", tag: string): Runner {
  const [inspected] = JSON.parse(demand(command, ["image", "inspect", tag])) as [
    { Size: number; Config: DockerConfig },
  ];
  const volumes = new Set<string>();
  const hardened = ["--read-only", "--tmpfs", "/tmp", "--cap-drop=ALL", "--security-opt=no-new-privileges"];
  return {
    config: readImageConfig(inspected.Config),
    bytes: inspected.Size,
    look: (script) => demand(command, ["run", "--rm", "--user=0", "--entrypoint=/bin/sh", tag, "-c", script]),
    clean: () => void attempt(command, ["volume", "rm", "-f", ...volumes]),
    start: async (name, environment) => {
      const volume = `returns-image-test-${process.pid}-${name}`;
      volumes.add(volume);
      const [api, operations] = [await freePort(), await freePort()];
      // The host's network, so that a database on this machine can also be reached.
      const own = { PORT: String(api), OPERATIONS_PORT: String(operations), ...environment };
      const variables = Object.entries(own).flatMap(([key, value]) => ["-e", `${key}=${value}`]);
      const options = [...hardened, "--network=host", "-v", `${volume}:/data`, ...variables];
      const id = demand(command, ["run", "-d", ...options, tag]);
      let isGone = false;
      const remove = (): void => {
        attempt(command, ["rm", "-f", id]);
        isGone = true;
      };
      return {
        api: `http://127.0.0.1:${api}`,
        operations: `http://127.0.0.1:${operations}`,
        exec: (given) => attempt(command, ["exec", id, ...given]),
        log: () => (isGone ? "" : attempt(command, ["logs", id]).output),
        stop: async () => {
          demand(command, ["stop", "-t", "60", id], 90);
          const code = Number(demand(command, ["inspect", "-f", "{{.State.ExitCode}}", id]));
          remove();
          return code;
        },
        kill: async () => {
          demand(command, ["kill", id]);
          remove();
        },
      };
    },
  };
}

function namespaceRunner(engine: Engine, tag: string, folder: string): Runner {
  const inspected = JSON.parse(demand("buildah", engine.command("inspect", "--type", "image", tag))) as {
    Docker: { config: DockerConfig };
  };
  const config = readImageConfig(inspected.Docker.config);
  const container = demand("buildah", engine.command("from", "--pull-never", tag));
  const root = demand("buildah", engine.command("mount", container));
  return {
    config,
    bytes: Number(demand("du", ["-sb", "--apparent-size", root], 120).split(/\s/u)[0]),
    look: (script) => demand("chroot", [root, "/bin/sh", "-c", script], 120),
    clean: () => {},
    start: async (name, environment) => {
      const dataFolder = join(folder, name);
      const [uid, gid] = config.user.split(":").map(Number);
      // As in a volume that an engine creates, the image's user owns it.
      if (mkdirSync(dataFolder, { recursive: true, mode: 0o700 }) !== undefined)
        chownSync(dataFolder, uid ?? 0, gid ?? 0);
      const [api, operations] = [await freePort(), await freePort()];
      const own = { PORT: String(api), OPERATIONS_PORT: String(operations), ...environment };
      const started = spawnIn(root, config, dataFolder, own);
      return {
        ...started,
        api: `http://127.0.0.1:${api}`,
        operations: `http://127.0.0.1:${operations}`,
      };
    },
  };
}

/** In the shell, $1 is the image's root, $2 the data folder; the rest is the command. */
const ENTER = `
mount --make-rprivate /
mount --bind "$1" "$1"
mount -o remount,bind,ro "$1"
mount --bind "$2" "$1/data"
mount -t tmpfs tmpfs "$1/tmp"
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
root=$1; shift 2
exec chroot "$root" "$@"
`;

function spawnIn(
  root: string,
  config: ImageConfig,
  dataFolder: string,
  environment: Record<string, string>,
): Omit<Container, "api" | "operations"> {
  const [uid = "0", gid = uid] = config.user.split(":");
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  const identity = [`--reuid=${uid}`, `--regid=${gid}`, "--clear-groups", "--no-new-privs"];
  const rights = ["--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all"];
  const setting = ["-i", `--chdir=${config.folder}`, ...config.environment, ...variables];
  const asUser = ["/usr/bin/setpriv", ...identity, ...rights, "/usr/bin/env", ...setting];
  const namespaces = ["--mount", "--pid", "--ipc", "--fork", "--kill-child=SIGKILL"];
  const command = [...asUser, ...config.start];
  const child = spawn("unshare", [...namespaces, "sh", "-euc", ENTER, "sh", root, dataFolder, ...command], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (piece) => (text += String(piece)));
  const ended = new Promise<number | null>((done) => child.on("close", done));
  /** The process with id 1 inside. */
  const first = (): number =>
    Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").trim().split(" ")[0]);
  return {
    log: () => text,
    exec: (given) =>
      attempt("nsenter", [`--target=${first()}`, "--mount", "--pid", "chroot", root, ...asUser, ...given]),
    stop: async () => {
      process.kill(first(), "SIGTERM");
      return ended;
    },
    kill: async () => {
      process.kill(first(), "SIGKILL");
      await ended;
    },
  };
}

type DockerConfig = {
  User: string;
  WorkingDir: string;
  Env: string[];
  Entrypoint: string[];
  Cmd: string[];
  Volumes: Record<string, object>;
  Healthcheck: { Test: string[] };
};

function readImageConfig(config: DockerConfig): ImageConfig {
  return {
    user: config.User,
    folder: config.WorkingDir,
    environment: config.Env,
    start: [...config.Entrypoint, ...config.Cmd],
    health: config.Healthcheck.Test.slice(1),
    volumes: Object.keys(config.Volumes),
  };
}

/** Repeats a request until the answer is 200; throws with the log after the time limit. */
export async function untilAnswered(container: Container, address: string, seconds: number): Promise<void> {
  const deadline = performance.now() + seconds * 1000;
  while (performance.now() < deadline) {
    const answer = await fetch(address).catch(() => null);
    await answer?.body?.cancel();
    if (answer?.status === 200) return;
    await sleep(100);
  }
  throw new Error(`${address} did not answer within ${seconds} s:\n${container.log()}`);
}
