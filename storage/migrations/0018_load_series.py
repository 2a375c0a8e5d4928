"""Loads that charts can draw: latencies, writes and sizes of a host, and the fleet's own rows.

Rows that are there have no latencies and sizes; `manage.py add_up_loads` makes them from samples.
"""

from django.contrib.postgres.fields import ArrayField
from django.db import migrations, models

OLD = (
    "dt_ms busy_ms reads writes read_sectors write_sectors read_ms write_ms read_hits read_misses "
    "bcache_reads bcache_read_sectors backing_read_sectors"
).split()
COUNTS = "write_hits write_misses promotions demotions ssd_write_sectors".split()
SIZES = (
    "cache_size_bytes used_bytes dirty_bytes sold_bytes fast_total_bytes fast_free_bytes"
).split()
NEW = [
    *((name, models.BigIntegerField(default=0)) for name in COUNTS),
    ("latency_counts", ArrayField(models.BigIntegerField(), default=list)),
    *((name, models.BigIntegerField(null=True)) for name in SIZES),
]


class Migration(migrations.Migration):
    dependencies = [("storage", "0017_natural_order_sites_and_tags")]

    operations = [
        migrations.CreateModel(
            name="FleetLoad",
            fields=[
                ("bucket", models.DateTimeField(primary_key=True, serialize=False)),
                *((name, models.BigIntegerField()) for name in OLD),
                *((name, field.clone()) for name, field in NEW),
            ],
        ),
        *(
            migrations.AddField(model_name="hostload", name=name, field=field)
            for name, field in NEW
        ),
        migrations.AddIndex(
            model_name="hostload",
            index=models.Index(fields=["host", "bucket"], name="hostload_of_host"),
        ),
    ]
