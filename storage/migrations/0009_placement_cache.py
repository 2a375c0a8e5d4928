"""A place notes which cache its volume has.

The columns have defaults in the database, so that a panel of the version before can go on adding
places during an upgrade. What the last samples tell is filled in here; the next inventory of each
host says the rest.
"""

from django.db import migrations, models

FILL = """
UPDATE storage_placement placement
SET cache_technology = CASE last.technology WHEN 1 THEN 'lvmcache' ELSE 'bcache' END,
    cache_mode = left(last.cache_mode, 32),
    cache_bytes = last.cache_size_bytes
FROM storage_latestsample last
WHERE last.volume_id = placement.volume_id
    AND last.host_id = placement.host_id
    AND last.technology IN (1, 2)
    AND placement.until IS NULL
    AND placement.lv_uuid IS NOT NULL;
"""


def _text(length: int) -> models.CharField:
    return models.CharField(blank=True, db_default="", default="", max_length=length)


class Migration(migrations.Migration):
    dependencies = [("storage", "0008_overview_rows")]

    operations = [
        migrations.AddField(
            "placement", "cache_bytes", models.BigIntegerField(blank=True, null=True)
        ),
        migrations.AddField("placement", "cache_mode", _text(32)),
        migrations.AddField("placement", "cache_technology", _text(8)),
        migrations.AddField("placement", "cache_trouble", _text(200)),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
