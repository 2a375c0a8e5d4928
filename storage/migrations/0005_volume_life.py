from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("storage", "0004_maintenance_and_window")]

    operations = [
        migrations.AddField(
            model_name="volume",
            name="retired_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="volume",
            name="destroyed_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
