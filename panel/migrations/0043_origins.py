"""Where an order came from gets the name of what it is."""

import pgtrigger.compiler
import pgtrigger.migrations
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = (("panel", "0042_recipients_in_words"),)
    operations = (
        pgtrigger.migrations.RemoveTrigger(model_name="order", name="order_touched"),
        migrations.RenameField("order", "door", "origin"),
        pgtrigger.migrations.AddTrigger(
            model_name="order",
            trigger=pgtrigger.compiler.Trigger(name='order_touched', sql=pgtrigger.compiler.UpsertTriggerSql(condition='WHEN (OLD."actor_id" IS DISTINCT FROM (NEW."actor_id") OR OLD."address" IS DISTINCT FROM (NEW."address") OR OLD."again_at" IS DISTINCT FROM (NEW."again_at") OR OLD."authorise_by" IS DISTINCT FROM (NEW."authorise_by") OR OLD."charge_minor" IS DISTINCT FROM (NEW."charge_minor") OR OLD."created_at" IS DISTINCT FROM (NEW."created_at") OR OLD."credit_minor" IS DISTINCT FROM (NEW."credit_minor") OR OLD."currency" IS DISTINCT FROM (NEW."currency") OR OLD."customer_id" IS DISTINCT FROM (NEW."customer_id") OR OLD."due_at" IS DISTINCT FROM (NEW."due_at") OR OLD."ended_at" IS DISTINCT FROM (NEW."ended_at") OR OLD."expected" IS DISTINCT FROM (NEW."expected") OR OLD."from_cache" IS DISTINCT FROM (NEW."from_cache") OR OLD."from_plan_id" IS DISTINCT FROM (NEW."from_plan_id") OR OLD."from_price_minor" IS DISTINCT FROM (NEW."from_price_minor") OR OLD."id" IS DISTINCT FROM (NEW."id") OR OLD."idempotency_key" IS DISTINCT FROM (NEW."idempotency_key") OR OLD."intent" IS DISTINCT FROM (NEW."intent") OR OLD."job_id" IS DISTINCT FROM (NEW."job_id") OR OLD."key" IS DISTINCT FROM (NEW."key") OR OLD."next_invoice_at" IS DISTINCT FROM (NEW."next_invoice_at") OR OLD."next_invoice_minor" IS DISTINCT FROM (NEW."next_invoice_minor") OR OLD."obstacle" IS DISTINCT FROM (NEW."obstacle") OR OLD."origin" IS DISTINCT FROM (NEW."origin") OR OLD."price_minor" IS DISTINCT FROM (NEW."price_minor") OR OLD."reason" IS DISTINCT FROM (NEW."reason") OR OLD."reason_code" IS DISTINCT FROM (NEW."reason_code") OR OLD."replaces_trial" IS DISTINCT FROM (NEW."replaces_trial") OR OLD."revert_until" IS DISTINCT FROM (NEW."revert_until") OR OLD."reverts_id" IS DISTINCT FROM (NEW."reverts_id") OR OLD."state" IS DISTINCT FROM (NEW."state") OR OLD."to_plan_id" IS DISTINCT FROM (NEW."to_plan_id") OR OLD."trial_until" IS DISTINCT FROM (NEW."trial_until") OR OLD."volume_id" IS DISTINCT FROM (NEW."volume_id"))', func='NEW.updated_at = clock_timestamp(); RETURN NEW;', hash='06e112d8777f7ea050abd00de982cff733d14b2c', operation='UPDATE', pgid='pgtrigger_order_touched_b543f', table='panel_order', when='BEFORE')),
        ),
    )
