-- Least-privilege roles for your own PostgreSQL (docs/operating/secure.md). An administrator runs this once in
-- the service's database. Then the owner of the tables runs ./returns migrate, which grants the roles their rights, also on
-- tables of later versions:
--
--   psql "$ADMINISTRATOR_URL" -v owner=returns -v worker_password="$(cat worker-password)" \
--     -v admission_password="$(cat admission-password)" -v reader_password="$(cat reader-password)" -f deploy/roles.sql
--   DATABASE_URL_FILE=./database-url ./returns migrate
--
-- owner is the login of DATABASE_URL. Running it again changes nothing; passwords stay those of the first run. On Citus run it
-- on the coordinator, which creates the roles on its nodes; pg_hba.conf must allow them there too.
\set ON_ERROR_STOP on
begin;

-- Rights are granted to these groups, which cannot log in themselves.
select format('create role %I', name)
  from unnest('{returns_worker,returns_admission,returns_reader}'::text[]) name
 where not exists (select from pg_roles where rolname = name)
\gexec

-- Add others in the same way, such as a login for each server or worker.
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

-- Everybody may connect to the databases of the system by default, where the service has nothing. On a server that others use,
-- too, leave them as they are: -v shared=1
\if :{?shared}
\else
select format('revoke connect on database %I from public', datname)
  from pg_database
 where datname in ('postgres', 'template1') and datname <> current_database()
   and pg_has_role(datdba, 'usage') and has_database_privilege('public', oid, 'connect')
\gexec
\endif

-- The owner creates extensions, and temporary tables during imports.
select format('grant create, temporary on database %I to %I', current_database(), :'owner')
\gexec

-- Databases created before PostgreSQL 15 let everybody create tables.
revoke create on schema public from public;
select format('grant usage, create on schema public to %I', :'owner')
\gexec

-- Everybody may create large objects by default. Only a superuser can revoke that; for others this is a warning.
revoke execute on function lo_creat(integer), lo_create(oid), lo_from_bytea(oid, bytea) from public;

commit;
