import django.db.models.deletion
from django.db import migrations, models

from storage.migrations._operations import run_sql


class Migration(migrations.Migration):

    dependencies = [
        ('storage', '0052_cache_windows'),
    ]

    operations = [
        migrations.CreateModel(
            name='ForecastRecord',
            fields=[
                ('technology', models.CharField(max_length=8, primary_key=True, serialize=False)),
                ('orders', models.PositiveIntegerField()),
                ('within', models.PositiveIntegerField()),
                ('widened', models.FloatField()),
                ('judged_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='MeasuredRate',
            fields=[
                ('pk', models.CompositePrimaryKey('host_id', 'vg_uuid', 'kind', blank=True, editable=False, primary_key=True, serialize=False)),
                ('vg_uuid', models.CharField(max_length=38)),
                ('kind', models.CharField(choices=[('promotion_share', 'promotions for each miss'), ('hdd_iops', 'slow I/Os a second of the HDDs'), ('ssd_read_ms', 'milliseconds of a read from SSD')], max_length=15)),
                ('hardware', models.CharField(blank=True, max_length=200)),
                ('amount', models.FloatField()),
                ('weight', models.FloatField()),
                ('measured_at', models.DateTimeField()),
                ('host', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='storage.host')),
            ],
            options={
                'indexes': [models.Index(fields=['kind', 'hardware'], name='rate_hardware')],
            },
        ),
        *run_sql(__file__, 'row_security'),
    ]
