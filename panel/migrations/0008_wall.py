"""Row-level security on orders and what hangs on them (`storage.row_security`)."""

from django.db import migrations

from storage.row_security import CUSTOMERS, enclose

OF_ORDER = "EXISTS (SELECT FROM panel_order WHERE panel_order.id = order_id)"
"""Within a policy the policies of other tables count."""
OWN = {
    "panel_order": f"customer_id = {CUSTOMERS}",
    "panel_mandate": f"customer_id = {CUSTOMERS}",
    "panel_invitation": f"customer_id = {CUSTOMERS}",
    "panel_usageline": f"customer_id = {CUSTOMERS}",
    "panel_message": OF_ORDER,
    "panel_notice": OF_ORDER,
    "panel_proof": OF_ORDER,
}


class Migration(migrations.Migration):
    dependencies = [("panel", "0007_billing"), ("jobs", "0006_wall")]

    operations = [migrations.RunSQL(*enclose(table, own)) for table, own in OWN.items()]
