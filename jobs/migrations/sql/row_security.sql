-- Row security (`storage.row_security`): a scope other than "all" reads and writes only the rows
-- for which the condition is true. The owner of a table is not bound.

DO $$
DECLARE
    -- Sub-selects are evaluated once a statement, not once a row; for "all" the second one never
    -- is. PostgreSQL takes "equal" for rare and "not equal" for usual, and plans accordingly: for
    -- staff and workers, who ask the large questions, every row is seen.
    is_all text := $sql$(SELECT CASE current_setting('tiercel.wall', true)
        WHEN 'all' THEN 1 ELSE 0 END) <> 0$sql$;
    wall record;
BEGIN
    FOR wall IN SELECT * FROM (VALUES
        ('jobs_job', 'volume_id = ANY ((SELECT wall_volumes())::bigint[])'),
        -- Within a policy the policies of other tables count.
        ('jobs_step', 'EXISTS (SELECT FROM jobs_job WHERE jobs_job.id = job_id)'),
        ('jobs_line', 'EXISTS (SELECT FROM jobs_job WHERE jobs_job.id = job_id)'),
        -- For staff alone. The audit trail names hosts, and only workers write it.
        ('jobs_auditentry', 'false'),
        ('jobs_bulkchange', 'false'),
        ('jobs_alert', 'false'),
        ('jobs_alertevent', 'false'),
        ('jobs_silence', 'false'),
        ('jobs_mediacheck', 'false')
    ) AS walls (place, own) LOOP
        EXECUTE format('DROP POLICY IF EXISTS wall ON %I', wall.place);
        EXECUTE format('CREATE POLICY wall ON %I USING (%s OR (%s)) WITH CHECK (%2$s OR (%3$s))',
            wall.place, is_all, wall.own);
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', wall.place);
    END LOOP;
END $$;
