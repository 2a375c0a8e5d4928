"""Who changed what of a customer, as of hosts and volumes: added to and read, never changed."""

import django.db.models.deletion
import pghistory.utils
import pgtrigger.compiler
import pgtrigger.migrations
import storage.naming
from django.db import migrations, models

from storage.row_security import CUSTOMERS, enclose

REVOKE = """
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'tiercel_app') THEN
        REVOKE UPDATE, DELETE, TRUNCATE ON storage_customerevent FROM tiercel_app;
    END IF;
END $$;
"""
GRANT = """
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'tiercel_app') THEN
        GRANT UPDATE, DELETE ON storage_customerevent TO tiercel_app;
    END IF;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("storage", "0011_wall"),
    ]

    operations = [
        migrations.CreateModel(
            name="CustomerEvent",
            fields=[
                ("pgh_id", models.AutoField(primary_key=True, serialize=False)),
                ("pgh_created_at", models.DateTimeField(auto_now_add=True)),
                ("pgh_label", models.TextField(help_text="The event label.")),
                ("pgh_context", pghistory.utils.JSONField(null=True)),
                ("pgh_context_id", models.UUIDField(null=True)),
                ("id", models.BigIntegerField()),
                (
                    "key",
                    models.CharField(default=storage.naming.new_key, editable=False, max_length=26),
                ),
                ("name", models.CharField(max_length=200)),
                ("external_id", models.CharField(blank=True, max_length=64)),
                ("suspended_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "abstract": False,
            },
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="customer",
            trigger=pgtrigger.compiler.Trigger(
                name="insert_insert",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='INSERT INTO "storage_customerevent" ("created_at", "external_id", "id", "key", "name", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "suspended_at") VALUES (NEW."created_at", NEW."external_id", NEW."id", NEW."key", NEW."name", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'insert\', NEW."id", NEW."suspended_at"); RETURN NULL;',
                    hash="0e425aecfcd090a59f61f74041b856fc923af997",
                    operation="INSERT",
                    pgid="pgtrigger_insert_insert_e3819",
                    table="storage_customer",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="customer",
            trigger=pgtrigger.compiler.Trigger(
                name="update_update",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    condition="WHEN (OLD.* IS DISTINCT FROM NEW.*)",
                    func='INSERT INTO "storage_customerevent" ("created_at", "external_id", "id", "key", "name", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "suspended_at") VALUES (OLD."created_at", OLD."external_id", OLD."id", OLD."key", OLD."name", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'update\', OLD."id", OLD."suspended_at"); RETURN NULL;',
                    hash="a98071b5736c85245d4a1787909fe29b38542d16",
                    operation="UPDATE",
                    pgid="pgtrigger_update_update_b3fb9",
                    table="storage_customer",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="customer",
            trigger=pgtrigger.compiler.Trigger(
                name="delete_delete",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='INSERT INTO "storage_customerevent" ("created_at", "external_id", "id", "key", "name", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id", "suspended_at") VALUES (OLD."created_at", OLD."external_id", OLD."id", OLD."key", OLD."name", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'delete\', OLD."id", OLD."suspended_at"); RETURN NULL;',
                    hash="dca5bad04f9039de3319400f0db172ceb50fa1d0",
                    operation="DELETE",
                    pgid="pgtrigger_delete_delete_a7b26",
                    table="storage_customer",
                    when="AFTER",
                ),
            ),
        ),
        migrations.AddField(
            model_name="customerevent",
            name="pgh_obj",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="events",
                to="storage.customer",
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="customerevent",
            trigger=pgtrigger.compiler.Trigger(
                name="append_only",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;",
                    hash="95b096fbb07ef8f8a51ddb4f5d5d562f70a90fa6",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_append_only_f8977",
                    table="storage_customerevent",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.RunSQL(REVOKE, GRANT),
        migrations.RunSQL(*enclose("storage_customerevent", f"id = {CUSTOMERS}")),
    ]
