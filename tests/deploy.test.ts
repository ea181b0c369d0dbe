import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, globSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { OPTION_HELP, readConfig } from "../src/config.ts";
import { ROLES } from "../src/store/role-rights.ts";
import { loginUrl } from "../src/store/roles.ts";
import { makeFolder } from "./support/folder.ts";

/** Checks of the image and the systemd units without building or starting them, which npm run image:test does. */

const root = join(import.meta.dirname, "..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const optionNames = new Set(OPTION_HELP.flatMap(({ name }) => [name, `${name}_FILE`]));

const dockerfile = read("Dockerfile").replaceAll("\\\n", " ").split("\n");
const instructions = (name: string): string[] =>
  dockerfile.filter((line) => line.startsWith(`${name} `)).map((line) => line.slice(name.length + 1).trim());

/** The paths that COPY takes from the checkout. */
const copied = instructions("COPY")
  .filter((line) => !line.startsWith("--from"))
  .flatMap((line) => line.split(/\s+/u).slice(0, -1));

test("every file that the Dockerfile copies exists and is not excluded by .dockerignore", () => {
  assert.ok(copied.length >= 8, copied.join(" "));
  const allowed = new Set(
    read(".dockerignore")
      .split("\n")
      .flatMap((line) => (line.startsWith("!") ? [line.slice(1)] : [])),
  );
  for (const path of copied) {
    assert.ok(existsSync(join(root, path)), path);
    assert.ok(allowed.has(path) || (path === "deploy/" && allowed.has("deploy/trim-packages.sh")), path);
  }
  assert.ok(read(".dockerignore").split("\n").includes("**/*.test.ts"), "no tests in the image");
});

test("everything that the service reads at run time is copied", () => {
  const files = globSync("src/**/*.ts", { cwd: root, exclude: (path) => path.endsWith(".test.ts") });
  assert.ok(files.length > 300);
  for (const needed of ["src", "docs", "package.json", "package-lock.json", "scripts/launch.js", "returns"])
    assert.ok(copied.includes(needed), needed);
  const left = read(".dockerignore").split("\n");
  for (const folder of ["docs/decisions", "docs/images"]) assert.ok(left.includes(folder));
  const named = files.flatMap((path) =>
    [...read(path).matchAll(/"(docs\/[\w./-]+\.md)"/gu)].map(([, file]) => file),
  );
  assert.ok(named.length >= 5);
  for (const file of named) assert.doesNotMatch(file ?? "", /^docs\/(?:decisions|images)\//u);
});

test("the image runs as an unprivileged user, on tagged base images, with existing options", () => {
  assert.deepEqual(instructions("USER"), ["10001:10001"]);
  assert.deepEqual(instructions("VOLUME"), ["/data"]);
  assert.deepEqual(instructions("EXPOSE"), ["8080"]);
  for (const base of instructions("ARG")) assert.match(base, /^\w+=[\w.-]+:(?!latest)[\w.-]+$/u);
  assert.deepEqual(instructions("FROM"), ["${BUILDER} AS builder", "${RUNTIME}"]);
  assert.ok(!read("Dockerfile").includes("<<"), "buildah 1.28 knows no heredocs");
  const variables = Object.fromEntries(
    instructions("ENV").flatMap((line) =>
      line.split(/\s+/u).map((pair) => pair.split("=") as [string, string]),
    ),
  );
  for (const name of Object.keys(variables)) assert.ok(optionNames.has(name) || name === "TMPDIR", name);
  const config = readConfig(variables);
  assert.deepEqual(
    [config.host, config.port, config.operationsPort, config.dataFolder],
    ["0.0.0.0", 8080, 9090, "/data"],
  );
  assert.match(instructions("HEALTHCHECK")[0] ?? "", /OPERATIONS_PORT\}\/healthz/u);
});

type Service = {
  build: { args: Record<string, string> };
  image: string;
  user: string;
  profiles?: string[];
  read_only: boolean;
  cap_drop: string[];
  security_opt: string[];
  ports: string[];
  volumes: string[];
  env_file: object[];
  environment: Record<string, string>;
};
const compose = parse(read("compose.yml")) as {
  services: Record<"returns" | "postgres" | "caddy", Service>;
  volumes: object;
};
const services = Object.entries(compose.services);

test("compose.yml: every service drops its capabilities, and has a tag other than latest", () => {
  assert.deepEqual(
    services.map(([name, { profiles }]) => [name, profiles]),
    [
      ["returns", undefined],
      ["postgres", ["postgres"]],
      ["caddy", ["tls"]],
    ],
  );
  for (const [name, service] of services) {
    assert.equal(service.read_only, true, name);
    assert.deepEqual(service.cap_drop, ["ALL"], name);
    assert.deepEqual(service.security_opt, ["no-new-privileges:true"], name);
    assert.match(
      service.image.replace(/^\$\{[A-Z]+_IMAGE:-(.+)\}$/u, "$1"),
      /^[\w-]+:(?!latest$)[\w.-]+$/u,
      name,
    );
  }
});

test("compose.yml names the port, user and volume of the image, and existing options", () => {
  const service = compose.services.returns;
  assert.equal(service.user, instructions("USER")[0]);
  assert.deepEqual(service.ports, [`127.0.0.1:\${RETURNS_PORT:-8080}:${instructions("EXPOSE")[0]}`]);
  assert.ok(service.volumes.includes(`data:${instructions("VOLUME")[0]}`));
  // All options come from .env, but not those by which the image is reached.
  assert.deepEqual(service.env_file, [{ path: ".env", required: false }]);
  const { TRUSTED_PROXIES: proxies, ...environment } = service.environment;
  assert.equal(proxies, "${TRUSTED_PROXIES:-172.16.0.0/12}");
  const ofImage = instructions("ENV").flatMap((line) => line.split(/\s+/u));
  assert.deepEqual(
    Object.entries({ ...environment, TMPDIR: "/data" })
      .map(([name, value]) => `${name}=${value}`)
      .filter((pair) => !pair.startsWith("PORT="))
      .toSorted(),
    ofImage.toSorted(),
  );
  assert.equal(environment["PORT"], instructions("EXPOSE")[0]);
  const mounts = services.flatMap(([, own]) => own.volumes);
  for (const volume of Object.keys(compose.volumes))
    assert.ok(
      mounts.some((mount) => mount.startsWith(`${volume}:`)),
      volume,
    );
});

test("pin-images.sh names every base image by its digest, for the build and the containers of compose.yml", () => {
  const folder = makeFolder();
  // The registry's answer, without a registry.
  const docker = '#!/bin/sh\n[ "$1" = pull ] || for last; do :; done && echo "${last%%:*}@sha256:$DIGEST"\n';
  writeFileSync(join(folder, "docker"), docker, { mode: 0o755 });
  const pin = (digest: string) =>
    spawnSync("sh", [join(root, "deploy/pin-images.sh")], {
      encoding: "utf8",
      env: { PATH: `${folder}:${process.env["PATH"] ?? ""}`, DIGEST: digest },
    });
  const { status, stdout, stderr } = pin("0".repeat(64));
  assert.equal(status, 0, stderr);
  const args = compose.services.returns.build.args;
  const used = [
    args["BUILDER"],
    args["RUNTIME"],
    compose.services.postgres.image,
    compose.services.caddy.image,
  ];
  assert.deepEqual(
    stdout.trim().split("\n"),
    used.map((text) => {
      const [, name, image] = /^\$\{(\w+):-(\w+):[\w.-]+\}$/u.exec(text as string) ?? assert.fail();
      return `${name}=${image}@sha256:${"0".repeat(64)}`;
    }),
  );
  assert.deepEqual(
    instructions("ARG"),
    Object.entries(args).map(([name, text]) => `${name}=${/:-(.+)\}$/u.exec(text)?.[1]}`),
  );
});

test("every shipped proxy configuration overwrites the client addresses that clients send", () => {
  assert.match(read("deploy/nginx.conf"), /proxy_set_header X-Forwarded-For \$remote_addr;/u);
  assert.match(read("deploy/nginx.conf"), /proxy_set_header Forwarded "";/u);
  // Caddy and Traefik replace X-Forwarded-For unless they are told to trust somebody.
  assert.match(read("deploy/Caddyfile"), /header_up -Forwarded\n/u);
  assert.doesNotMatch(read("deploy/Caddyfile"), /trusted_proxies /u);
  assert.match(read("deploy/traefik.yml"), /passHostHeader: true/u);
  assert.doesNotMatch(read("deploy/traefik.yml"), /maxRequestBodyBytes/u);
  assert.match(read("deploy/traefik.yml"), /customRequestHeaders:\n(?: *#.*\n)? *Forwarded: ""/u);
  for (const proxy of ["nginx.conf", "Caddyfile", "traefik.yml"])
    assert.match(read(`deploy/${proxy}`), /TRUSTED_PROXIES/u);
});

test("make-secrets.sh writes the secrets of the profile postgres, and never twice", () => {
  const folder = makeFolder();
  const secrets = join(folder, "secrets");
  const mounted = join(secrets, "files");
  const make = () => spawnSync("sh", [join(root, "deploy/make-secrets.sh"), secrets], { encoding: "utf8" });
  const { status, stdout, stderr } = make();
  assert.equal(status, 0, stderr);
  const lines = Object.fromEntries(
    stdout
      .trim()
      .split("\n")
      .map((line) => line.split("=") as [string, string]),
  );
  assert.equal(lines["COMPOSE_PROFILES"], "postgres");
  const files = Object.entries(lines).filter(([name]) => name.endsWith("_FILE"));
  const here = files.map(([name, path]) => [name, path.replace("/run/secrets", mounted)]);
  const config = readConfig({ HOST: "0.0.0.0", ...Object.fromEntries(here) });
  const password = readFileSync(join(mounted, "postgres-password"), "utf8");
  assert.equal(config.databaseUrl, `postgres://returns:${password}@postgres:5432/returns`);
  const urls = {
    worker: config.databaseWorkerUrl,
    admission: config.databaseAdmissionUrl,
    reader: config.databaseReaderUrl,
  };
  for (const role of ROLES) {
    const own = readFileSync(join(mounted, `${role}-password`), "utf8");
    assert.notEqual(own, password);
    assert.equal(urls[role], loginUrl("postgres://postgres:5432/returns", role, own));
  }
  assert.equal(config.secret?.length, 64);
  assert.notEqual(config.secret, password);
  // Containers mount the inner folder, and run as users to whom the outer one is closed.
  const modes = [secrets, mounted, join(mounted, "database-url")].map((path) => statSync(path).mode & 0o777);
  assert.deepEqual(modes, [0o700, 0o755, 0o444]);
  for (const [name, mount] of [
    ["returns", "./secrets/files:/run/secrets:ro"],
    ...["postgres", ...ROLES].map(
      (each) => ["postgres", `./secrets/files/${each}-password:/run/secrets/${each}-password:ro`] as const,
    ),
  ] as const)
    assert.ok(compose.services[name].volumes.includes(mount), mount);
  const again = make();
  assert.deepEqual([again.status, again.stdout], [1, ""]);
  assert.equal(readFileSync(join(mounted, "postgres-password"), "utf8"), password);
});

test("PostgreSQL's container makes the logins of the roles from the files that compose.yml mounts", () => {
  const script = read("deploy/postgres-roles.sh");
  assert.equal(spawnSync("sh", ["-n"], { input: script }).status, 0);
  const mounts = compose.services.postgres.volumes;
  assert.ok(mounts.includes("./deploy/postgres-roles.sh:/docker-entrypoint-initdb.d/roles.sh:ro"));
  assert.ok(mounts.includes(`./deploy/roles.sql:${/-f (\S+)/u.exec(script)?.[1]}:ro`));
  const variables = new Set(read("deploy/roles.sql").match(/(?<=[ (]:')\w+(?=')/gu));
  assert.deepEqual(
    [...variables].toSorted(),
    ["owner", ...ROLES.map((role) => `${role}_password`)].toSorted(),
  );
  for (const name of variables) assert.match(script, new RegExp(` -v ${name}="\\$`, "u"));
});

const unit = read("deploy/returns-analytics.service");
const backupUnit = read("deploy/returns-analytics-backup.service");

test("the systemd unit names existing options and forbids what the service does not need", () => {
  const both = unit + read("deploy/external-database.conf");
  const names = [...both.matchAll(/^Environment=(\w+)=/gmu)].map(([, name = ""]) => name);
  assert.ok(names.length >= 4);
  for (const name of names) assert.ok(optionNames.has(name) || name === "NODE_COMPILE_CACHE", name);
  for (const line of [
    "Type=exec",
    "User=returns",
    "ProtectSystem=strict",
    "CapabilityBoundingSet=",
    "NoNewPrivileges=yes",
  ])
    assert.ok(unit.split("\n").includes(line), line);
  for (const refused of ["MemoryDenyWriteExecute", "PrivateIPC"])
    assert.doesNotMatch(unit, new RegExp(`^${refused}=`, "mu"), refused);
});

test("the unit of backups has the restrictions of the service, and its data folder", () => {
  const hardening = (text: string): string[] =>
    text
      .split("\n")
      .filter((line) =>
        /^(?:NoNew|Capab|Ambient|Protect|Private|Remove|Restrict|Lock|SystemCall|UMask|User|Group|Env|Working)/u.test(
          line,
        ),
      );
  assert.deepEqual(hardening(backupUnit).toSorted(), hardening(unit).toSorted());
  assert.match(backupUnit, /^ExecStart=\/opt\/returns-analytics\/returns backup \S+ --keep \d+$/mu);
});

test("systemd accepts the units, also with the drop-in, and rates them as well sandboxed", (context) => {
  if (spawnSync("systemd-analyze", ["--version"]).status !== 0)
    return context.skip("There is no systemd-analyze on this machine: the unit is not verified.");
  const folder = makeFolder();
  for (const dropIn of ["", read("deploy/external-database.conf")]) {
    const file = join(folder, "returns-analytics.service");
    writeFileSync(
      file,
      unit.replaceAll("/opt/returns-analytics", root).replace("[Install]", `${dropIn}\n[Install]`),
    );
    const backup = join(folder, "returns-analytics-backup.service");
    writeFileSync(backup, `${backupUnit.replaceAll("/opt/returns-analytics", root)}\n${dropIn}`);
    const timer = join(folder, "returns-analytics-backup.timer");
    writeFileSync(timer, read("deploy/returns-analytics-backup.timer"));
    const { status, stderr } = spawnSync("systemd-analyze", ["verify", file, backup, timer], {
      encoding: "utf8",
    });
    assert.deepEqual([status, stderr], [0, ""]);
    const security = execFileSync("systemd-analyze", ["security", "--offline=true", "--no-pager", file], {
      encoding: "utf8",
    });
    const exposure = Number(
      /Overall exposure level for \S+: (?<level>[\d.]+)/u.exec(security)?.groups?.["level"],
    );
    assert.ok(exposure <= 1.5, `exposure ${exposure}`);
  }
});
