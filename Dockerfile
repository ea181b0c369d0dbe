# The service with its pinned Node.js and its own PostgreSQL. docs/operating/install.md shows how to run it.
# No heredocs and no cache mounts: Debian 12's buildah 1.28 builds this, too.
ARG BUILDER=node:26-bookworm-slim
ARG RUNTIME=debian:bookworm-slim

FROM ${BUILDER} AS builder
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund --no-update-notifier
# Not by --omit=dev, which leaves out what development packages need, too.
RUN npm pkg delete devDependencies && npm sbom --sbom-format=cyclonedx > sbom.cdx.json
COPY deploy/trim-packages.sh deploy/
RUN sh deploy/trim-packages.sh

FROM ${RUNTIME}
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates libatomic1 tini \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/log/*.log /var/log/apt \
 && echo 'returns:x:10001:' >> /etc/group \
 && echo 'returns:x:10001:10001::/data:/usr/sbin/nologin' >> /etc/passwd \
 && install -d -m 0700 -o 10001 -g 10001 /data
WORKDIR /app
COPY --from=builder /app/node_modules node_modules
COPY --from=builder /app/sbom.cdx.json ./
COPY package.json package-lock.json returns LICENSE THIRD_PARTY_LICENSES ./
COPY scripts/launch.js scripts/
COPY scripts/launch scripts/launch
COPY docs docs
COPY src src
RUN ln -s /app/node_modules/node-linux-*/bin/node /usr/local/bin/node \
 && ln -s /app/returns /usr/local/bin/returns \
 && returns --version

# Temporary files of imports, up to 2 GB each, belong on the volume: /tmp may be memory.
ENV HOST=0.0.0.0 \
    OPERATIONS_PORT=9090 \
    RETURNS_DATA_DIR=/data \
    TMPDIR=/data
VOLUME /data
EXPOSE 8080
USER 10001:10001
# The port opens once the schema is migrated and, on the first start, the demo store is generated.
HEALTHCHECK --interval=30s --timeout=5s --start-period=10m --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.OPERATIONS_PORT}/healthz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["/usr/bin/tini", "--", "returns"]
CMD ["serve"]
