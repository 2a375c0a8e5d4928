"""Volumes that were only ever previewed until now: they lie nowhere, and no job is to make them."""

from django.db import migrations

MARK = """
UPDATE storage_volume AS volume SET previewed_at = created_at
WHERE destroyed_at IS NULL AND adopted_at IS NULL AND NOT managed
    AND EXISTS (SELECT FROM storage_placement WHERE volume_id = volume.id)
    AND NOT EXISTS (
        SELECT FROM storage_placement WHERE volume_id = volume.id AND lv_uuid IS NOT NULL
    )
    AND EXISTS (
        SELECT FROM jobs_job WHERE volume_id = volume.id AND dry_run AND kind = 'create-volume'
    )
    AND NOT EXISTS (SELECT FROM jobs_job WHERE volume_id = volume.id AND NOT dry_run)
"""


class Migration(migrations.Migration):

    dependencies = [("storage", "0015_previewed_volumes"), ("jobs", "0010_last_order")]

    operations = [migrations.RunSQL(MARK, migrations.RunSQL.noop)]
