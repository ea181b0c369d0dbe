-- Roles for a PostgreSQL of your own, so that what serves cannot do more than it needs (docs/operating.md, "Database roles").
-- An administrator runs this once in the service's database, then the owner of the tables runs ./returns migrate, which
-- gives the roles their rights, also with tables of later versions:
--
--   psql "$ADMINISTRATOR_URL" -v owner=returns -v worker_password="$(cat worker-password)" \
--     -v admission_password="$(cat admission-password)" -v reader_password="$(cat reader-password)" -f deploy/roles.sql
--   DATABASE_URL_FILE=./database-url ./returns migrate
--
-- owner is the login of DATABASE_URL. Running it again changes nothing; passwords are those of the first run. On a Citus run it
-- on the coordinator, which makes the roles on its nodes; there, pg_hba.conf has to let them in, too.
\set ON_ERROR_STOP on
begin;

-- What a login may do is said of its group, which has no login itself.
select format('create role %I', name)
  from unnest('{returns_worker,returns_admission,returns_reader}'::text[]) name
 where not exists (select from pg_roles where rolname = name)
\gexec

-- Add others in the same way: a login for each server or worker, say.
select format('create role %I login password %L in role %I', login, password, name)
  from (values ('returns_login_worker', :'worker_password', 'returns_worker'),
               ('returns_login_admission', :'admission_password', 'returns_admission'),
               ('returns_login_reader', :'reader_password', 'returns_reader')) wanted (login, password, name)
 where not exists (select from pg_roles where rolname = login)
\gexec

-- Everybody may make temporary tables by default; only imports need to.
select format('revoke temporary on database %I from public', current_database())
\gexec
select format('grant temporary on database %I to returns_worker', current_database())
\gexec

-- The owner makes the extension pg_trgm, and temporary tables with imports.
select format('grant create, temporary on database %I to %I', current_database(), :'owner')
\gexec

-- Databases of before PostgreSQL 15 let everybody create tables.
revoke create on schema public from public;
select format('grant usage, create on schema public to %I', :'owner')
\gexec

-- Everybody may make large objects by default. The functions are a superuser's: others leave this out, with a warning.
revoke execute on function lo_creat(integer), lo_create(oid), lo_from_bytea(oid, bytea) from public;

commit;
