-- The app adds to the history of records and reads it; it has no right to change or delete it.

DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'tiercel_app') THEN
        REVOKE UPDATE, DELETE, TRUNCATE ON panel_mandateevent FROM tiercel_app;
    END IF;
END $$;
