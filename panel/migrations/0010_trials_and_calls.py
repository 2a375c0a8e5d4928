"""An index for the trials that are over, and the second wall (`storage.row_security`) around the book of
signed calls: no key leads from it to a customer, but its bodies tell of them."""

from django.db import migrations, models

from storage.row_security import STAFF_ONLY, enclose


class Migration(migrations.Migration):
    dependencies = [("panel", "0009_orders_scope")]

    operations = [
        migrations.AddIndex(
            model_name="order",
            index=models.Index(
                condition=models.Q(("intent", "trial"), ("state", "completed")),
                fields=["trial_until"],
                name="order_trial_over",
            ),
        ),
        migrations.RunSQL(*enclose("panel_billingcall", STAFF_ONLY)),
    ]
