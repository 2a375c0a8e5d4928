import django.db.models.deletion
import django.db.models.functions.datetime
import storage.naming
from django.conf import settings
from django.db import migrations, models

from storage.migrations._operations import run_sql


class Migration(migrations.Migration):

    dependencies = [
        ('storage', '0054_note_of_volumes'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Benchmark',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(default=storage.naming.new_key, editable=False, max_length=26, unique=True)),
                ('title', models.CharField(blank=True, max_length=128)),
                ('origin', models.CharField(choices=[('ordered', 'ordered here'), ('imported', 'imported'), ('published', 'published')], default='ordered', max_length=9)),
                ('purpose', models.CharField(choices=[('plain', 'comparison'), ('gate', 'kernel gate')], default='plain', max_length=5)),
                ('spec', models.JSONField(blank=True, default=dict)),
                ('state', models.CharField(choices=[('wanted', 'waiting'), ('running', 'running'), ('paused', 'paused'), ('done', 'done'), ('failed', 'failed'), ('cancelled', 'cancelled')], default='wanted', max_length=9)),
                ('address', models.GenericIPAddressField(blank=True, null=True)),
                ('door', models.CharField(max_length=8)),
                ('token', models.CharField(blank=True, max_length=64)),
                ('window_start', models.TimeField(blank=True, null=True)),
                ('window_end', models.TimeField(blank=True, null=True)),
                ('window_zone', models.CharField(blank=True, max_length=64)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('begun_at', models.DateTimeField(blank=True, null=True)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('not_before', models.DateTimeField(blank=True, db_default=django.db.models.functions.datetime.Now(), null=True)),
                ('waits_since', models.DateTimeField(blank=True, null=True)),
                ('message', models.CharField(blank=True, max_length=512)),
                ('correction', models.CharField(blank=True, max_length=512)),
                ('share_key', models.CharField(blank=True, max_length=32)),
                ('share_until', models.DateTimeField(blank=True, null=True)),
                ('actor', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('host', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='benchmarks', to='storage.host')),
            ],
            options={
                'ordering': ('-id',),
            },
        ),
        migrations.CreateModel(
            name='BenchmarkRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('key', models.CharField(default=storage.naming.new_key, editable=False, max_length=26, unique=True)),
                ('cell', models.JSONField(blank=True, default=dict)),
                ('repeat', models.PositiveSmallIntegerField(default=0)),
                ('state', models.CharField(choices=[('wanted', 'waiting'), ('running', 'running'), ('done', 'done'), ('failed', 'failed'), ('void', 'stopped early'), ('cancelled', 'cancelled')], default='wanted', max_length=9)),
                ('boot_id', models.CharField(blank=True, max_length=64)),
                ('kernel', models.CharField(blank=True, max_length=128)),
                ('fio_version', models.CharField(blank=True, max_length=32)),
                ('outcome', models.CharField(blank=True, max_length=8)),
                ('reached_seconds', models.PositiveIntegerField(blank=True, null=True)),
                ('begun_at', models.DateTimeField(blank=True, null=True)),
                ('ended_at', models.DateTimeField(blank=True, null=True)),
                ('message', models.CharField(blank=True, max_length=512)),
                ('correction', models.CharField(blank=True, max_length=512)),
                ('conditions', models.JSONField(blank=True, default=dict)),
                ('summary', models.JSONField(blank=True, null=True)),
                ('is_on_host', models.BooleanField(default=False)),
                ('is_put_off', models.BooleanField(default=False)),
                ('benchmark', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='runs', to='storage.benchmark')),
            ],
            options={
                'ordering': ('number',),
            },
        ),
        migrations.CreateModel(
            name='BenchmarkFile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=64)),
                ('packed', models.BinaryField()),
                ('size_bytes', models.PositiveBigIntegerField()),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='files', to='storage.benchmarkrun')),
            ],
            options={
                'ordering': ('name',),
            },
        ),
        migrations.AddIndex(
            model_name='benchmark',
            index=models.Index(condition=models.Q(('ended_at', None), ('not_before__isnull', False)), fields=['not_before'], name='benchmark_to_follow'),
        ),
        migrations.AddConstraint(
            model_name='benchmark',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('host__isnull', False), ('origin', 'ordered')), models.Q(models.Q(('origin', 'ordered'), _negated=True), ('ended_at__isnull', False), ('state', 'done')), _connector='OR'), name='benchmark_of_host_or_done'),
        ),
        migrations.AddConstraint(
            model_name='benchmark',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('ended_at__isnull', False), ('state__in', ('done', 'failed'))), ('state', 'cancelled'), models.Q(('ended_at', None), ('state__in', ('wanted', 'running', 'paused'))), _connector='OR'), name='benchmark_over_has_end'),
        ),
        migrations.AddConstraint(
            model_name='benchmark',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('window_end', None), ('window_start', None), ('window_zone', '')), models.Q(('window_end__isnull', False), ('window_start__isnull', False), models.Q(('window_zone', ''), _negated=True)), _connector='OR'), name='benchmark_window_whole'),
        ),
        migrations.AddConstraint(
            model_name='benchmark',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('share_key', ''), ('share_until', None)), models.Q(models.Q(('share_key', ''), _negated=True), ('share_until__isnull', False)), _connector='OR'), name='benchmark_share_whole'),
        ),
        migrations.AddConstraint(
            model_name='benchmark',
            constraint=models.UniqueConstraint(condition=models.Q(('share_key', ''), _negated=True), fields=('share_key',), name='benchmark_share_key_once'),
        ),
        migrations.AddConstraint(
            model_name='benchmarkrun',
            constraint=models.UniqueConstraint(fields=('benchmark', 'number'), name='benchmark_run_number_once'),
        ),
        migrations.AddConstraint(
            model_name='benchmarkrun',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['wanted', 'running', 'done', 'failed', 'void', 'cancelled'])), name='benchmark_run_state_known'),
        ),
        migrations.AddConstraint(
            model_name='benchmarkrun',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('ended_at', None), ('state__in', ('wanted', 'running'))), models.Q(models.Q(('state__in', ('wanted', 'running')), _negated=True), ('ended_at__isnull', False)), _connector='OR'), name='benchmark_run_over_has_end'),
        ),
        migrations.AddConstraint(
            model_name='benchmarkrun',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'running')), fields=('benchmark',), name='benchmark_one_run_at_a_time'),
        ),
        migrations.AddConstraint(
            model_name='benchmarkfile',
            constraint=models.UniqueConstraint(fields=('run', 'name'), name='benchmark_file_name_once'),
        ),
        *run_sql(__file__, 'row_security'),
    ]
