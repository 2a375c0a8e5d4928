import django.db.models.deletion
import pgtrigger.compiler
import pgtrigger.migrations
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('jobs', '0027_windows'),
        ('storage', '0055_benchmarks'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        pgtrigger.migrations.RemoveTrigger(
            model_name='job',
            name='job_touched',
        ),
        migrations.RemoveConstraint(
            model_name='job',
            name='job_kind_known',
        ),
        migrations.RemoveConstraint(
            model_name='job',
            name='job_of_volume_or_ssd',
        ),
        migrations.RemoveConstraint(
            model_name='job',
            name='job_one_ssd_per_host',
        ),
        migrations.AddField(
            model_name='job',
            name='benchmark_run',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='jobs', to='storage.benchmarkrun'),
        ),
        migrations.AlterField(
            model_name='job',
            name='kind',
            field=models.CharField(choices=[('create-volume', 'Create volume'), ('tag-volume', 'Manage existing volume'), ('extend-volume', 'Extend volume'), ('move-volume', 'Move volume'), ('retire-volume', 'Retire volume'), ('restore-volume', 'Restore volume'), ('destroy-volume', 'Destroy volume'), ('add-cache', 'Add cache'), ('set-cache', 'Change cache'), ('replace-cache', 'Replace cache'), ('flush-cache', 'Flush cache'), ('remove-cache', 'Remove cache'), ('drop-cache', 'Drop lost cache'), ('repair-volume', 'Repair volume'), ('prepare-ssd', 'Add SSD'), ('replace-member', 'Replace disk of array'), ('benchmark', 'Benchmark run')], max_length=16),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='job',
            trigger=pgtrigger.compiler.Trigger(name='job_touched', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."actor_id" IS DISTINCT FROM (NEW."actor_id") OR OLD."address" IS DISTINCT FROM (NEW."address") OR OLD."awaits" IS DISTINCT FROM (NEW."awaits") OR OLD."benchmark_run_id" IS DISTINCT FROM (NEW."benchmark_run_id") OR OLD."cache_plan_id" IS DISTINCT FROM (NEW."cache_plan_id") OR OLD."cancel_requested" IS DISTINCT FROM (NEW."cancel_requested") OR OLD."created_at" IS DISTINCT FROM (NEW."created_at") OR OLD."currency" IS DISTINCT FROM (NEW."currency") OR OLD."disks" IS DISTINCT FROM (NEW."disks") OR OLD."door" IS DISTINCT FROM (NEW."door") OR OLD."dry_run" IS DISTINCT FROM (NEW."dry_run") OR OLD."ended_at" IS DISTINCT FROM (NEW."ended_at") OR OLD."error" IS DISTINCT FROM (NEW."error") OR OLD."explanation" IS DISTINCT FROM (NEW."explanation") OR OLD."fallback" IS DISTINCT FROM (NEW."fallback") OR OLD."falls_back" IS DISTINCT FROM (NEW."falls_back") OR OLD."fingerprint" IS DISTINCT FROM (NEW."fingerprint") OR OLD."host_id" IS DISTINCT FROM (NEW."host_id") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."key" IS DISTINCT FROM (NEW."key") OR OLD."kind" IS DISTINCT FROM (NEW."kind") OR OLD."last_actor_id" IS DISTINCT FROM (NEW."last_actor_id") OR OLD."last_address" IS DISTINCT FROM (NEW."last_address") OR OLD."last_door" IS DISTINCT FROM (NEW."last_door") OR OLD."last_request_id" IS DISTINCT FROM (NEW."last_request_id") OR OLD."last_token" IS DISTINCT FROM (NEW."last_token") OR OLD."not_before" IS DISTINCT FROM (NEW."not_before") OR OLD."price_minor" IS DISTINCT FROM (NEW."price_minor") OR OLD."request_id" IS DISTINCT FROM (NEW."request_id") OR OLD."started_at" IS DISTINCT FROM (NEW."started_at") OR OLD."state" IS DISTINCT FROM (NEW."state") OR OLD."token" IS DISTINCT FROM (NEW."token") OR OLD."turned" IS DISTINCT FROM (NEW."turned") OR OLD."volume_id" IS DISTINCT FROM (NEW."volume_id") OR OLD."window_end" IS DISTINCT FROM (NEW."window_end") OR OLD."window_start" IS DISTINCT FROM (NEW."window_start") OR OLD."window_zone" IS DISTINCT FROM (NEW."window_zone") OR OLD."wish" IS DISTINCT FROM (NEW."wish"))', func='NEW.updated_at = clock_timestamp(); RETURN NEW;', hash='21d67673b2f73ab9f8b38b308cc9bc03de42da85', operation='UPDATE', pgid='pgtrigger_job_touched_44c37', table='jobs_job', when='BEFORE')),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['create-volume', 'tag-volume', 'extend-volume', 'move-volume', 'retire-volume', 'restore-volume', 'destroy-volume', 'add-cache', 'set-cache', 'replace-cache', 'flush-cache', 'remove-cache', 'drop-cache', 'repair-volume', 'prepare-ssd', 'replace-member', 'benchmark'])), name='job_kind_known'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind__in', ('prepare-ssd', 'replace-member', 'benchmark')), ('volume', None)), models.Q(models.Q(('kind__in', ('prepare-ssd', 'replace-member', 'benchmark')), _negated=True), ('volume__isnull', False)), _connector='OR'), name='job_of_volume_or_ssd'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('benchmark_run', None), models.Q(('kind', 'benchmark'), _negated=True)), models.Q(('benchmark_run__isnull', False), ('kind', 'benchmark')), models.Q(('dry_run', True), ('kind', 'benchmark')), _connector='OR'), name='job_of_benchmark_run'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.UniqueConstraint(condition=models.Q(('dry_run', False), ('kind__in', ('prepare-ssd', 'replace-member')), models.Q(('state__in', ('succeeded', 'failed', 'cancelled')), _negated=True)), fields=('host',), name='job_one_ssd_per_host', violation_error_message='Another job is about the disks of this host.'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.UniqueConstraint(condition=models.Q(('dry_run', False), ('kind', 'benchmark'), models.Q(('state__in', ('succeeded', 'failed', 'cancelled')), _negated=True)), fields=('host',), name='job_one_benchmark_per_host', violation_error_message='Another benchmark runs on this host.'),
        ),
    ]
