import django.core.validators
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('storage', '0046_wall_of_hosts_themselves'),
    ]

    operations = [
        pgtrigger.migrations.RemoveTrigger(
            model_name='host',
            name='host_touched',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='host',
            name='insert_insert',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='host',
            name='update_update',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='host',
            name='delete_delete',
        ),
        migrations.AddField(
            model_name='host',
            name='busy_percent',
            field=models.PositiveSmallIntegerField(db_default=90, default=90, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)]),
        ),
        migrations.AddField(
            model_name='host',
            name='slow_read_ms',
            field=models.PositiveIntegerField(db_default=20, default=20, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(10000)]),
        ),
        migrations.AddField(
            model_name='hostevent',
            name='busy_percent',
            field=models.PositiveSmallIntegerField(db_default=90, default=90, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)]),
        ),
        migrations.AddField(
            model_name='hostevent',
            name='slow_read_ms',
            field=models.PositiveIntegerField(db_default=20, default=20, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(10000)]),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='host',
            trigger=pgtrigger.compiler.Trigger(name='host_touched', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."accepted_faults" IS DISTINCT FROM (NEW."accepted_faults") OR OLD."account" IS DISTINCT FROM (NEW."account") OR OLD."address" IS DISTINCT FROM (NEW."address") OR OLD."busy_percent" IS DISTINCT FROM (NEW."busy_percent") OR OLD."created_at" IS DISTINCT FROM (NEW."created_at") OR OLD."dirty_limit_percent" IS DISTINCT FROM (NEW."dirty_limit_percent") OR OLD."error" IS DISTINCT FROM (NEW."error") OR OLD."host_key" IS DISTINCT FROM (NEW."host_key") OR OLD."host_key_seen" IS DISTINCT FROM (NEW."host_key_seen") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."key" IS DISTINCT FROM (NEW."key") OR OLD."leaves_writeback" IS DISTINCT FROM (NEW."leaves_writeback") OR OLD."machine_id" IS DISTINCT FROM (NEW."machine_id") OR OLD."maintenance_reason" IS DISTINCT FROM (NEW."maintenance_reason") OR OLD."maintenance_since" IS DISTINCT FROM (NEW."maintenance_since") OR OLD."maintenance_until" IS DISTINCT FROM (NEW."maintenance_until") OR OLD."name" IS DISTINCT FROM (NEW."name") OR OLD."port" IS DISTINCT FROM (NEW."port") OR OLD."problems" IS DISTINCT FROM (NEW."problems") OR OLD."public_key" IS DISTINCT FROM (NEW."public_key") OR OLD."removed_at" IS DISTINCT FROM (NEW."removed_at") OR OLD."site" IS DISTINCT FROM (NEW."site") OR OLD."slow_read_ms" IS DISTINCT FROM (NEW."slow_read_ms") OR OLD."state" IS DISTINCT FROM (NEW."state") OR OLD."tags" IS DISTINCT FROM (NEW."tags") OR OLD."window_end" IS DISTINCT FROM (NEW."window_end") OR OLD."window_start" IS DISTINCT FROM (NEW."window_start"))', func='NEW.updated_at = clock_timestamp(); RETURN NEW;', hash='bec8783dcc0d8cf03a2a3ab073a951b943b8a044', operation='UPDATE', pgid='pgtrigger_host_touched_4decb', table='storage_host', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='host',
            trigger=pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "storage_hostevent" ("accepted_faults", "account", "address", "busy_percent", "created_at", "dirty_limit_percent", "host_key", "host_key_seen", "id", "key", "leaves_writeback", "machine_id", "maintenance_reason", "maintenance_since", "maintenance_until", "name", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "port", "public_key", "removed_at", "site", "slow_read_ms", "state", "tags", "window_end", "window_start") VALUES (NEW."accepted_faults", NEW."account", NEW."address", NEW."busy_percent", NEW."created_at", NEW."dirty_limit_percent", NEW."host_key", NEW."host_key_seen", NEW."id", NEW."key", NEW."leaves_writeback", NEW."machine_id", NEW."maintenance_reason", NEW."maintenance_since", NEW."maintenance_until", NEW."name", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'insert\', NEW."id", NEW."port", NEW."public_key", NEW."removed_at", NEW."site", NEW."slow_read_ms", NEW."state", NEW."tags", NEW."window_end", NEW."window_start"); RETURN NULL;', hash='4021714ff6806a9861dc3f5dfaba21589676f400', operation='INSERT', pgid='pgtrigger_insert_insert_3e7a0', table='storage_host', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='host',
            trigger=pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."accepted_faults" IS DISTINCT FROM (NEW."accepted_faults") OR OLD."account" IS DISTINCT FROM (NEW."account") OR OLD."address" IS DISTINCT FROM (NEW."address") OR OLD."busy_percent" IS DISTINCT FROM (NEW."busy_percent") OR OLD."created_at" IS DISTINCT FROM (NEW."created_at") OR OLD."dirty_limit_percent" IS DISTINCT FROM (NEW."dirty_limit_percent") OR OLD."host_key" IS DISTINCT FROM (NEW."host_key") OR OLD."host_key_seen" IS DISTINCT FROM (NEW."host_key_seen") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."key" IS DISTINCT FROM (NEW."key") OR OLD."leaves_writeback" IS DISTINCT FROM (NEW."leaves_writeback") OR OLD."machine_id" IS DISTINCT FROM (NEW."machine_id") OR OLD."maintenance_reason" IS DISTINCT FROM (NEW."maintenance_reason") OR OLD."maintenance_since" IS DISTINCT FROM (NEW."maintenance_since") OR OLD."maintenance_until" IS DISTINCT FROM (NEW."maintenance_until") OR OLD."name" IS DISTINCT FROM (NEW."name") OR OLD."port" IS DISTINCT FROM (NEW."port") OR OLD."public_key" IS DISTINCT FROM (NEW."public_key") OR OLD."removed_at" IS DISTINCT FROM (NEW."removed_at") OR OLD."site" IS DISTINCT FROM (NEW."site") OR OLD."slow_read_ms" IS DISTINCT FROM (NEW."slow_read_ms") OR OLD."state" IS DISTINCT FROM (NEW."state") OR OLD."tags" IS DISTINCT FROM (NEW."tags") OR OLD."window_end" IS DISTINCT FROM (NEW."window_end") OR OLD."window_start" IS DISTINCT FROM (NEW."window_start"))', func='INSERT INTO "storage_hostevent" ("accepted_faults", "account", "address", "busy_percent", "created_at", "dirty_limit_percent", "host_key", "host_key_seen", "id", "key", "leaves_writeback", "machine_id", "maintenance_reason", "maintenance_since", "maintenance_until", "name", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "port", "public_key", "removed_at", "site", "slow_read_ms", "state", "tags", "window_end", "window_start") VALUES (OLD."accepted_faults", OLD."account", OLD."address", OLD."busy_percent", OLD."created_at", OLD."dirty_limit_percent", OLD."host_key", OLD."host_key_seen", OLD."id", OLD."key", OLD."leaves_writeback", OLD."machine_id", OLD."maintenance_reason", OLD."maintenance_since", OLD."maintenance_until", OLD."name", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'update\', OLD."id", OLD."port", OLD."public_key", OLD."removed_at", OLD."site", OLD."slow_read_ms", OLD."state", OLD."tags", OLD."window_end", OLD."window_start"); RETURN NULL;', hash='8a9eaa5c001baf9d654daf0ab073893e73f654f1', operation='UPDATE', pgid='pgtrigger_update_update_50e66', table='storage_host', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='host',
            trigger=pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "storage_hostevent" ("accepted_faults", "account", "address", "busy_percent", "created_at", "dirty_limit_percent", "host_key", "host_key_seen", "id", "key", "leaves_writeback", "machine_id", "maintenance_reason", "maintenance_since", "maintenance_until", "name", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "port", "public_key", "removed_at", "site", "slow_read_ms", "state", "tags", "window_end", "window_start") VALUES (OLD."accepted_faults", OLD."account", OLD."address", OLD."busy_percent", OLD."created_at", OLD."dirty_limit_percent", OLD."host_key", OLD."host_key_seen", OLD."id", OLD."key", OLD."leaves_writeback", OLD."machine_id", OLD."maintenance_reason", OLD."maintenance_since", OLD."maintenance_until", OLD."name", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'delete\', OLD."id", OLD."port", OLD."public_key", OLD."removed_at", OLD."site", OLD."slow_read_ms", OLD."state", OLD."tags", OLD."window_end", OLD."window_start"); RETURN NULL;', hash='d118d8092749f6d5a837d7046ea3bd76b9441a4b', operation='DELETE', pgid='pgtrigger_delete_delete_cf738', table='storage_host', when='AFTER')),
        ),
    ]
