"""What hosts and the fleet did is staff's alone also where it is not packed yet. Partitions of rows
are dropped a week after their day once they are empty: what they had lies in chunks by then. A row
that comes in the same moment keeps its partition."""

from django.db import migrations

from storage.row_security import STAFF_ONLY, enclose

LOADS = ("storage_hostload", "storage_fleetload", "storage_hostactivity")

DROP = """
CREATE OR REPLACE FUNCTION {table}_drop(before date) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp SET lock_timeout = '2s' AS $$
-- Drops the partitions of days before the given one, and empty ones, but never of the last week,
-- whatever the caller asks. Returns how many. Gives way after 2 s of waiting: the next call tries
-- again.
DECLARE
    part record;
    is_empty boolean;
    dropped integer := 0;
BEGIN
    FOR part IN
        SELECT relname AS name, to_date(right(relname, 8), 'YYYYMMDD') AS day
        FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
        WHERE inhparent = 'public.{table}'::regclass
          AND relname ~ '^{table}_[0-9]{{8}}$'
          AND to_date(right(relname, 8), 'YYYYMMDD') < (now() AT TIME ZONE 'UTC')::date - 7
        ORDER BY relname
    LOOP
        IF part.day >= before THEN
            -- One that was emptied just now waits for VACUUM: it would be read whole under a lock.
            CONTINUE WHEN pg_relation_size(format('public.%I', part.name)::regclass) > 1048576;
            EXECUTE format('SELECT NOT EXISTS (SELECT FROM public.%I)', part.name) INTO is_empty;
            CONTINUE WHEN NOT is_empty;
            -- In the order of those who insert, who may have put a row there that is not seen yet.
            LOCK TABLE ONLY public.{table} IN ACCESS EXCLUSIVE MODE;
            EXECUTE format('LOCK TABLE public.%I IN ACCESS EXCLUSIVE MODE', part.name);
            EXECUTE format('SELECT NOT EXISTS (SELECT FROM public.%I)', part.name) INTO is_empty;
            CONTINUE WHEN NOT is_empty;
        END IF;
        EXECUTE format('DROP TABLE public.%I', part.name);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
EXCEPTION WHEN lock_not_available THEN
    RETURN 0;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = (("storage", "0042_customers_of_events"),)

    operations = (
        *(migrations.RunSQL(*enclose(table, STAFF_ONLY)) for table in LOADS),
        *(
            migrations.RunSQL(DROP.format(table=table), migrations.RunSQL.noop)
            for table in ("storage_sample", "storage_devicesample")
        ),
    )
