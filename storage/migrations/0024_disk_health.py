"""The disks of hosts as they describe themselves. No customer sees a row."""

import django.db.models.deletion
import storage.naming
from django.db import migrations, models

from storage.row_security import STAFF_ONLY, enclose


TABLES = ("storage_diskround", "storage_physicaldisk", "storage_diskreading")


class Migration(migrations.Migration):

    dependencies = [
        ('storage', "0023_volume_hours"),
    ]

    operations = [
        migrations.CreateModel(
            name='DiskRound',
            fields=[
                ('host', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='disk_round', serialize=False, to='storage.host')),
                ('tried_at', models.DateTimeField()),
                ('answered_at', models.DateTimeField(null=True)),
                ('complete_at', models.DateTimeField(null=True)),
                ('installed', models.BooleanField(default=True)),
                ('version', models.CharField(blank=True, max_length=80)),
                ('message', models.CharField(blank=True, max_length=512)),
            ],
        ),
        migrations.CreateModel(
            name='PhysicalDisk',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(default=storage.naming.new_key, editable=False, max_length=26, unique=True)),
                ('identity', models.CharField(max_length=200)),
                ('name', models.CharField(blank=True, max_length=80)),
                ('device', models.CharField(max_length=80)),
                ('kind', models.CharField(blank=True, max_length=80)),
                ('state', models.CharField(max_length=16)),
                ('message', models.CharField(blank=True, max_length=512)),
                ('asked_at', models.DateTimeField()),
                ('read_at', models.DateTimeField(blank=True, null=True)),
                ('health', models.JSONField(blank=True, default=dict)),
                ('baseline', models.JSONField(blank=True, default=dict)),
                ('calibration', models.JSONField(blank=True, default=dict)),
                ('findings', models.JSONField(blank=True, default=list)),
                ('entered_unit_bytes', models.BigIntegerField(blank=True, null=True)),
                ('entered_rated_bytes', models.BigIntegerField(blank=True, null=True)),
                ('host', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='physical_disks', to='storage.host')),
            ],
        ),
        migrations.CreateModel(
            name='DiskReading',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField()),
                ('counter', models.CharField(blank=True, max_length=120)),
                ('written_raw', models.BigIntegerField(null=True)),
                ('used_percent', models.IntegerField(null=True)),
                ('temperature_celsius', models.SmallIntegerField(null=True)),
                ('error_counts', models.JSONField(default=dict)),
                ('disk', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='readings', to='storage.physicaldisk')),
            ],
        ),
        migrations.AddConstraint(
            model_name='physicaldisk',
            constraint=models.UniqueConstraint(fields=('host', 'identity'), name='disk_once_a_host'),
        ),
        migrations.AddConstraint(
            model_name='physicaldisk',
            constraint=models.CheckConstraint(condition=models.Q(('entered_unit_bytes__isnull', True), ('entered_unit_bytes__gt', 0), _connector='OR'), name='disk_unit_above_0'),
        ),
        migrations.AddConstraint(
            model_name='physicaldisk',
            constraint=models.CheckConstraint(condition=models.Q(('entered_rated_bytes__isnull', True), ('entered_rated_bytes__gt', 0), _connector='OR'), name='disk_rating_above_0'),
        ),
        migrations.AddConstraint(
            model_name='diskreading',
            constraint=models.UniqueConstraint(fields=('disk', 'at'), name='disk_reading_once'),
        ),
        migrations.AddIndex(
            model_name='physicaldisk',
            index=models.Index(condition=models.Q(('findings', []), _negated=True), fields=['host'], name='disk_with_findings'),
        ),
        *(migrations.RunSQL(*enclose(table, STAFF_ONLY)) for table in TABLES),
    ]
