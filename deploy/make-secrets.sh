#!/bin/sh
# sh deploy/make-secrets.sh [FOLDER]: makes random secrets for compose.yml's profile "postgres", in ./secrets by default.
# Containers run as other users than the owner of these files: the folder is closed to others here, the files are not.
set -eu
folder=${1:-secrets}
if [ -e "$folder/returns-secret" ]; then
  echo "$folder holds secrets already: a new one would invalidate every token." >&2
  exit 1
fi
random() { od -An -tx1 -N32 /dev/urandom | tr -d ' \n'; }
mkdir -p "$folder"
chmod 0700 "$folder"
password=$(random)
umask 0222
printf '%s' "$password" > "$folder/postgres-password"
printf 'postgres://returns:%s@postgres:5432/returns' "$password" > "$folder/database-url"
random > "$folder/returns-secret"
cat <<'LINES'
COMPOSE_PROFILES=postgres
DATABASE_URL_FILE=/run/secrets/database-url
RETURNS_SECRET_FILE=/run/secrets/returns-secret
LINES
