"""What people decide about disks: accepted errors; and who changed what, added to and read, never
changed."""

import django.db.models.deletion
import pghistory.utils
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

from storage.row_security import STAFF_ONLY, enclose

REVOKE = """
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'tiercel_app') THEN
        REVOKE UPDATE, DELETE, TRUNCATE ON storage_physicaldiskevent FROM tiercel_app;
    END IF;
END $$;
"""
GRANT = """
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'tiercel_app') THEN
        GRANT UPDATE, DELETE ON storage_physicaldiskevent TO tiercel_app;
    END IF;
END $$;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('storage', '0024_disk_health'),
    ]

    operations = [
        migrations.CreateModel(
            name='PhysicalDiskEvent',
            fields=[
                ('pgh_id', models.AutoField(primary_key=True, serialize=False)),
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('pgh_context', pghistory.utils.JSONField(null=True)),
                ('pgh_context_id', models.UUIDField(null=True)),
                ('identity', models.CharField(max_length=200)),
                ('entered_unit_bytes', models.BigIntegerField(blank=True, null=True)),
                ('entered_rated_bytes', models.BigIntegerField(blank=True, null=True)),
                ('accepted_at', models.DateTimeField(blank=True, null=True)),
                ('accepted_by', models.CharField(blank=True, max_length=254)),
                ('accepted_reason', models.CharField(blank=True, max_length=200)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.AddField(
            model_name='physicaldisk',
            name='accepted_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='physicaldisk',
            name='accepted_by',
            field=models.CharField(blank=True, max_length=254),
        ),
        migrations.AddField(
            model_name='physicaldisk',
            name='accepted_reason',
            field=models.CharField(blank=True, max_length=200),
        ),
        migrations.AddField(
            model_name='physicaldisk',
            name='baseline_before',
            field=models.JSONField(blank=True, default=dict),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='physicaldisk',
            trigger=pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."accepted_at" IS DISTINCT FROM (NEW."accepted_at") OR OLD."accepted_by" IS DISTINCT FROM (NEW."accepted_by") OR OLD."accepted_reason" IS DISTINCT FROM (NEW."accepted_reason") OR OLD."entered_rated_bytes" IS DISTINCT FROM (NEW."entered_rated_bytes") OR OLD."entered_unit_bytes" IS DISTINCT FROM (NEW."entered_unit_bytes") OR OLD."identity" IS DISTINCT FROM (NEW."identity"))', func='INSERT INTO "storage_physicaldiskevent" ("accepted_at", "accepted_by", "accepted_reason", "entered_rated_bytes", "entered_unit_bytes", "identity", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id") VALUES (OLD."accepted_at", OLD."accepted_by", OLD."accepted_reason", OLD."entered_rated_bytes", OLD."entered_unit_bytes", OLD."identity", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'update\', OLD."id"); RETURN NULL;', hash='75cd4e7c31a4e01fa154ac387d74523f867636fd', operation='UPDATE', pgid='pgtrigger_update_update_f3be2', table='storage_physicaldisk', when='AFTER')),
        ),
        migrations.AddField(
            model_name='physicaldiskevent',
            name='pgh_obj',
            field=models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='events', to='storage.physicaldisk'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='physicaldiskevent',
            trigger=pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='642177f3a34ba105d6bb84931260ab80fa4ae2e9', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_4a37e', table='storage_physicaldiskevent', when='BEFORE')),
        ),
        migrations.RunSQL(REVOKE, GRANT),
        migrations.RunSQL(*enclose("storage_physicaldiskevent", STAFF_ONLY)),
    ]
