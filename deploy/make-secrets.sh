#!/bin/sh
# sh deploy/make-secrets.sh [FOLDER]: creates random secrets for compose.yml's profile "postgres", in ./secrets by default, and
# prints the lines for .env. Containers run as other users than the owner of these files and mount only the inner folder: it
# and its files are readable by all, while the outer folder is closed to other users of this machine.
set -eu
folder=${1:-secrets}
if [ -e "$folder/files/returns-secret" ]; then
  echo "$folder already holds secrets: docs/operating/secure.md says how to rotate the root secret." >&2
  exit 1
fi
if ! mkdir -p "$folder/files" 2>/dev/null || [ ! -w "$folder/files" ]; then
  echo "$folder belongs to another user, such as root if containers were started before: run this with sudo." >&2
  exit 1
fi
random() { od -An -tx1 -N32 /dev/urandom | tr -d ' \n'; }
chmod 0700 "$folder"
chmod 0755 "$folder/files"
password=$(random)
umask 0222
printf '%s' "$password" > "$folder/files/postgres-password"
printf 'postgres://returns:%s@postgres:5432/returns' "$password" > "$folder/files/database-url"
for role in admission reader worker; do
  password=$(random)
  printf '%s' "$password" > "$folder/files/$role-password"
  printf 'postgres://returns_login_%s:%s@postgres:5432/returns' "$role" "$password" > "$folder/files/$role-url"
done
random > "$folder/files/returns-secret"
cat <<'LINES'
COMPOSE_PROFILES=postgres
DATABASE_URL_FILE=/run/secrets/database-url
DATABASE_ADMISSION_URL_FILE=/run/secrets/admission-url
DATABASE_READER_URL_FILE=/run/secrets/reader-url
DATABASE_WORKER_URL_FILE=/run/secrets/worker-url
RETURNS_SECRET_FILE=/run/secrets/returns-secret
LINES
