import django.db.models.deletion
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

from storage.migrations._operations import run_sql


class Migration(migrations.Migration):

    dependencies = [
        ('storage', '0048_limits_of_plans_and_tags'),
    ]

    operations = [
        migrations.CreateModel(
            name='HeatDay',
            fields=[
                ('pk', models.CompositePrimaryKey('volume_id', 'day', blank=True, editable=False, primary_key=True, serialize=False)),
                ('volume', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='heat_days', to='storage.volume')),
                ('day', models.DateField()),
                ('records', models.BinaryField()),
            ],
            options={'indexes': [models.Index(fields=['day'], name='heat_day')]},
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='volume',
            name='volume_touched',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='volume',
            name='insert_insert',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='volume',
            name='update_update',
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='volume',
            name='delete_delete',
        ),
        migrations.AddField(
            model_name='volume',
            name='counts_heat',
            field=models.BooleanField(db_default=True, default=True),
        ),
        migrations.AddField(
            model_name='volumeevent',
            name='counts_heat',
            field=models.BooleanField(db_default=True, default=True),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='volume',
            trigger=pgtrigger.compiler.Trigger(name='volume_touched', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."adopted_at" IS DISTINCT FROM (NEW."adopted_at") OR OLD."cache_plan_id" IS DISTINCT FROM (NEW."cache_plan_id") OR OLD."counts_heat" IS DISTINCT FROM (NEW."counts_heat") OR OLD."created_at" IS DISTINCT FROM (NEW."created_at") OR OLD."customer_id" IS DISTINCT FROM (NEW."customer_id") OR OLD."destroyed_at" IS DISTINCT FROM (NEW."destroyed_at") OR OLD."external_id" IS DISTINCT FROM (NEW."external_id") OR OLD."guest" IS DISTINCT FROM (NEW."guest") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."key" IS DISTINCT FROM (NEW."key") OR OLD."label" IS DISTINCT FROM (NEW."label") OR OLD."layout" IS DISTINCT FROM (NEW."layout") OR OLD."managed" IS DISTINCT FROM (NEW."managed") OR OLD."previewed_at" IS DISTINCT FROM (NEW."previewed_at") OR OLD."retired_at" IS DISTINCT FROM (NEW."retired_at") OR OLD."size_bytes" IS DISTINCT FROM (NEW."size_bytes") OR OLD."wish" IS DISTINCT FROM (NEW."wish"))', func='NEW.updated_at = clock_timestamp(); RETURN NEW;', hash='c17f4ce0776f6c8f458fbf3d642fd4ea146300eb', operation='UPDATE', pgid='pgtrigger_volume_touched_715a3', table='storage_volume', when='BEFORE')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='volume',
            trigger=pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "storage_volumeevent" ("adopted_at", "cache_plan_id", "counts_heat", "created_at", "customer_id", "destroyed_at", "external_id", "id", "key", "label", "layout", "managed", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "retired_at", "size_bytes", "watched_until", "wish") VALUES (NEW."adopted_at", NEW."cache_plan_id", NEW."counts_heat", NEW."created_at", NEW."customer_id", NEW."destroyed_at", NEW."external_id", NEW."id", NEW."key", NEW."label", NEW."layout", NEW."managed", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'insert\', NEW."id", NEW."retired_at", NEW."size_bytes", NEW."watched_until", NEW."wish"); RETURN NULL;', hash='a0f3780bb2b5f1b0c1f36506fd958d5699f5dec4', operation='INSERT', pgid='pgtrigger_insert_insert_8725a', table='storage_volume', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='volume',
            trigger=pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."adopted_at" IS DISTINCT FROM (NEW."adopted_at") OR OLD."cache_plan_id" IS DISTINCT FROM (NEW."cache_plan_id") OR OLD."counts_heat" IS DISTINCT FROM (NEW."counts_heat") OR OLD."created_at" IS DISTINCT FROM (NEW."created_at") OR OLD."customer_id" IS DISTINCT FROM (NEW."customer_id") OR OLD."destroyed_at" IS DISTINCT FROM (NEW."destroyed_at") OR OLD."external_id" IS DISTINCT FROM (NEW."external_id") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."key" IS DISTINCT FROM (NEW."key") OR OLD."label" IS DISTINCT FROM (NEW."label") OR OLD."layout" IS DISTINCT FROM (NEW."layout") OR OLD."managed" IS DISTINCT FROM (NEW."managed") OR OLD."retired_at" IS DISTINCT FROM (NEW."retired_at") OR OLD."size_bytes" IS DISTINCT FROM (NEW."size_bytes") OR OLD."watched_until" IS DISTINCT FROM (NEW."watched_until") OR OLD."wish" IS DISTINCT FROM (NEW."wish"))', func='INSERT INTO "storage_volumeevent" ("adopted_at", "cache_plan_id", "counts_heat", "created_at", "customer_id", "destroyed_at", "external_id", "id", "key", "label", "layout", "managed", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "retired_at", "size_bytes", "watched_until", "wish") VALUES (OLD."adopted_at", OLD."cache_plan_id", OLD."counts_heat", OLD."created_at", OLD."customer_id", OLD."destroyed_at", OLD."external_id", OLD."id", OLD."key", OLD."label", OLD."layout", OLD."managed", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'update\', OLD."id", OLD."retired_at", OLD."size_bytes", OLD."watched_until", OLD."wish"); RETURN NULL;', hash='4d6600d6e68038902626aa07ec9081b498b5305c', operation='UPDATE', pgid='pgtrigger_update_update_a028c', table='storage_volume', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='volume',
            trigger=pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "storage_volumeevent" ("adopted_at", "cache_plan_id", "counts_heat", "created_at", "customer_id", "destroyed_at", "external_id", "id", "key", "label", "layout", "managed", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "retired_at", "size_bytes", "watched_until", "wish") VALUES (OLD."adopted_at", OLD."cache_plan_id", OLD."counts_heat", OLD."created_at", OLD."customer_id", OLD."destroyed_at", OLD."external_id", OLD."id", OLD."key", OLD."label", OLD."layout", OLD."managed", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'delete\', OLD."id", OLD."retired_at", OLD."size_bytes", OLD."watched_until", OLD."wish"); RETURN NULL;', hash='2b8edbeee7c6e7680abe097e7f6267f9511389b4', operation='DELETE', pgid='pgtrigger_delete_delete_ecec5', table='storage_volume', when='AFTER')),
        ),
        *run_sql(__file__, 'row_security'),
    ]
