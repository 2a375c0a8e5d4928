"""Samples packed into chunks, in partitions by resolution and time, and the two functions that make
and drop partitions, as those of `0002_samples`."""

from django.db import migrations, models

from storage.row_security import VOLUMES, enclose

TABLE = """
CREATE TABLE storage_samplechunk (
    kind smallint NOT NULL,
    subject_id bigint NOT NULL,
    start timestamptz NOT NULL,
    resolution smallint NOT NULL,
    format smallint NOT NULL,
    rows integer NOT NULL,
    is_rolled_up boolean NOT NULL,
    data bytea NOT NULL,
    PRIMARY KEY (kind, subject_id, start, resolution)
) PARTITION BY LIST (resolution);
-- It is packed already.
ALTER TABLE storage_samplechunk ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE INDEX chunk_to_roll_up ON storage_samplechunk (kind, subject_id, start)
    WHERE NOT is_rolled_up;
CREATE TABLE storage_samplechunk_raw PARTITION OF storage_samplechunk
    FOR VALUES IN (0) PARTITION BY RANGE (start);
CREATE TABLE storage_samplechunk_5m PARTITION OF storage_samplechunk
    FOR VALUES IN (1) PARTITION BY RANGE (start);
CREATE TABLE storage_samplechunk_1h PARTITION OF storage_samplechunk
    FOR VALUES IN (2) PARTITION BY RANGE (start);
CREATE TABLE storage_samplechunk_1d PARTITION OF storage_samplechunk FOR VALUES IN (3);
DO $$ BEGIN
    -- Rights on the parent are enough; rights on a partition would pass by its row policies.
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'tiercel_app') THEN
        REVOKE ALL ON storage_samplechunk_raw, storage_samplechunk_5m, storage_samplechunk_1h,
            storage_samplechunk_1d FROM tiercel_app;
    END IF;
END $$;
"""

PARTITION = """
CREATE FUNCTION storage_samplechunk_partition(resolution integer, day date,
    OUT parent text, OUT name text, OUT first date, OUT until date)
LANGUAGE sql STABLE SET search_path = pg_catalog, public, pg_temp AS $$
-- The partition in which chunks of that day are: of a day as measured, of a month of 5 minutes, of
-- a year of hours.
    SELECT 'storage_samplechunk_' || suffix,
        'storage_samplechunk_' || suffix || '_' || to_char(date_trunc(unit, day::timestamp), format),
        date_trunc(unit, day::timestamp)::date,
        (date_trunc(unit, day::timestamp) + ('1 ' || unit)::interval)::date
    FROM (VALUES (0, 'raw', 'day', 'YYYYMMDD'), (1, '5m', 'month', 'YYYYMM'),
        (2, '1h', 'year', 'YYYY')) AS length (n, suffix, unit, format)
    WHERE n = resolution
$$;
"""

MAKE = """
CREATE FUNCTION storage_samplechunk_make(resolution integer, day date) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
-- Makes the partition of that UTC day; false when it was there, or all are in one.
DECLARE
    part record;
BEGIN
    SELECT * INTO part FROM public.storage_samplechunk_partition(resolution, day);
    IF part.name IS NULL OR to_regclass('public.' || part.name) IS NOT NULL THEN
        RETURN false;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('storage_samplechunk'));
    IF to_regclass('public.' || part.name) IS NOT NULL THEN
        RETURN false;
    END IF;
    EXECUTE format('CREATE TABLE public.%I (LIKE public.%I INCLUDING ALL)', part.name, part.parent);
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'tiercel_app') THEN
        EXECUTE format('REVOKE ALL ON public.%I FROM tiercel_app', part.name);
    END IF;
    EXECUTE format(
        'ALTER TABLE public.%I ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)',
        part.parent, part.name, to_char(part.first, 'YYYY-MM-DD') || ' 00:00:00+00',
        to_char(part.until, 'YYYY-MM-DD') || ' 00:00:00+00'
    );
    RETURN true;
END $$;
"""

DROP = """
CREATE FUNCTION storage_samplechunk_drop(resolution integer, before date) RETURNS integer
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
                rpad(substring(relname FROM '[0-9]+$'), 8, '0101'), 'YYYYMMDD')) AS each
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

RIGHTS = """
REVOKE ALL ON FUNCTION storage_samplechunk_partition(integer, date),
    storage_samplechunk_make(integer, date), storage_samplechunk_drop(integer, date) FROM PUBLIC;
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'tiercel_app') THEN
        GRANT EXECUTE ON FUNCTION storage_samplechunk_make(integer, date),
            storage_samplechunk_drop(integer, date) TO tiercel_app;
    END IF;
END $$;
"""
KINDS = [(0, "volume"), (1, "device"), (2, "host"), (3, "fleet")]
RESOLUTIONS = [(0, "as measured"), (1, "5 minutes"), (2, "1 hour"), (3, "1 day")]


class Migration(migrations.Migration):
    dependencies = [("storage", "0030_counters_kept")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(TABLE, "DROP TABLE storage_samplechunk"),
                migrations.RunSQL(
                    PARTITION, "DROP FUNCTION storage_samplechunk_partition(integer, date)"
                ),
                migrations.RunSQL(MAKE, "DROP FUNCTION storage_samplechunk_make(integer, date)"),
                migrations.RunSQL(DROP, "DROP FUNCTION storage_samplechunk_drop(integer, date)"),
                migrations.RunSQL(RIGHTS, migrations.RunSQL.noop),
                # The first is `storage.models.SubjectKind.VOLUME`; the others are for staff.
                migrations.RunSQL(
                    *enclose("storage_samplechunk", f"kind = 0 AND subject_id = {VOLUMES}")
                ),
            ],
            state_operations=[
                migrations.CreateModel(
                    name="SampleChunk",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "kind",
                                "subject_id",
                                "start",
                                "resolution",
                                blank=True,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("kind", models.SmallIntegerField(choices=KINDS)),
                        ("subject_id", models.BigIntegerField()),
                        ("resolution", models.SmallIntegerField(choices=RESOLUTIONS)),
                        ("start", models.DateTimeField()),
                        ("format", models.SmallIntegerField()),
                        ("rows", models.IntegerField()),
                        ("is_rolled_up", models.BooleanField()),
                        ("data", models.BinaryField()),
                    ],
                    options={
                        "indexes": [
                            models.Index(
                                condition=models.Q(("is_rolled_up", False)),
                                fields=["kind", "subject_id", "start"],
                                name="chunk_to_roll_up",
                            )
                        ],
                    },
                )
            ],
        ),
    ]
