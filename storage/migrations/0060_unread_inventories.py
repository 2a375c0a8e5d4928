"""Why the last inventory of a host could not be read, and since when its parts differ."""

import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('storage', '0059_origins'),
    ]

    operations = [
        pgtrigger.migrations.RemoveTrigger(
            model_name='host',
            name='host_touched',
        ),
        migrations.AddField(
            model_name='host',
            name='parts_changed_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='host',
            name='refresh_error',
            field=models.JSONField(blank=True, db_default=models.Value({}, models.JSONField()), default=dict),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='host',
            trigger=pgtrigger.compiler.Trigger(name='host_touched', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."accepted_faults" IS DISTINCT FROM (NEW."accepted_faults") OR OLD."account" IS DISTINCT FROM (NEW."account") OR OLD."address" IS DISTINCT FROM (NEW."address") OR OLD."busy_percent" IS DISTINCT FROM (NEW."busy_percent") OR OLD."cache_window_end" IS DISTINCT FROM (NEW."cache_window_end") OR OLD."cache_window_start" IS DISTINCT FROM (NEW."cache_window_start") OR OLD."cache_window_zone" IS DISTINCT FROM (NEW."cache_window_zone") OR OLD."created_at" IS DISTINCT FROM (NEW."created_at") OR OLD."dirty_limit_percent" IS DISTINCT FROM (NEW."dirty_limit_percent") OR OLD."error" IS DISTINCT FROM (NEW."error") OR OLD."host_key" IS DISTINCT FROM (NEW."host_key") OR OLD."host_key_seen" IS DISTINCT FROM (NEW."host_key_seen") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."key" IS DISTINCT FROM (NEW."key") OR OLD."leaves_writeback" IS DISTINCT FROM (NEW."leaves_writeback") OR OLD."machine_id" IS DISTINCT FROM (NEW."machine_id") OR OLD."maintenance_reason" IS DISTINCT FROM (NEW."maintenance_reason") OR OLD."maintenance_since" IS DISTINCT FROM (NEW."maintenance_since") OR OLD."maintenance_until" IS DISTINCT FROM (NEW."maintenance_until") OR OLD."name" IS DISTINCT FROM (NEW."name") OR OLD."parts_changed_at" IS DISTINCT FROM (NEW."parts_changed_at") OR OLD."port" IS DISTINCT FROM (NEW."port") OR OLD."problems" IS DISTINCT FROM (NEW."problems") OR OLD."public_key" IS DISTINCT FROM (NEW."public_key") OR OLD."refresh_error" IS DISTINCT FROM (NEW."refresh_error") OR OLD."removed_at" IS DISTINCT FROM (NEW."removed_at") OR OLD."site" IS DISTINCT FROM (NEW."site") OR OLD."slow_read_ms" IS DISTINCT FROM (NEW."slow_read_ms") OR OLD."state" IS DISTINCT FROM (NEW."state") OR OLD."tags" IS DISTINCT FROM (NEW."tags") OR OLD."window_end" IS DISTINCT FROM (NEW."window_end") OR OLD."window_start" IS DISTINCT FROM (NEW."window_start"))', func='NEW.updated_at = clock_timestamp(); RETURN NEW;', hash='aeee433563a7e187f5913bc388312457deb5699c', operation='UPDATE', pgid='pgtrigger_host_touched_4decb', table='storage_host', when='BEFORE')),
        ),
    ]
