"""What was paid before an order, and whether that was a trial."""

from django.db import migrations, models

BACKFILL = """
UPDATE panel_order SET
  from_price_minor = CASE WHEN earlier.is_its THEN earlier.price_minor ELSE plan.price_minor END,
  replaces_trial = earlier.is_its AND earlier.intent = 'trial'
FROM panel_order each
JOIN storage_cacheplan plan ON plan.id = each.from_plan_id
LEFT JOIN LATERAL (
  SELECT price_minor, intent, to_plan_id = each.from_plan_id AS is_its FROM panel_order
  WHERE volume_id = each.volume_id AND customer_id = each.customer_id AND state = 'completed'
    AND ended_at < coalesce(each.ended_at, each.created_at)
  ORDER BY ended_at DESC, id DESC LIMIT 1
) found ON true
CROSS JOIN LATERAL (
  SELECT found.price_minor, found.intent, coalesce(found.is_its, false) AS is_its
) earlier
WHERE panel_order.id = each.id
"""


class Migration(migrations.Migration):
    dependencies = [("panel", "0016_wording")]

    operations = [
        migrations.AddField(
            model_name="order",
            name="from_price_minor",
            field=models.BigIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="order",
            name="replaces_trial",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.RunSQL(BACKFILL, migrations.RunSQL.noop),
    ]
