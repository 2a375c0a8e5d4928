"""What happened to hosts, which no customer sees; and the faults of kernels that people accept."""

import django.db.models.deletion
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

from storage.row_security import STAFF_ONLY, enclose


class Migration(migrations.Migration):

    dependencies = [
        ('storage', '0027_cache_condition'),
    ]

    operations = [
        migrations.CreateModel(
            name='HostChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField()),
                ('kind', models.CharField(choices=[('boot', 'Restart'), ('kernel', 'Kernel'), ('agent', 'Agent'), ('lvm', 'LVM'), ('bcache_tools', 'bcache-tools'), ('disk_added', 'Disk added'), ('disk_gone', 'Disk gone'), ('disk_changed', 'Disk changed')], max_length=16)),
                ('subject', models.CharField(blank=True, max_length=200)),
                ('before', models.CharField(blank=True, max_length=200)),
                ('after', models.CharField(blank=True, max_length=200)),
                ('count', models.PositiveIntegerField(default=1)),
            ],
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
            name='accepted_faults',
            field=models.JSONField(blank=True, db_default={}, default=dict),
        ),
        migrations.AddField(
            model_name='hostevent',
            name='accepted_faults',
            field=models.JSONField(blank=True, db_default={}, default=dict),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='host',
            trigger=pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "storage_hostevent" ("accepted_faults", "account", "address", "created_at", "dirty_limit_percent", "host_key", "host_key_seen", "id", "key", "leaves_writeback", "machine_id", "maintenance_reason", "maintenance_since", "maintenance_until", "name", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "port", "public_key", "removed_at", "site", "state", "tags", "window_end", "window_start") VALUES (NEW."accepted_faults", NEW."account", NEW."address", NEW."created_at", NEW."dirty_limit_percent", NEW."host_key", NEW."host_key_seen", NEW."id", NEW."key", NEW."leaves_writeback", NEW."machine_id", NEW."maintenance_reason", NEW."maintenance_since", NEW."maintenance_until", NEW."name", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'insert\', NEW."id", NEW."port", NEW."public_key", NEW."removed_at", NEW."site", NEW."state", NEW."tags", NEW."window_end", NEW."window_start"); RETURN NULL;', hash='84eee456362650b22a1081f9edd6549596a7b604', operation='INSERT', pgid='pgtrigger_insert_insert_3e7a0', table='storage_host', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='host',
            trigger=pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."accepted_faults" IS DISTINCT FROM (NEW."accepted_faults") OR OLD."account" IS DISTINCT FROM (NEW."account") OR OLD."address" IS DISTINCT FROM (NEW."address") OR OLD."created_at" IS DISTINCT FROM (NEW."created_at") OR OLD."dirty_limit_percent" IS DISTINCT FROM (NEW."dirty_limit_percent") OR OLD."host_key" IS DISTINCT FROM (NEW."host_key") OR OLD."host_key_seen" IS DISTINCT FROM (NEW."host_key_seen") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."key" IS DISTINCT FROM (NEW."key") OR OLD."leaves_writeback" IS DISTINCT FROM (NEW."leaves_writeback") OR OLD."machine_id" IS DISTINCT FROM (NEW."machine_id") OR OLD."maintenance_reason" IS DISTINCT FROM (NEW."maintenance_reason") OR OLD."maintenance_since" IS DISTINCT FROM (NEW."maintenance_since") OR OLD."maintenance_until" IS DISTINCT FROM (NEW."maintenance_until") OR OLD."name" IS DISTINCT FROM (NEW."name") OR OLD."port" IS DISTINCT FROM (NEW."port") OR OLD."public_key" IS DISTINCT FROM (NEW."public_key") OR OLD."removed_at" IS DISTINCT FROM (NEW."removed_at") OR OLD."site" IS DISTINCT FROM (NEW."site") OR OLD."state" IS DISTINCT FROM (NEW."state") OR OLD."tags" IS DISTINCT FROM (NEW."tags") OR OLD."window_end" IS DISTINCT FROM (NEW."window_end") OR OLD."window_start" IS DISTINCT FROM (NEW."window_start"))', func='INSERT INTO "storage_hostevent" ("accepted_faults", "account", "address", "created_at", "dirty_limit_percent", "host_key", "host_key_seen", "id", "key", "leaves_writeback", "machine_id", "maintenance_reason", "maintenance_since", "maintenance_until", "name", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "port", "public_key", "removed_at", "site", "state", "tags", "window_end", "window_start") VALUES (OLD."accepted_faults", OLD."account", OLD."address", OLD."created_at", OLD."dirty_limit_percent", OLD."host_key", OLD."host_key_seen", OLD."id", OLD."key", OLD."leaves_writeback", OLD."machine_id", OLD."maintenance_reason", OLD."maintenance_since", OLD."maintenance_until", OLD."name", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'update\', OLD."id", OLD."port", OLD."public_key", OLD."removed_at", OLD."site", OLD."state", OLD."tags", OLD."window_end", OLD."window_start"); RETURN NULL;', hash='ab7c5014876ec0cc3298b166acee6177f90cafcd', operation='UPDATE', pgid='pgtrigger_update_update_50e66', table='storage_host', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='host',
            trigger=pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "storage_hostevent" ("accepted_faults", "account", "address", "created_at", "dirty_limit_percent", "host_key", "host_key_seen", "id", "key", "leaves_writeback", "machine_id", "maintenance_reason", "maintenance_since", "maintenance_until", "name", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "port", "public_key", "removed_at", "site", "state", "tags", "window_end", "window_start") VALUES (OLD."accepted_faults", OLD."account", OLD."address", OLD."created_at", OLD."dirty_limit_percent", OLD."host_key", OLD."host_key_seen", OLD."id", OLD."key", OLD."leaves_writeback", OLD."machine_id", OLD."maintenance_reason", OLD."maintenance_since", OLD."maintenance_until", OLD."name", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'delete\', OLD."id", OLD."port", OLD."public_key", OLD."removed_at", OLD."site", OLD."state", OLD."tags", OLD."window_end", OLD."window_start"); RETURN NULL;', hash='96e1fc343d9cc1c3a17f4452a1444c1b632423c1', operation='DELETE', pgid='pgtrigger_delete_delete_cf738', table='storage_host', when='AFTER')),
        ),
        migrations.AddField(
            model_name='hostchange',
            name='host',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='timeline', to='storage.host'),
        ),
        migrations.AddIndex(
            model_name='hostchange',
            index=models.Index(fields=['host', '-at', '-id'], name='host_change_newest'),
        ),
        migrations.AddConstraint(
            model_name='hostchange',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['boot', 'kernel', 'agent', 'lvm', 'bcache_tools', 'disk_added', 'disk_gone', 'disk_changed'])), name='host_change_kind_known'),
        ),
        migrations.RunSQL(*enclose('storage_hostchange', STAFF_ONLY)),
    ]
