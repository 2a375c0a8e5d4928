from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("storage", "0012_customer_history"),
    ]

    operations = [
        migrations.AddField(
            model_name="placement",
            name="retired_seen_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
