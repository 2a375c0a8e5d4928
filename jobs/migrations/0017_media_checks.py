"""Checks of disks and arrays that people asked for; customers never see one."""

import django.db.models.deletion
import django.db.models.functions.datetime
import storage.naming
from django.conf import settings
from django.db import migrations, models

from storage.row_security import STAFF_ONLY, enclose


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0016_alerts'),
        ('storage', '0025_disk_decisions'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='MediaCheck',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(default=storage.naming.new_key, editable=False, max_length=26, unique=True)),
                ('array', models.CharField(blank=True, max_length=32)),
                ('array_uuid', models.CharField(blank=True, max_length=128)),
                ('kind', models.CharField(choices=[('short', 'Short self-test'), ('long', 'Long self-test'), ('array', 'Array check')], max_length=8)),
                ('state', models.CharField(choices=[('asked', 'waiting for the host'), ('running', 'running'), ('passed', 'passed'), ('failed', 'failed'), ('stopped', 'stopped'), ('refused', 'refused')], default='asked', max_length=8)),
                ('address', models.GenericIPAddressField(blank=True, null=True)),
                ('door', models.CharField(choices=[('page', 'page'), ('api', 'API'), ('portal', 'customer page')], default='page', max_length=8)),
                ('token', models.CharField(blank=True, max_length=64)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('not_before', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('minutes', models.PositiveIntegerField(blank=True, null=True)),
                ('hours_before', models.BigIntegerField(blank=True, null=True)),
                ('remaining_percent', models.PositiveSmallIntegerField(blank=True, null=True)),
                ('message', models.CharField(blank=True, max_length=512)),
                ('correction', models.CharField(blank=True, max_length=512)),
                ('actor', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('disk', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='checks', to='storage.physicaldisk')),
                ('host', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='media_checks', to='storage.host')),
            ],
            options={
                'ordering': ('-id',),
                'indexes': [models.Index(condition=models.Q(('state__in', ('asked', 'running'))), fields=['not_before'], name='check_unfinished')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('disk', None), ('kind', 'array')), models.Q(models.Q(('kind', 'array'), _negated=True), ('disk__isnull', False)), _connector='OR'), name='check_of_disk_or_array'), models.UniqueConstraint(condition=models.Q(('state__in', ('asked', 'running'))), fields=('disk',), name='check_one_per_disk'), models.UniqueConstraint(condition=models.Q(('disk', None), ('state__in', ('asked', 'running'))), fields=('host', 'array_uuid'), name='check_one_per_array')],
            },
        ),
        migrations.RunSQL(*enclose("jobs_mediacheck", STAFF_ONLY)),
    ]
