"""The language that a person chose."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("panel", "0021_order_cache_before")]

    operations = [
        migrations.AddField(
            model_name="user",
            name="language",
            field=models.CharField(blank=True, db_default="", default="", max_length=8),
        ),
    ]
