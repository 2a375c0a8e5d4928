-- The security log is append-only as the audit trail is (`jobs/migrations/sql/audit.sql`).

CREATE OR REPLACE TRIGGER security_no_change BEFORE UPDATE OR DELETE ON panel_securityentry
    FOR EACH STATEMENT EXECUTE FUNCTION jobs_audit_append_only();
CREATE OR REPLACE TRIGGER security_no_truncate BEFORE TRUNCATE ON panel_securityentry
    FOR EACH STATEMENT EXECUTE FUNCTION jobs_audit_append_only();
ALTER TABLE panel_securityentry ENABLE ALWAYS TRIGGER security_no_change;
ALTER TABLE panel_securityentry ENABLE ALWAYS TRIGGER security_no_truncate;
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'tiercel_app') THEN
        REVOKE UPDATE, DELETE, TRUNCATE ON panel_securityentry FROM tiercel_app;
    END IF;
END $$;
