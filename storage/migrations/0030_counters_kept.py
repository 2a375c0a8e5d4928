"""All that the agent counts is kept: flushes, discards, exact times, what a cache does on each leg,
what goes by bcache; and the disks, arrays and partitions of hosts, of which no customer sees a row.
"""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
from django.db import migrations, models

import storage.naming
from storage.row_security import STAFF_ONLY, enclose

INTS = (
    "discards discard_ms flushes flush_ms suspended_ms slow_reads slow_writes slow_read_ms "
    "slow_write_ms slow_busy_ms slow_weighted_ms fast_busy_ms"
).split()
BIGS = (
    "discard_sectors read_us write_us fast_reads fast_writes fast_read_ms fast_write_ms "
    "fast_weighted_ms counted_hits counted_misses bypass_hits bypass_misses metadata_used_bytes "
    "metadata_total_bytes"
).split()
ARRAYS = "slow_latency_counts fast_latency_counts".split()
COLUMNS = [
    *((name, models.IntegerField(null=True), "integer") for name in INTS),
    *((name, models.BigIntegerField(null=True), "bigint") for name in BIGS),
    *(
        (
            name,
            django.contrib.postgres.fields.ArrayField(
                models.BigIntegerField(), null=True, size=None
            ),
            "bigint[]",
        )
        for name in ARRAYS
    ),
]
DEVICE_COLUMNS = [
    ("dt_ms", models.IntegerField(null=True)),
    ("reads", models.IntegerField(null=True)),
    ("reads_merged", models.BigIntegerField(null=True)),
    ("read_sectors", models.BigIntegerField(null=True)),
    ("read_ms", models.IntegerField(null=True)),
    ("writes", models.IntegerField(null=True)),
    ("writes_merged", models.BigIntegerField(null=True)),
    ("write_sectors", models.BigIntegerField(null=True)),
    ("write_ms", models.IntegerField(null=True)),
    ("in_flight", models.BigIntegerField(null=True)),
    ("busy_ms", models.IntegerField(null=True)),
    ("weighted_ms", models.IntegerField(null=True)),
    ("discards", models.BigIntegerField(null=True)),
    ("discards_merged", models.BigIntegerField(null=True)),
    ("discard_sectors", models.BigIntegerField(null=True)),
    ("discard_ms", models.IntegerField(null=True)),
    ("flushes", models.BigIntegerField(null=True)),
    ("flush_ms", models.IntegerField(null=True)),
]
FIGURES = (
    "reads writes read_sectors write_sectors read_ms write_ms busy_ms weighted_ms"
).split()
TYPES = {models.IntegerField: "integer", models.BigIntegerField: "bigint"}
TABLE = f"""
CREATE TABLE storage_devicesample (
    ts timestamptz NOT NULL,
    device_id bigint NOT NULL,
    {", ".join(f"{name} {TYPES[type(field)]}" for name, field in DEVICE_COLUMNS)},
    PRIMARY KEY (device_id, ts),
    CONSTRAINT device_sample_has_figures CHECK (
        dt_ms > 0 AND dt_ms IS NOT NULL AND {" AND ".join(f"{name} IS NOT NULL" for name in FIGURES)}
    )
) PARTITION BY RANGE (ts);
CREATE INDEX device_sample_ts ON storage_devicesample
    USING brin (ts) WITH (pages_per_range = 16, autosummarize = on);
"""

MAKE = """
CREATE FUNCTION storage_devicesample_make(day date) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
-- Makes the partition of one UTC day; false when it was there.
DECLARE
    name text := format('storage_devicesample_%s', to_char(day, 'YYYYMMDD'));
BEGIN
    IF to_regclass('public.' || name) IS NOT NULL THEN
        RETURN false;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('storage_devicesample'));
    IF to_regclass('public.' || name) IS NOT NULL THEN
        RETURN false;
    END IF;
    EXECUTE format('CREATE TABLE public.%I (LIKE public.storage_devicesample INCLUDING ALL)', name);
    -- Rights on the parent are enough; rights on a partition would pass by its row policies.
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'tiercel_app') THEN
        EXECUTE format('REVOKE ALL ON public.%I FROM tiercel_app', name);
    END IF;
    EXECUTE format(
        'ALTER TABLE public.storage_devicesample ATTACH PARTITION public.%I'
        ' FOR VALUES FROM (%L) TO (%L)',
        name, to_char(day, 'YYYY-MM-DD') || ' 00:00:00+00',
        to_char(day + 1, 'YYYY-MM-DD') || ' 00:00:00+00'
    );
    RETURN true;
END $$;
"""

