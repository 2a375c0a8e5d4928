"""What an order that begins by itself waits for, and until when it is not tried."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("panel", "0011_mandate_history")]

    operations = [
        migrations.AddField(
            model_name="order",
            name="again_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="order",
            name="obstacle",
            field=models.CharField(blank=True, db_default="", default="", max_length=32),
        ),
    ]
