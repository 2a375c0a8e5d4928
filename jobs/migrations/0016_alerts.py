"""Alerts, what happened to them, and silences; customers never see them."""

import datetime
import django.db.models.deletion
import django.db.models.functions.datetime
import storage.naming
from django.conf import settings
from django.db import migrations, models

from storage.row_security import STAFF_ONLY, enclose


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0015_bulk_change_address'),
        ('storage', '0023_volume_hours'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Alert',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(default=storage.naming.new_key, editable=False, max_length=26, unique=True)),
                ('fingerprint', models.CharField(max_length=32)),
                ('family', models.CharField(max_length=64)),
                ('code', models.CharField(blank=True, max_length=64)),
                ('severity', models.CharField(max_length=8)),
                ('rank', models.PositiveSmallIntegerField()),
                ('worst_rank', models.PositiveSmallIntegerField()),
                ('job_error', models.CharField(blank=True, max_length=64)),
                ('subject', models.CharField(blank=True, max_length=255)),
                ('message', models.TextField(blank=True)),
                ('correction', models.TextField(blank=True)),
                ('since', models.DateTimeField(blank=True, null=True)),
                ('count', models.PositiveIntegerField(default=1)),
                ('first_seen_at', models.DateTimeField()),
                ('present_since', models.DateTimeField()),
                ('absent_since', models.DateTimeField(blank=True, null=True)),
                ('opened_at', models.DateTimeField(blank=True, null=True)),
                ('told_at', models.DateTimeField(blank=True, null=True)),
                ('last_told_at', models.DateTimeField(blank=True, null=True)),
                ('resolved_at', models.DateTimeField(blank=True, null=True)),
                ('hushed_by', models.CharField(blank=True, choices=[('', '-'), ('silence', 'silenced'), ('maintenance', 'maintenance')], max_length=11)),
                ('acknowledged_at', models.DateTimeField(blank=True, null=True)),
                ('acknowledged_reason', models.CharField(blank=True, max_length=200)),
                ('acknowledged_until', models.DateTimeField(blank=True, null=True)),
                ('acknowledged_count', models.PositiveIntegerField(default=0)),
                ('tier', models.PositiveSmallIntegerField(default=1)),
                ('tier_at', models.DateTimeField(blank=True, null=True)),
                ('openings', models.PositiveIntegerField(default=1)),
                ('is_flapping', models.BooleanField(default=False)),
                ('swing', models.DurationField(default=datetime.timedelta)),
                ('spell', models.DurationField(default=datetime.timedelta)),
                ('acknowledged_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('cause', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='effects', to='jobs.alert')),
                ('host', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='alerts', to='storage.host')),
                ('job', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='alerts', to='jobs.job')),
                ('volume', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='alerts', to='storage.volume')),
            ],
            options={
                'ordering': ('-id',),
            },
        ),
        migrations.CreateModel(
            name='AlertEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('kind', models.CharField(choices=[('opened', 'opened'), ('remains', 'still there'), ('worsened', 'became worse'), ('flapping', 'flaps'), ('escalated', 'escalated'), ('acknowledged', 'acknowledged'), ('unacknowledged', 'acknowledgement ended'), ('silenced', 'silenced'), ('resolved', 'resolved')], max_length=14)),
                ('is_told', models.BooleanField(default=False)),
                ('tier', models.PositiveSmallIntegerField(default=1)),
                ('rank', models.PositiveSmallIntegerField()),
                ('text', models.TextField(blank=True)),
                ('routed_at', models.DateTimeField(blank=True, null=True)),
                ('actor', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('alert', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='events', to='jobs.alert')),
            ],
            options={
                'ordering': ('-id',),
            },
        ),
        migrations.CreateModel(
            name='AlertRound',
            fields=[
                ('id', models.BooleanField(default=True, primary_key=True, serialize=False)),
                ('at', models.DateTimeField()),
                ('heartbeat_at', models.DateTimeField(blank=True, null=True)),
                ('heartbeat_error', models.CharField(blank=True, db_default='', default='', max_length=300)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('id', True)), name='alert_round_once')],
            },
        ),
        migrations.CreateModel(
            name='Silence',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(default=storage.naming.new_key, editable=False, max_length=26, unique=True)),
                ('code', models.CharField(blank=True, max_length=64)),
                ('reason', models.CharField(max_length=200)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('until', models.DateTimeField()),
                ('author', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('ended_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('host', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='silences', to='storage.host')),
                ('volume', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='silences', to='storage.volume')),
            ],
            options={
                'ordering': ('-until', '-id'),
            },
        ),
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(fields=['fingerprint', '-resolved_at'], name='alert_past'),
        ),
        migrations.AddIndex(
            model_name='alert',
            index=models.Index(condition=models.Q(('resolved_at', None)), fields=['rank', 'opened_at'], name='alert_unresolved'),
        ),
        migrations.AddConstraint(
            model_name='alert',
            constraint=models.UniqueConstraint(condition=models.Q(('resolved_at', None)), fields=('fingerprint',), name='alert_once_while_it_lasts'),
        ),
        migrations.AddConstraint(
            model_name='alert',
            constraint=models.CheckConstraint(condition=models.Q(('hushed_by__in', ('', 'silence', 'maintenance'))), name='alert_hush_known'),
        ),
        migrations.AddIndex(
            model_name='alertevent',
            index=models.Index(condition=models.Q(('is_told', True), ('routed_at', None)), fields=['id'], name='alert_event_unrouted'),
        ),
        migrations.AddConstraint(
            model_name='alertevent',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['opened', 'remains', 'worsened', 'flapping', 'escalated', 'acknowledged', 'unacknowledged', 'silenced', 'resolved'])), name='alert_event_known'),
        ),
        migrations.AddConstraint(
            model_name='silence',
            constraint=models.CheckConstraint(condition=models.Q(('host__isnull', False), ('volume__isnull', False), models.Q(('code', ''), _negated=True), _connector='OR'), name='silence_of_something'),
        ),
        migrations.RunSQL(*enclose("jobs_alert", STAFF_ONLY)),
        migrations.RunSQL(*enclose("jobs_alertevent", STAFF_ONLY)),
        migrations.RunSQL(*enclose("jobs_silence", STAFF_ONLY)),
    ]
