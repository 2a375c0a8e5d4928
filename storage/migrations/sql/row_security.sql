-- Row security (`storage.row_security`): a scope other than "all" reads and writes only the rows
-- for which the condition is true. The owner of a table is not bound.
-- The three functions run with their owner's rights, whom no policy binds: a policy on memberships that
-- asked the memberships would ask itself.

CREATE OR REPLACE FUNCTION wall_customers() RETURNS bigint[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
-- The customers of the person whom the session stands for; none for anything but a person.
    SELECT coalesce(array_agg(customer_id), '{}') FROM public.storage_member
    WHERE user_id = substring(current_setting('tiercel.wall', true) FROM '^[0-9]{1,18}$')::bigint
$$;
CREATE OR REPLACE FUNCTION wall_volumes() RETURNS bigint[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
-- The volumes of those customers.
    SELECT coalesce(array_agg(id), '{}') FROM public.storage_volume
    WHERE customer_id = ANY ((SELECT public.wall_customers())::bigint[])
$$;
CREATE OR REPLACE FUNCTION wall_hosts() RETURNS bigint[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
-- The hosts that those volumes lie on, or lay: their jobs name these too.
    SELECT coalesce(array_agg(DISTINCT host_id), '{}') FROM public.storage_placement
    WHERE volume_id = ANY ((SELECT public.wall_volumes())::bigint[])
$$;

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
        ('storage_customer', 'id = ANY ((SELECT wall_customers())::bigint[])'),
        ('storage_customerevent', 'id = ANY ((SELECT wall_customers())::bigint[])'),
        ('storage_member', 'customer_id = ANY ((SELECT wall_customers())::bigint[])'),
        ('storage_volume', 'customer_id = ANY ((SELECT wall_customers())::bigint[])'),
        ('storage_volumeevent', 'id = ANY ((SELECT wall_volumes())::bigint[])'),
        ('storage_host', 'id = ANY ((SELECT wall_hosts())::bigint[])'),
        ('storage_placement', 'volume_id = ANY ((SELECT wall_volumes())::bigint[])'),
        ('storage_latestsample', 'volume_id = ANY ((SELECT wall_volumes())::bigint[])'),
        ('storage_heatday', 'volume_id = ANY ((SELECT wall_volumes())::bigint[])'),
        ('storage_heattrace', 'volume_id = ANY ((SELECT wall_volumes())::bigint[])'),
        ('storage_sizeforecast', 'volume_id = ANY ((SELECT wall_volumes())::bigint[])'),
        ('storage_event', 'customer_id = ANY ((SELECT wall_customers())::bigint[])'),
        -- Queried through the parent, its policy counts; by themselves the app has no right to the
        -- partitions.
        ('storage_sample', 'volume_id = ANY ((SELECT wall_volumes())::bigint[])'),
        -- The first kind is `storage.models.SubjectKind.VOLUME`; the others are for staff.
        ('storage_samplechunk', 'kind = 0 AND subject_id = ANY ((SELECT wall_volumes())::bigint[])'),
        -- For staff alone.
        ('storage_benchmark', 'false'),
        ('storage_benchmarkfile', 'false'),
        ('storage_benchmarkrun', 'false'),
        ('storage_gate', 'false'),
        ('storage_gateboot', 'false'),
        ('storage_cachecondition', 'false'),
        ('storage_cacheplanevent', 'false'),
        ('storage_device', 'false'),
        ('storage_devicesample', 'false'),
        ('storage_diskreading', 'false'),
        ('storage_diskround', 'false'),
        ('storage_fleetload', 'false'),
        ('storage_hostactivity', 'false'),
        ('storage_hostchange', 'false'),
        ('storage_hostevent', 'false'),
        ('storage_hostoutline', 'false'),
        ('storage_hostload', 'false'),
        ('storage_latestdevicesample', 'false'),
        ('storage_measuredrate', 'false'),
        ('storage_physicaldisk', 'false'),
        ('storage_physicaldiskevent', 'false')
    ) AS walls (place, own) LOOP
        -- An earlier migration runs this file too, before the table is made.
        CONTINUE WHEN to_regclass(format('public.%I', wall.place)) IS NULL;
        EXECUTE format('DROP POLICY IF EXISTS wall ON %I', wall.place);
        EXECUTE format('CREATE POLICY wall ON %I USING (%s OR (%s)) WITH CHECK (%2$s OR (%3$s))',
            wall.place, is_all, wall.own);
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', wall.place);
    END LOOP;
END $$;
