"""Samples in daily partitions, the latest sample of each volume, and the two functions that make
and drop partitions.

The app's role owns no table, so it cannot do either by itself: the functions run with their
owner's rights and do nothing else. A partition is made apart and then attached, because that
lets others read and write meanwhile.
"""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
from django.db import migrations, models

TABLE = """
CREATE TABLE storage_sample (
    ts timestamptz NOT NULL,
    volume_id bigint NOT NULL,
    dt_ms integer,
    reads integer,
    writes integer,
    read_sectors bigint,
    write_sectors bigint,
    read_ms integer,
    write_ms integer,
    busy_ms integer,
    weighted_ms integer,
    read_hits bigint,
    read_misses bigint,
    write_hits bigint,
    write_misses bigint,
    demotions bigint,
    promotions bigint,
    slow_read_sectors bigint,
    slow_write_sectors bigint,
    fast_read_sectors bigint,
    fast_write_sectors bigint,
    latency_counts bigint[],
    technology smallint NOT NULL,
    cache_size_bytes bigint,
    used_bytes bigint,
    dirty_bytes bigint,
    PRIMARY KEY (volume_id, ts),
    CONSTRAINT sample_has_figures CHECK (
        dt_ms > 0 AND dt_ms IS NOT NULL AND reads IS NOT NULL AND writes IS NOT NULL
        AND read_sectors IS NOT NULL AND write_sectors IS NOT NULL
        AND read_ms IS NOT NULL AND write_ms IS NOT NULL
    )
) PARTITION BY RANGE (ts);
CREATE INDEX sample_ts ON storage_sample
    USING brin (ts) WITH (pages_per_range = 16, autosummarize = on);
"""

MAKE = """
CREATE FUNCTION storage_sample_make(day date) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
-- Makes the partition of one UTC day; false when it was there.
DECLARE
    name text := format('storage_sample_%s', to_char(day, 'YYYYMMDD'));
BEGIN
    IF to_regclass('public.' || name) IS NOT NULL THEN
        RETURN false;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('storage_sample'));
    IF to_regclass('public.' || name) IS NOT NULL THEN
        RETURN false;
    END IF;
    EXECUTE format('CREATE TABLE public.%I (LIKE public.storage_sample INCLUDING ALL)', name);
    -- Rights on the parent are enough; rights on a partition would pass by its row policies.
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'tiercel_app') THEN
        EXECUTE format('REVOKE ALL ON public.%I FROM tiercel_app', name);
    END IF;
    EXECUTE format(
        'ALTER TABLE public.storage_sample ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)',
        name, to_char(day, 'YYYY-MM-DD') || ' 00:00:00+00',
        to_char(day + 1, 'YYYY-MM-DD') || ' 00:00:00+00'
    );
    RETURN true;
END $$;
"""

DROP = """
CREATE FUNCTION storage_sample_drop(before date) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp SET lock_timeout = '2s' AS $$
-- Drops the partitions of days before the given one, but never of the last week, whatever the
-- caller asks. Returns how many. Gives way after 2 s of waiting: the next call tries again.
DECLARE
    name text;
    dropped integer := 0;
BEGIN
    before := least(before, (now() AT TIME ZONE 'UTC')::date - 7);
    FOR name IN
        SELECT relname FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
        WHERE inhparent = 'public.storage_sample'::regclass
          AND relname ~ '^storage_sample_[0-9]{8}$'
          AND to_date(right(relname, 8), 'YYYYMMDD') < before
        ORDER BY relname
    LOOP
        EXECUTE format('DROP TABLE public.%I', name);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
EXCEPTION WHEN lock_not_available THEN
    RETURN 0;
END $$;
"""

