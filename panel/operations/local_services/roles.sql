-- The two roles, run as the cluster's superuser by the embedded server and by compose's db.
-- psql variables: owner_password and app_password ('' where the socket folder is the guard).
-- Every database made later is a copy of template1, so its default privileges come along.
SELECT 'CREATE ROLE tiercel_owner LOGIN CREATEDB' WHERE NOT EXISTS
  (SELECT FROM pg_roles WHERE rolname = 'tiercel_owner') \gexec
SELECT 'CREATE ROLE tiercel_app LOGIN' WHERE NOT EXISTS
  (SELECT FROM pg_roles WHERE rolname = 'tiercel_app') \gexec
ALTER ROLE tiercel_owner LOGIN NOSUPERUSER NOCREATEROLE CREATEDB;
ALTER ROLE tiercel_app LOGIN NOSUPERUSER NOCREATEROLE NOCREATEDB NOBYPASSRLS;
SELECT 'ALTER ROLE tiercel_owner PASSWORD ' || quote_literal(:'owner_password')
  WHERE :'owner_password' <> '' \gexec
SELECT 'ALTER ROLE tiercel_app PASSWORD ' || quote_literal(:'app_password')
  WHERE :'app_password' <> '' \gexec

\connect template1
ALTER DEFAULT PRIVILEGES FOR ROLE tiercel_owner
  GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO tiercel_app;
ALTER DEFAULT PRIVILEGES FOR ROLE tiercel_owner
  GRANT USAGE, SELECT ON SEQUENCES TO tiercel_app;
ALTER DEFAULT PRIVILEGES FOR ROLE tiercel_owner
  GRANT EXECUTE ON FUNCTIONS TO tiercel_app;

SELECT 'CREATE DATABASE tiercel OWNER tiercel_owner' WHERE NOT EXISTS
  (SELECT FROM pg_database WHERE datname = 'tiercel') \gexec