DROP = """
CREATE FUNCTION storage_devicesample_drop(before date) RETURNS integer
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
        WHERE inhparent = 'public.storage_devicesample'::regclass
          AND relname ~ '^storage_devicesample_[0-9]{8}$'
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
REVOKE ALL ON FUNCTION storage_devicesample_make(date), storage_devicesample_drop(date) FROM PUBLIC;
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'tiercel_app') THEN
        GRANT EXECUTE ON FUNCTION storage_devicesample_make(date), storage_devicesample_drop(date)
            TO tiercel_app;
    END IF;
END $$;
SELECT storage_devicesample_make(day::date)
FROM generate_series(now() AT TIME ZONE 'UTC', now() AT TIME ZONE 'UTC' + interval '1 day', '1 day')
    AS day;
"""
ADDED = ", ".join(f"ADD COLUMN {name} {kind}" for name, _, kind in COLUMNS)
REMOVED = ", ".join(f"DROP COLUMN {name}" for name, _, _ in COLUMNS)


def add_columns(model):
    return [migrations.AddField(model, name, field.clone()) for name, field, _ in COLUMNS]


def figures_constraint():
    nulls = {f"{name}__isnull": False for name in ("dt_ms", *FIGURES)}
    return models.CheckConstraint(
        condition=models.Q(dt_ms__gt=0, **nulls), name="device_sample_has_figures"
    )


class Migration(migrations.Migration):
    dependencies = [("storage", "0029_plain_names")]

    operations = [
        # One statement, so that each partition is changed once.
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    f"ALTER TABLE storage_sample {ADDED}", f"ALTER TABLE storage_sample {REMOVED}"
                ),
                migrations.RunSQL(
                    f"ALTER TABLE storage_latestsample {ADDED}",
                    f"ALTER TABLE storage_latestsample {REMOVED}",
                ),
            ],
            state_operations=[*add_columns("sample"), *add_columns("latestsample")],
        ),
        migrations.CreateModel(
            name="Device",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "key",
                    models.CharField(
                        default=storage.naming.new_key, editable=False, max_length=26, unique=True
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("disk", "Disk"), ("array", "Array"), ("partition", "Partition")
                        ],
                        max_length=16,
                    ),
                ),
                ("identity", models.CharField(max_length=200)),
                ("name", models.CharField(max_length=80)),
                ("boot_id", models.CharField(blank=True, max_length=255)),
                ("size_bytes", models.BigIntegerField()),
                ("is_fast", models.BooleanField()),
                ("vg_name", models.CharField(blank=True, max_length=127)),
                ("gone_at", models.DateTimeField(blank=True, null=True)),
                (
                    "host",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="devices",
                        to="storage.host",
                    ),
                ),
                (
                    "part_of",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="parts",
                        to="storage.device",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("host", "kind", "identity"), name="device_once_a_host"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["disk", "array", "partition"])),
                        name="device_kind_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="LatestDeviceSample",
            fields=[
                *((name, field.clone()) for name, field in DEVICE_COLUMNS),
                (
                    "device",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="latest_sample",
                        serialize=False,
                        to="storage.device",
                    ),
                ),
                ("at", models.DateTimeField()),
                ("boot_id", models.CharField(max_length=255)),
                ("boottime_ns", models.BigIntegerField()),
                ("seq", models.BigIntegerField(null=True)),
                ("counters", models.JSONField()),
                ("gap", models.CharField(blank=True, max_length=32)),
            ],
            options={"abstract": False},
        ),
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(TABLE, "DROP TABLE storage_devicesample"),
                migrations.RunSQL(MAKE, "DROP FUNCTION storage_devicesample_make(date)"),
                migrations.RunSQL(DROP, "DROP FUNCTION storage_devicesample_drop(date)"),
                migrations.RunSQL(RIGHTS, migrations.RunSQL.noop),
            ],
            state_operations=[
                migrations.CreateModel(
                    name="DeviceSample",
                    fields=[
                        *((name, field.clone()) for name, field in DEVICE_COLUMNS),
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "device_id",
                                "ts",
                                blank=True,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("ts", models.DateTimeField()),
                        (
                            "device",
                            models.ForeignKey(
                                db_constraint=False,
                                db_index=False,
                                on_delete=django.db.models.deletion.DO_NOTHING,
                                related_name="+",
                                to="storage.device",
                            ),
                        ),
                    ],
                    options={
                        "indexes": [
                            django.contrib.postgres.indexes.BrinIndex(
                                autosummarize=True,
                                fields=["ts"],
                                name="device_sample_ts",
                                pages_per_range=16,
                            )
                        ],
                        "constraints": [figures_constraint()],
                    },
                )
            ],
        ),
        *(
            migrations.RunSQL(*enclose(table, STAFF_ONLY))
            for table in (
                "storage_device",
                "storage_latestdevicesample",
                "storage_devicesample",
            )
        ),
    ]