RIGHTS = """
REVOKE ALL ON FUNCTION storage_sample_make(date), storage_sample_drop(date) FROM PUBLIC;
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'tiercel_app') THEN
        GRANT EXECUTE ON FUNCTION storage_sample_make(date), storage_sample_drop(date)
            TO tiercel_app;
    END IF;
END $$;
SELECT storage_sample_make(day::date)
FROM generate_series(now() AT TIME ZONE 'UTC', now() AT TIME ZONE 'UTC' + interval '1 day', '1 day')
    AS day;
"""


def interval_fields():
    big = (
        "read_hits read_misses write_hits write_misses demotions promotions slow_read_sectors "
        "slow_write_sectors fast_read_sectors fast_write_sectors"
    ).split()
    counts = models.BigIntegerField()
    return [
        ("dt_ms", models.IntegerField(null=True)),
        ("reads", models.IntegerField(null=True)),
        ("writes", models.IntegerField(null=True)),
        ("read_sectors", models.BigIntegerField(null=True)),
        ("write_sectors", models.BigIntegerField(null=True)),
        ("read_ms", models.IntegerField(null=True)),
        ("write_ms", models.IntegerField(null=True)),
        ("busy_ms", models.IntegerField(null=True)),
        ("weighted_ms", models.IntegerField(null=True)),
        *((name, models.BigIntegerField(null=True)) for name in big),
        ("latency_counts", django.contrib.postgres.fields.ArrayField(counts, null=True, size=None)),
        ("technology", models.SmallIntegerField(default=0)),
        ("cache_size_bytes", models.BigIntegerField(null=True)),
        ("used_bytes", models.BigIntegerField(null=True)),
        ("dirty_bytes", models.BigIntegerField(null=True)),
    ]


class Migration(migrations.Migration):
    dependencies = [("storage", "0001_initial")]

    operations = [
        migrations.CreateModel(
            name="LatestSample",
            fields=[
                *interval_fields(),
                (
                    "volume",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="latest_sample",
                        serialize=False,
                        to="storage.volume",
                    ),
                ),
                (
                    "host",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="storage.host",
                    ),
                ),
                ("at", models.DateTimeField()),
                ("boot_id", models.CharField(max_length=255)),
                ("boottime_ns", models.BigIntegerField()),
                ("counters", models.JSONField()),
                ("gap", models.CharField(blank=True, max_length=32)),
                ("cache_gap", models.CharField(blank=True, max_length=32)),
                ("cache_mode", models.CharField(blank=True, max_length=255)),
                ("cache_state", models.CharField(blank=True, max_length=32)),
                ("suspended", models.BooleanField(default=False)),
            ],
            options={"abstract": False},
        ),
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(TABLE, "DROP TABLE storage_sample"),
                migrations.RunSQL(MAKE, "DROP FUNCTION storage_sample_make(date)"),
                migrations.RunSQL(DROP, "DROP FUNCTION storage_sample_drop(date)"),
                migrations.RunSQL(RIGHTS, migrations.RunSQL.noop),
            ],
            state_operations=[
                migrations.CreateModel(
                    name="Sample",
                    fields=[
                        *interval_fields(),
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "volume_id",
                                "ts",
                                blank=True,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("ts", models.DateTimeField()),
                        (
                            "volume",
                            models.ForeignKey(
                                db_constraint=False,
                                db_index=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                to="storage.volume",
                            ),
                        ),
                    ],
                    options={
                        "indexes": [
                            django.contrib.postgres.indexes.BrinIndex(
                                autosummarize=True,
                                fields=["ts"],
                                name="sample_ts",
                                pages_per_range=16,
                            )
                        ],
                        "constraints": [
                            models.CheckConstraint(
                                condition=models.Q(
                                    ("dt_ms__gt", 0),
                                    ("dt_ms__isnull", False),
                                    ("read_ms__isnull", False),
                                    ("read_sectors__isnull", False),
                                    ("reads__isnull", False),
                                    ("write_ms__isnull", False),
                                    ("write_sectors__isnull", False),
                                    ("writes__isnull", False),
                                ),
                                name="sample_has_figures",
                            )
                        ],
                    },
                )
            ],
        ),
    ]
