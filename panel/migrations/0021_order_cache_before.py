"""The cache that a volume had before an order, whoever had set it up."""

from django.db import migrations, models

BACKFILL = """
UPDATE panel_order SET from_cache = job.fallback->'cache'
FROM jobs_job job
WHERE job.id = panel_order.job_id AND jsonb_typeof(job.fallback->'cache') = 'object'
"""


class Migration(migrations.Migration):
    dependencies = [("panel", "0020_revoked_links")]

    operations = [
        migrations.AddField(
            model_name="order",
            name="from_cache",
            field=models.JSONField(blank=True, null=True),
        ),
        migrations.RunSQL(BACKFILL, migrations.RunSQL.noop),
    ]
