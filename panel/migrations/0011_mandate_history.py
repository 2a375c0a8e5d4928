"""Who changed what of a mandate: added to and read, never changed."""

import django.db.models.deletion
import pghistory.utils
import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations, models

from storage.row_security import CUSTOMERS, enclose

REVOKE = """
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'tiercel_app') THEN
        REVOKE UPDATE, DELETE, TRUNCATE ON panel_mandateevent FROM tiercel_app;
    END IF;
END $$;
"""
GRANT = """
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'tiercel_app') THEN
        GRANT UPDATE, DELETE ON panel_mandateevent TO tiercel_app;
    END IF;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("panel", "0010_trials_and_calls"),
        ("storage", "0012_customer_history"),
    ]

    operations = [
        migrations.CreateModel(
            name="MandateEvent",
            fields=[
                ("pgh_id", models.AutoField(primary_key=True, serialize=False)),
                ("pgh_created_at", models.DateTimeField(auto_now_add=True)),
                ("pgh_label", models.TextField(help_text="The event label.")),
                ("pgh_context", pghistory.utils.JSONField(null=True)),
                ("pgh_context_id", models.UUIDField(null=True)),
                ("id", models.BigIntegerField()),
                ("currency", models.CharField(max_length=3)),
                ("cap_charge_minor", models.BigIntegerField(blank=True, null=True)),
                ("cap_period_minor", models.BigIntegerField(blank=True, null=True)),
                ("earliest_next_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "abstract": False,
            },
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="mandate",
            trigger=pgtrigger.compiler.Trigger(
                name="insert_insert",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='INSERT INTO "panel_mandateevent" ("cap_charge_minor", "cap_period_minor", "currency", "customer_id", "earliest_next_at", "id", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id") VALUES (NEW."cap_charge_minor", NEW."cap_period_minor", NEW."currency", NEW."customer_id", NEW."earliest_next_at", NEW."id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'insert\', NEW."id"); RETURN NULL;',
                    hash="b066ef51ea9789c4b3fe8a21486caeae5f6a7e27",
                    operation="INSERT",
                    pgid="pgtrigger_insert_insert_a5ec6",
                    table="panel_mandate",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="mandate",
            trigger=pgtrigger.compiler.Trigger(
                name="update_update",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    condition='WHEN (OLD."cap_charge_minor" IS DISTINCT FROM (NEW."cap_charge_minor") OR OLD."cap_period_minor" IS DISTINCT FROM (NEW."cap_period_minor") OR OLD."currency" IS DISTINCT FROM (NEW."currency") OR OLD."customer_id" IS DISTINCT FROM (NEW."customer_id") OR OLD."earliest_next_at" IS DISTINCT FROM (NEW."earliest_next_at") OR OLD."id" IS DISTINCT FROM (NEW."id"))',
                    func='INSERT INTO "panel_mandateevent" ("cap_charge_minor", "cap_period_minor", "currency", "customer_id", "earliest_next_at", "id", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id") VALUES (OLD."cap_charge_minor", OLD."cap_period_minor", OLD."currency", OLD."customer_id", OLD."earliest_next_at", OLD."id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'update\', OLD."id"); RETURN NULL;',
                    hash="9fecfa8b928a1c9def48b36dbc91083900d4de0f",
                    operation="UPDATE",
                    pgid="pgtrigger_update_update_76ea3",
                    table="panel_mandate",
                    when="AFTER",
                ),
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="mandate",
            trigger=pgtrigger.compiler.Trigger(
                name="delete_delete",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func='INSERT INTO "panel_mandateevent" ("cap_charge_minor", "cap_period_minor", "currency", "customer_id", "earliest_next_at", "id", "pgh_context", "pgh_context_id", "pgh_created_at", "pgh_label", "pgh_obj_id") VALUES (OLD."cap_charge_minor", OLD."cap_period_minor", OLD."currency", OLD."customer_id", OLD."earliest_next_at", OLD."id", COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_metadata\', TRUE), \'\'), NULL)::JSONB, COALESCE(NULLIF(CURRENT_SETTING(\'pghistory.context_id\', TRUE), \'\'), NULL)::UUID, NOW(), \'delete\', OLD."id"); RETURN NULL;',
                    hash="267eeec268ee491ba57dc06f189fababd3ece790",
                    operation="DELETE",
                    pgid="pgtrigger_delete_delete_139ba",
                    table="panel_mandate",
                    when="AFTER",
                ),
            ),
        ),
        migrations.AddField(
            model_name="mandateevent",
            name="customer",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                related_query_name="+",
                to="storage.customer",
            ),
        ),
        migrations.AddField(
            model_name="mandateevent",
            name="pgh_obj",
            field=models.ForeignKey(
                db_constraint=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="events",
                to="panel.mandate",
            ),
        ),
        pgtrigger.migrations.AddTrigger(
            model_name="mandateevent",
            trigger=pgtrigger.compiler.Trigger(
                name="append_only",
                sql=pgtrigger.compiler.UpsertTriggerSql(
                    func="RAISE EXCEPTION 'pgtrigger: Cannot update or delete rows from % table', TG_TABLE_NAME;",
                    hash="cda66172e1dfa810bb814762d54d64968e43e360",
                    operation="UPDATE OR DELETE",
                    pgid="pgtrigger_append_only_703a0",
                    table="panel_mandateevent",
                    when="BEFORE",
                ),
            ),
        ),
        migrations.RunSQL(REVOKE, GRANT),
        migrations.RunSQL(*enclose("panel_mandateevent", f"customer_id = {CUSTOMERS}")),
    ]
