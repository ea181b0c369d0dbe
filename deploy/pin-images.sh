#!/bin/sh
# sh deploy/pin-images.sh >> .env: names the base images by the digest that their registry has today, so that a later build or
# start uses the same bytes. Run it again, in place of the old lines, to take in their security updates.
set -eu
pin() {
  docker pull --quiet "$2" >&2
  name=$(docker image inspect --format '{{index .RepoDigests 0}}' "$2")
  case $name in
    *@sha256:*) echo "$1=$name" ;;
    *) echo "$2 has no digest of a registry." >&2 && exit 1 ;;
  esac
}
pin BUILDER_IMAGE node:26-bookworm-slim
pin RUNTIME_IMAGE debian:bookworm-slim
pin POSTGRES_IMAGE postgres:18-bookworm
pin CADDY_IMAGE caddy:2-alpine
