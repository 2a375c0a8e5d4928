"""Chunks' partitions are dropped by their whole name: the digits at the end of any other table's
were read as a date, whichever PostgreSQL looked at first."""

from django.db import migrations

DROP = """
CREATE OR REPLACE FUNCTION storage_samplechunk_drop(resolution integer, before date)
RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp SET lock_timeout = '2s' AS $$
-- Drops the partitions that end with the given day or before it, but never one of the last week,
-- whatever the caller asks. Returns how many. Gives way after 2 s of waiting: the next call tries
-- again.
DECLARE
    part record;
    dropped integer := 0;
BEGIN
    before := least(before, (now() AT TIME ZONE 'UTC')::date - 7);
    FOR part IN
        SELECT each.name FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid,
            public.storage_samplechunk_partition(resolution, to_date(
                CASE WHEN relname ~ '^storage_samplechunk_(raw_[0-9]{8}|5m_[0-9]{6}|1h_[0-9]{4})$'
                THEN rpad(substring(relname FROM '[0-9]+$'), 8, '0101') END, 'YYYYMMDD')) AS each
        WHERE inhparent = ('public.' || each.parent)::regclass
            AND relname = each.name AND each.until <= before
        ORDER BY relname
    LOOP
        EXECUTE format('DROP TABLE public.%I', part.name);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
EXCEPTION WHEN lock_not_available THEN
    RETURN 0;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("storage", "0035_no_volume_hours")]
    operations = [migrations.RunSQL(DROP, migrations.RunSQL.noop)]
