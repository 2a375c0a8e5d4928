"""What each host did in its last round of samples, in a row of its own; indexes that find what is
wrong without looking at what is well."""

import django.db.models.deletion
from django.db import migrations, models


FILL = """
INSERT INTO storage_hostactivity (host_id, at, read_iops, write_iops, dirty_bytes, sold_bytes)
SELECT host_id, at, sum(sample.reads * 1000::float8 / dt_ms),
    sum(sample.writes * 1000::float8 / dt_ms), coalesce(sum(dirty_bytes), 0)::bigint,
    coalesce(sum(sample.cache_size_bytes) FILTER (WHERE volume.cache_plan_id IS NOT NULL
        AND volume.retired_at IS NULL AND volume.destroyed_at IS NULL), 0)::bigint
FROM storage_latestsample sample JOIN storage_volume volume ON volume.id = volume_id
WHERE (host_id, at) IN (SELECT host_id, max(at) FROM storage_latestsample GROUP BY host_id)
GROUP BY host_id, at
"""
"""The next round of each host says which volume was the busiest."""


class Migration(migrations.Migration):

    dependencies = [
        ('storage', '0018_load_series'),
    ]

    operations = [
        migrations.CreateModel(
            name='HostActivity',
            fields=[
                ('host', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='activity', serialize=False, to='storage.host')),
                ('at', models.DateTimeField()),
                ('read_iops', models.FloatField(null=True)),
                ('write_iops', models.FloatField(null=True)),
                ('busy', models.FloatField(null=True)),
                ('busiest_id', models.BigIntegerField(null=True)),
                ('dirty_bytes', models.BigIntegerField(default=0)),
                ('sold_bytes', models.BigIntegerField(default=0)),
            ],
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.AddIndex(
            model_name='hostoutline',
            index=models.Index(condition=models.Q(('findings', []), _negated=True), fields=['host'], name='outline_with_findings'),
        ),
        migrations.AddIndex(
            model_name='placement',
            index=models.Index(condition=models.Q(('missing_since__isnull', False), ('until', None)), fields=['host'], name='placement_missing'),
        ),
    ]
