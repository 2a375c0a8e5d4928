"""A plan with neither size nor ratio passed the old check. None could be ordered; those that are
there are taken off sale and get the smallest size there is, so that the check can hold."""

from django.db import migrations, models

MEND = """
UPDATE storage_cacheplan SET size_bytes = 64 * 1024 * 1024, on_offer = false,
    description = 'Had no size: make a new plan instead.'
WHERE size_bytes IS NULL AND ratio_percent IS NULL
"""


class Migration(migrations.Migration):
    dependencies = [("storage", "0013_retired_seen")]

    operations = [
        migrations.RunSQL(MEND, migrations.RunSQL.noop),
        migrations.RemoveConstraint("cacheplan", "cache_plan_size_or_ratio"),
        migrations.AddConstraint(
            "cacheplan",
            models.CheckConstraint(
                condition=models.Q(
                    size_bytes__isnull=False, size_bytes__gt=0, ratio_percent__isnull=True
                )
                | models.Q(
                    size_bytes__isnull=True,
                    ratio_percent__isnull=False,
                    ratio_percent__gt=0,
                    ratio_percent__lte=100,
                ),
                name="cache_plan_size_or_ratio",
                violation_error_message="Give a size or a ratio of the volume, not both.",
            ),
        ),
    ]
