import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, connect } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "./worker.ts";
import type { TlsProxy } from "./tls-proxy.ts";

/** A server of others' making that stands before the service with the configuration that deploy/ has for it. */
export type TlsFront = {
  name: "nginx" | "caddy";
  /** The address that plain http is asked at. */
  plainPort: number;
  start(address: string): Promise<TlsProxy>;
};

const DEPLOY = join(import.meta.dirname, "../../deploy");
const CERTIFICATES = join(import.meta.dirname, "tls");
const START_SECONDS = 20;

/** null = the machine does not have it. */
export async function findTlsFront(name: TlsFront["name"]): Promise<TlsFront | null> {
  const program = ["/usr/sbin", "/usr/bin", "/usr/local/bin"]
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));
  if (program === undefined) return null;
  const [port, plainPort] = [await freePort(), await freePort()];
  return { name, plainPort, start: (address) => startFront(name, program, { address, port, plainPort }) };
}

type Place = { address: string; port: number; plainPort: number };

async function startFront(name: TlsFront["name"], program: string, place: Place): Promise<TlsProxy> {
  const folder = mkdtempSync(join(tmpdir(), `returns-${name}-`));
  const args = name === "nginx" ? nginxArguments(folder, place) : caddyArguments(folder, place);
  const environment = {
    RETURNS_HOST: "returns.example",
    RETURNS_TLS: "internal",
    RETURNS_UPSTREAM: new URL(place.address).host,
    HOME: folder,
    XDG_DATA_HOME: folder,
    XDG_CONFIG_HOME: folder,
  };
  const child = spawn(program, args, {
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let log = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (log += String(text)));
  const ended = new Promise((done) => child.on("close", done));
  const isUp = async (): Promise<true | null> => {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}: ${log}`);
    return (await listens(place.port)) ? true : null;
  };
  await eventually(isUp, `${name} listens`, START_SECONDS);
  return {
    port: place.port,
    moveOn: () => {},
    stop: async () => {
      child.kill("SIGTERM");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The file of deploy/ with what its first lines say to replace, and ports that anybody may open. */
function nginxArguments(folder: string, { address, port, plainPort }: Place): string[] {
  const site = readFileSync(join(DEPLOY, "nginx.conf"), "utf8")
    .replaceAll(/^ *listen \[::\].*\n/gmu, "")
    .replaceAll("listen 80;", `listen 127.0.0.1:${plainPort};`)
    .replaceAll("listen 443 ssl", `listen 127.0.0.1:${port} ssl`)
    .replaceAll("returns.example.com", "returns.example")
    .replaceAll("127.0.0.1:8080", new URL(address).host)
    .replaceAll("/etc/ssl/returns/fullchain.pem", join(CERTIFICATES, "returns.example.pem"))
    .replaceAll("/etc/ssl/returns/privkey.pem", join(CERTIFICATES, "returns.example.key.pem"));
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  );
  writeFileSync(join(folder, "site.conf"), site);
  writeFileSync(
    join(folder, "nginx.conf"),
    [
      process.getuid?.() === 0 ? "user root;" : "",
      `daemon off; pid ${folder}/pid; error_log stderr; events {}`,
      `http { access_log off; ${temporary.join(" ")} include ${folder}/site.conf; }`,
    ].join("\n"),
  );
  return ["-p", folder, "-e", "stderr", "-c", join(folder, "nginx.conf")];
}

function caddyArguments(folder: string, { port, plainPort }: Place): string[] {
  const own = `{\n\tadmin off\n\tskip_install_trust\n\thttp_port ${plainPort}\n\thttps_port ${port}\n}\n`;
  writeFileSync(join(folder, "Caddyfile"), own + readFileSync(join(DEPLOY, "Caddyfile"), "utf8"));
  return ["run", "--config", join(folder, "Caddyfile"), "--adapter", "caddyfile"];
}

function listens(port: number): Promise<boolean> {
  return new Promise((answer) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("connect", () => {
      socket.destroy();
      answer(true);
    });
    socket.on("error", () => answer(false));
  });
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return port;
}
