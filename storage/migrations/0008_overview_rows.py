"""Small rows for the pages over all hosts; they fill as hosts report."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

SUMS = (
    "dt_ms busy_ms reads writes read_sectors write_sectors read_ms write_ms read_hits read_misses "
    "bcache_reads bcache_read_sectors backing_read_sectors"
).split()


class Migration(migrations.Migration):
    dependencies = [("storage", "0007_history_rights")]

    operations = [
        migrations.CreateModel(
            name="HostOutline",
            fields=[
                (
                    "host",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="outline",
                        serialize=False,
                        to="storage.host",
                    ),
                ),
                ("fast_total_bytes", models.BigIntegerField(default=0)),
                ("fast_free_bytes", models.BigIntegerField(default=0)),
                ("slow_total_bytes", models.BigIntegerField(default=0)),
                ("slow_free_bytes", models.BigIntegerField(default=0)),
                (
                    "cache_names",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=127),
                        blank=True,
                        default=list,
                        size=None,
                    ),
                ),
                ("findings", models.JSONField(blank=True, default=list)),
            ],
        ),
        migrations.CreateModel(
            name="HostLoad",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "bucket",
                        "host_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("bucket", models.DateTimeField()),
                (
                    "host",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="storage.host",
                    ),
                ),
                *((name, models.BigIntegerField()) for name in SUMS),
            ],
        ),
    ]
