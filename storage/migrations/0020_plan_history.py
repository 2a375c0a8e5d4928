"""Who changed what of a cache plan, as of hosts and volumes: added to and read, never changed."""

import django.db.models.deletion
import pghistory.utils
import pgtrigger.compiler
import pgtrigger.migrations
import storage.naming
from django.db import migrations, models


REVOKE = """
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'tiercel_app') THEN
        REVOKE UPDATE, DELETE, TRUNCATE ON storage_cacheplanevent FROM tiercel_app;
    END IF;
END $$;
"""
GRANT = """
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'tiercel_app') THEN
        GRANT UPDATE, DELETE ON storage_cacheplanevent TO tiercel_app;
    END IF;
END $$;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('storage', '0019_host_activity'),
    ]

    operations = [
        migrations.CreateModel(
            name='CachePlanEvent',
            fields=[
                ('pgh_id', models.AutoField(primary_key=True, serialize=False)),
                ('pgh_created_at', models.DateTimeField(auto_now_add=True)),
                ('pgh_label', models.TextField(help_text='The event label.')),
                ('pgh_context', pghistory.utils.JSONField(null=True)),
                ('pgh_context_id', models.UUIDField(null=True)),
                ('id', models.BigIntegerField()),
                ('key', models.CharField(default=storage.naming.new_key, editable=False, max_length=26)),
                ('name', models.CharField(max_length=64)),
                ('description', models.CharField(blank=True, max_length=200)),
                ('size_bytes', models.BigIntegerField(blank=True, null=True)),
                ('ratio_percent', models.PositiveIntegerField(blank=True, null=True)),
                ('mode', models.CharField(choices=[('writethrough', 'writethrough'), ('writeback', 'writeback')], default='writethrough', max_length=12)),
                ('tier', models.CharField(choices=[('hdd', 'slow disks')], default='hdd', max_length=4)),
                ('price_minor', models.BigIntegerField()),
                ('currency', models.CharField(max_length=3)),
                ('on_offer', models.BooleanField(default=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'abstract': False,
            },
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='cacheplan',
            trigger=pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "storage_cacheplanevent" ("created_at", "currency", "description", "id", "key", "mode", "name", "on_offer", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "price_minor", "ratio_percent", "size_bytes", "tier") VALUES (NEW."created_at", NEW."currency", NEW."description", NEW."id", NEW."key", NEW."mode", NEW."name", NEW."on_offer", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'insert\', NEW."id", NEW."price_minor", NEW."ratio_percent", NEW."size_bytes", NEW."tier"); RETURN NULL;', hash='8817b3c5318cbfd3283daa71526eb801b7a769c4', operation='INSERT', pgid='pgtrigger_insert_insert_c06ee', table='storage_cacheplan', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='cacheplan',
            trigger=pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD.* IS DISTINCT FROM NEW.*)', func='INSERT INTO "storage_cacheplanevent" ("created_at", "currency", "description", "id", "key", "mode", "name", "on_offer", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "price_minor", "ratio_percent", "size_bytes", "tier") VALUES (OLD."created_at", OLD."currency", OLD."description", OLD."id", OLD."key", OLD."mode", OLD."name", OLD."on_offer", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'update\', OLD."id", OLD."price_minor", OLD."ratio_percent", OLD."size_bytes", OLD."tier"); RETURN NULL;', hash='b0eee91166c8211f270498b355e1b08335d36ae6', operation='UPDATE', pgid='pgtrigger_update_update_7035c', table='storage_cacheplan', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='cacheplan',
            trigger=pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "storage_cacheplanevent" ("created_at", "currency", "description", "id", "key", "mode", "name", "on_offer", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "price_minor", "ratio_percent", "size_bytes", "tier") VALUES (OLD."created_at", OLD."currency", OLD."description", OLD."id", OLD."key", OLD."mode", OLD."name", OLD."on_offer", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'delete\', OLD."id", OLD."price_minor", OLD."ratio_percent", OLD."size_bytes", OLD."tier"); RETURN NULL;', hash='589871357db48325c4ddfcdabb0f5f8a9bf63569', operation='DELETE', pgid='pgtrigger_delete_delete_7970f', table='storage_cacheplan', when='AFTER')),
        ),
        migrations.AddField(
            model_name='cacheplanevent',
            name='pgh_obj',
            field=models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='events', to='storage.cacheplan'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='cacheplanevent',
            trigger=pgtrigger.compiler.Trigger(name='append_only', sql=pgtrigger.compiler.UpsertTriggerSql(func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;", hash='cd01a0e40da2fede49901195d042f7936be7dba9', operation='UPDATE OR DELETE', pgid='pgtrigger_append_only_b3dd1', table='storage_cacheplanevent', when='BEFORE')),
        ),
        migrations.RunSQL(REVOKE, GRANT),
    ]
