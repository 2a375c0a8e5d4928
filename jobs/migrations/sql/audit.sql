-- What makes the audit trail append-only: the app's role may only read and add, and triggers refuse
-- UPDATE, DELETE and TRUNCATE to everyone, the owner included.

CREATE OR REPLACE FUNCTION jobs_audit_append_only() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'the audit trail is append-only: % is refused', TG_OP
        USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE OR REPLACE TRIGGER audit_no_change BEFORE UPDATE OR DELETE ON jobs_auditentry
    FOR EACH STATEMENT EXECUTE FUNCTION jobs_audit_append_only();
CREATE OR REPLACE TRIGGER audit_no_truncate BEFORE TRUNCATE ON jobs_auditentry
    FOR EACH STATEMENT EXECUTE FUNCTION jobs_audit_append_only();
ALTER TABLE jobs_auditentry ENABLE ALWAYS TRIGGER audit_no_change;
ALTER TABLE jobs_auditentry ENABLE ALWAYS TRIGGER audit_no_truncate;
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'tiercel_app') THEN
        REVOKE UPDATE, DELETE, TRUNCATE ON jobs_auditentry FROM tiercel_app;
    END IF;
END $$;
