#!/bin/sh
# Run once by compose.yml's container postgres, when it makes its database: the logins of docs/operating/secure.md.
set -eu
password_of() { cat "/run/secrets/$1-password"; }
psql --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --quiet -v owner="$POSTGRES_USER" \
  -v worker_password="$(password_of worker)" -v admission_password="$(password_of admission)" \
  -v reader_password="$(password_of reader)" -f /roles.sql
