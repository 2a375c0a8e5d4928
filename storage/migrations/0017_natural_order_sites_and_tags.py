"""Names sort in natural order; hosts have a site and tags."""

import django.contrib.postgres.fields
import pgtrigger.compiler
import pgtrigger.migrations
import storage.natural_order
from django.db import migrations, models

# "App 2b" becomes "app 00000000000000000002b": each number first gets 20 zeros more, and is then cut
# to its last 20 digits.
FUNCTION = """
CREATE FUNCTION natural_order(name text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
SELECT regexp_replace(
    regexp_replace(
        translate(lower(name), 'àáâãäåçèéêëìíîïñòóôõöøùúûüýÿßÀÁÂÃÄÅÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝ',
            'aaaaaaceeeeiiiinoooooouuuuyysaaaaaaceeeeiiiinoooooouuuuy'),
        '([0-9]+)', '00000000000000000000\\1', 'g'),
    '[0-9]*([0-9]{20})', '\\1', 'g')
$$;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('storage', '0016_wording'),
    ]

    operations = [
        migrations.RunSQL(FUNCTION, "DROP FUNCTION natural_order(text)"),
        migrations.AlterModelOptions(
            name='customer',
            options={'ordering': ('name_order', 'id')},
        ),
        migrations.AlterModelOptions(
            name='host',
            options={'ordering': ('name_order',)},
        ),
        migrations.AlterModelOptions(
            name='volume',
            options={'ordering': ('label_order', 'id')},
        ),
        pgtrigger.migrations.RemoveTrigger(
            model_name='customer',
            name='update_update',
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
            model_name='customer',
            name='name_order',
            field=models.GeneratedField(db_persist=True, expression=storage.natural_order.NaturalOrder('name'), output_field=models.CharField(db_collation='C', max_length=4096)),
        ),
        migrations.AddField(
            model_name='host',
            name='name_order',
            field=models.GeneratedField(db_persist=True, expression=storage.natural_order.NaturalOrder('name'), output_field=models.CharField(db_collation='C', max_length=4096)),
        ),
        migrations.AddField(
            model_name='host',
            name='site',
            field=models.CharField(blank=True, db_default='', default='', max_length=64),
        ),
        migrations.AddField(
            model_name='host',
            name='tags',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=32), blank=True, default=list, size=None),
        ),
        migrations.AddField(
            model_name='hostevent',
            name='site',
            field=models.CharField(blank=True, db_default='', default='', max_length=64),
        ),
        migrations.AddField(
            model_name='hostevent',
            name='tags',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=32), blank=True, default=list, size=None),
        ),
        migrations.AddField(
            model_name='volume',
            name='label_order',
            field=models.GeneratedField(db_persist=True, expression=storage.natural_order.NaturalOrder('label'), output_field=models.CharField(db_collation='C', max_length=4096)),
        ),
        migrations.AddIndex(
            model_name='volume',
            index=models.Index(fields=['label_order', 'id'], name='volume_natural_order'),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='customer',
            trigger=pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."created_at" IS DISTINCT FROM (NEW."created_at") OR OLD."external_id" IS DISTINCT FROM (NEW."external_id") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."key" IS DISTINCT FROM (NEW."key") OR OLD."name" IS DISTINCT FROM (NEW."name") OR OLD."suspended_at" IS DISTINCT FROM (NEW."suspended_at"))', func='INSERT INTO "storage_customerevent" ("created_at", "external_id", "id", "key", "name", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "suspended_at") VALUES (OLD."created_at", OLD."external_id", OLD."id", OLD."key", OLD."name", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'update\', OLD."id", OLD."suspended_at"); RETURN NULL;', hash='e555a231fb31393eeeaf91296db0e9153ae70047', operation='UPDATE', pgid='pgtrigger_update_update_b3fb9', table='storage_customer', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='host',
            trigger=pgtrigger.compiler.Trigger(name='insert_insert', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "storage_hostevent" ("account", "address", "created_at", "host_key", "host_key_seen", "id", "key", "machine_id", "maintenance_reason", "maintenance_since", "name", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "port", "public_key", "site", "state", "tags", "window_end", "window_start") VALUES (NEW."account", NEW."address", NEW."created_at", NEW."host_key", NEW."host_key_seen", NEW."id", NEW."key", NEW."machine_id", NEW."maintenance_reason", NEW."maintenance_since", NEW."name", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'insert\', NEW."id", NEW."port", NEW."public_key", NEW."site", NEW."state", NEW."tags", NEW."window_end", NEW."window_start"); RETURN NULL;', hash='2b2301fade59e9dcc522a6ccedeaae972cbc7575', operation='INSERT', pgid='pgtrigger_insert_insert_3e7a0', table='storage_host', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='host',
            trigger=pgtrigger.compiler.Trigger(name='update_update', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."account" IS DISTINCT FROM (NEW."account") OR OLD."address" IS DISTINCT FROM (NEW."address") OR OLD."created_at" IS DISTINCT FROM (NEW."created_at") OR OLD."host_key" IS DISTINCT FROM (NEW."host_key") OR OLD."host_key_seen" IS DISTINCT FROM (NEW."host_key_seen") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."key" IS DISTINCT FROM (NEW."key") OR OLD."machine_id" IS DISTINCT FROM (NEW."machine_id") OR OLD."maintenance_reason" IS DISTINCT FROM (NEW."maintenance_reason") OR OLD."maintenance_since" IS DISTINCT FROM (NEW."maintenance_since") OR OLD."name" IS DISTINCT FROM (NEW."name") OR OLD."port" IS DISTINCT FROM (NEW."port") OR OLD."public_key" IS DISTINCT FROM (NEW."public_key") OR OLD."site" IS DISTINCT FROM (NEW."site") OR OLD."state" IS DISTINCT FROM (NEW."state") OR OLD."tags" IS DISTINCT FROM (NEW."tags") OR OLD."window_end" IS DISTINCT FROM (NEW."window_end") OR OLD."window_start" IS DISTINCT FROM (NEW."window_start"))', func='INSERT INTO "storage_hostevent" ("account", "address", "created_at", "host_key", "host_key_seen", "id", "key", "machine_id", "maintenance_reason", "maintenance_since", "name", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "port", "public_key", "site", "state", "tags", "window_end", "window_start") VALUES (OLD."account", OLD."address", OLD."created_at", OLD."host_key", OLD."host_key_seen", OLD."id", OLD."key", OLD."machine_id", OLD."maintenance_reason", OLD."maintenance_since", OLD."name", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'update\', OLD."id", OLD."port", OLD."public_key", OLD."site", OLD."state", OLD."tags", OLD."window_end", OLD."window_start"); RETURN NULL;', hash='8412f178c83e38a1efc3b314231a84038fe351ba', operation='UPDATE', pgid='pgtrigger_update_update_50e66', table='storage_host', when='AFTER')),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name='host',
            trigger=pgtrigger.compiler.Trigger(name='delete_delete', sql=pgtrigger.compiler.UpsertTriggerSql(func='INSERT INTO "storage_hostevent" ("account", "address", "created_at", "host_key", "host_key_seen", "id", "key", "machine_id", "maintenance_reason", "maintenance_since", "name", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "port", "public_key", "site", "state", "tags", "window_end", "window_start") VALUES (OLD."account", OLD."address", OLD."created_at", OLD."host_key", OLD."host_key_seen", OLD."id", OLD."key", OLD."machine_id", OLD."maintenance_reason", OLD."maintenance_since", OLD."name", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'delete\', OLD."id", OLD."port", OLD."public_key", OLD."site", OLD."state", OLD."tags", OLD."window_end", OLD."window_start"); RETURN NULL;', hash='bae2887534332acd6a9d77367acde9e749bbd927', operation='DELETE', pgid='pgtrigger_delete_delete_cf738', table='storage_host', when='AFTER')),
        ),
    ]
