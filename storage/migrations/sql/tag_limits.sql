-- The history of the limits of tags: the app adds to it and reads it, and only staff see it.

DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'tiercel_app') THEN
        REVOKE UPDATE, DELETE, TRUNCATE ON storage_taglimitevent FROM tiercel_app;
    END IF;
END $$;

DROP POLICY IF EXISTS wall ON storage_taglimitevent;
CREATE POLICY wall ON storage_taglimitevent
    USING ((SELECT CASE current_setting('tiercel.wall', true) WHEN 'all' THEN 1 ELSE 0 END) <> 0)
    WITH CHECK ((SELECT CASE current_setting('tiercel.wall', true) WHEN 'all' THEN 1 ELSE 0 END) <> 0);
ALTER TABLE storage_taglimitevent ENABLE ROW LEVEL SECURITY;
