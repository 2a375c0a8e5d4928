"""Where requests came from, and what a job is past its point of no return or rolling back, get
the names of what they are."""

import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations

from storage.migrations._operations import run_sql


class Migration(migrations.Migration):
    dependencies = (("jobs", "0030_notified_alerts"),)
    operations = (
        pgtrigger.migrations.RemoveTrigger(model_name="job", name="job_touched"),
        migrations.RenameField("job", "door", "origin"),
        migrations.RenameField("job", "last_door", "last_origin"),
        migrations.RenameField("job", "falls_back", "is_rolling_back"),
        migrations.RenameField("job", "turned", "is_irrevocable"),
        migrations.RenameField("step", "turns", "makes_irrevocable"),
        migrations.RenameField("auditentry", "door", "origin"),
        migrations.RenameField("bulkchange", "door", "origin"),
        migrations.RenameField("mediacheck", "door", "origin"),
        pgtrigger.migrations.AddTrigger(
            model_name="job",
            trigger=pgtrigger.compiler.Trigger(name='job_touched', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."actor_id" IS DISTINCT FROM (NEW."actor_id") OR OLD."address" IS DISTINCT FROM (NEW."address") OR OLD."awaits" IS DISTINCT FROM (NEW."awaits") OR OLD."benchmark_run_id" IS DISTINCT FROM (NEW."benchmark_run_id") OR OLD."cache_plan_id" IS DISTINCT FROM (NEW."cache_plan_id") OR OLD."cancel_requested" IS DISTINCT FROM (NEW."cancel_requested") OR OLD."created_at" IS DISTINCT FROM (NEW."created_at") OR OLD."currency" IS DISTINCT FROM (NEW."currency") OR OLD."disks" IS DISTINCT FROM (NEW."disks") OR OLD."dry_run" IS DISTINCT FROM (NEW."dry_run") OR OLD."ended_at" IS DISTINCT FROM (NEW."ended_at") OR OLD."error" IS DISTINCT FROM (NEW."error") OR OLD."explanation" IS DISTINCT FROM (NEW."explanation") OR OLD."fallback" IS DISTINCT FROM (NEW."fallback") OR OLD."fingerprint" IS DISTINCT FROM (NEW."fingerprint") OR OLD."host_id" IS DISTINCT FROM (NEW."host_id") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."is_irrevocable" IS DISTINCT FROM (NEW."is_irrevocable") OR OLD."is_rolling_back" IS DISTINCT FROM (NEW."is_rolling_back") OR OLD."key" IS DISTINCT FROM (NEW."key") OR OLD."kind" IS DISTINCT FROM (NEW."kind") OR OLD."last_actor_id" IS DISTINCT FROM (NEW."last_actor_id") OR OLD."last_address" IS DISTINCT FROM (NEW."last_address") OR OLD."last_origin" IS DISTINCT FROM (NEW."last_origin") OR OLD."last_request_id" IS DISTINCT FROM (NEW."last_request_id") OR OLD."last_token" IS DISTINCT FROM (NEW."last_token") OR OLD."not_before" IS DISTINCT FROM (NEW."not_before") OR OLD."origin" IS DISTINCT FROM (NEW."origin") OR OLD."price_minor" IS DISTINCT FROM (NEW."price_minor") OR OLD."request_id" IS DISTINCT FROM (NEW."request_id") OR OLD."started_at" IS DISTINCT FROM (NEW."started_at") OR OLD."state" IS DISTINCT FROM (NEW."state") OR OLD."token" IS DISTINCT FROM (NEW."token") OR OLD."volume_id" IS DISTINCT FROM (NEW."volume_id") OR OLD."window_end" IS DISTINCT FROM (NEW."window_end") OR OLD."window_start" IS DISTINCT FROM (NEW."window_start") OR OLD."window_zone" IS DISTINCT FROM (NEW."window_zone") OR OLD."wish" IS DISTINCT FROM (NEW."wish"))', func='NEW.updated_at = clock_timestamp(); RETURN NEW;', hash='86338995e761f2540b9e85a1f12d1256feda251c', operation='UPDATE', pgid='pgtrigger_job_touched_44c37', table='jobs_job', when='BEFORE')),
        ),
        *run_sql(__file__, "events"),
    )
