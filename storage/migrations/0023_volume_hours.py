"""Samples by the hour. They fill by themselves, a day at a time, from the samples that are kept."""

import django.db.models.deletion
from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models

from storage.row_security import VOLUMES, enclose

SUMS = (
    "intervals dt_ms cache_ms moves_ms ssd_ms ssd_write_sectors reads writes read_sectors "
    "write_sectors read_ms write_ms busy_ms weighted_ms read_hits read_misses write_hits "
    "write_misses demotions promotions bcache_reads bcache_read_sectors backing_read_sectors"
).split()
SIZES = "cache_size_bytes used_bytes dirty_bytes".split()


class Migration(migrations.Migration):
    dependencies = [("storage", "0022_top_volumes")]

    operations = [
        migrations.CreateModel(
            name="VolumeHour",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "volume_id",
                        "bucket",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                (
                    "volume",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="storage.volume",
                    ),
                ),
                ("bucket", models.DateTimeField(db_index=True)),
                *((name, models.BigIntegerField()) for name in SUMS),
                ("latency_counts", ArrayField(models.BigIntegerField())),
                *((name, models.BigIntegerField(null=True)) for name in SIZES),
            ],
        ),
        migrations.RunSQL(*enclose("storage_volumehour", f"volume_id = {VOLUMES}")),
    ]
